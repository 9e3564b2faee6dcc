"""Compiled programs are kept on disk: found again, made again where anything differs or a file is damaged."""
from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

from nessie import driver, pipeline
from nessie import program_cache as kept
from nessie.base.system.disk_cache import cache_folder
from nessie.base.system.own_files import own_files
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.cudagen.loops.plan import Buffer
from nessie.mono.text import parse
from nessie.running.targets import Target

SUM = parse("function main (n : int) : int = `reduce_+`({i * i : i : int in iseq(0, 1, n)})\nentry main\n")
CUDASIM = pytest.param("cudasim", marks=pytest.mark.skipif(not found(), reason="there is no C++ compiler"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder.cache_clear()
    return tmp_path / "nessie"


def run(job: pipeline.Job) -> object:
    return Target(job.target).run(job, SUM, [5])


def count_compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    compiled: list[str] = []
    compile_ = driver.built

    def counted(job: pipeline.Job, program: object) -> object:
        compiled.append(job.fuse)
        return compile_(job, program)

    monkeypatch.setattr(driver, "built", counted)
    return compiled


@pytest.mark.parametrize("target", ["cpu", CUDASIM])
def test_a_program_is_compiled_once(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = count_compilations(monkeypatch)
    job = pipeline.Job(target=target)
    assert [run(job), run(job)] == [30, 30]
    assert compiled == ["ilp"]


def test_options_tell_programs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = count_compilations(monkeypatch)
    assert run(pipeline.Job()) == run(replace(pipeline.Job(), fuse="none")) == 30
    assert compiled == ["ilp", "none"]


def test_a_damaged_entry_is_made_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = count_compilations(monkeypatch)
    assert run(pipeline.Job()) == 30
    (entry,) = own_cache.iterdir()
    content = entry.read_bytes()
    for damaged in (b"", content[:-1], content[:200] + bytes([content[200] ^ 1]) + content[201:]):
        entry.write_bytes(damaged)
        assert run(pipeline.Job()) == 30
    assert len(compiled) == 4


def test_entries_make_only_what_is_nessies() -> None:
    for name in (b"pathlib\nPath", b"nessie.base.system.disk_cache\nos.system", b"nessie.base.system.disk_cache\nPath",
                 b"nessie.base.system.disk_cache\ncached",
                 b"nessie.program_cache\nRestricted", b"nessie.__main__\nmain"):
        with pytest.raises(pickle.UnpicklingError, match="has no place"):
            kept.loaded(b"c" + name + b"\n.")
    assert kept.loaded(b"cnessie.cudagen.loops.plan\nBuffer\n.") is Buffer


def test_entries_depend_on_all_of_nessies_files_and_no_others() -> None:
    names = [name for name, _ in own_files()]
    assert {"nessie/program_cache.py", "nessie/cudagen/skeletons/chunks.py", "nessie/lambda_cu/nodes.py"} <= set(names)
    assert len(names) == len(set(names)) and not any("tests" in name for name in names)


def test_a_warm_run_imports_no_compiler(own_cache: Path) -> None:
    code = ("import sys; from nessie.tool.cli import main; status = main(['eval', 'sum({x * x : x in [0:10]})']); "
            "found = {m.split('.')[0] for m in sys.modules}; "
            "assert not found & {'networkx', 'pulp', 'highspy', 'ply', 'difflib', 'tempfile'}; "
            "unneeded = {'nessie.interpreter.interpreter', 'nessie.session.commands', "
            "            'nessie.lambda_cu.running.traffic'}; "
            "assert not unneeded & {*sys.modules}; "
            "sys.exit(status)")
    command = [sys.executable, "-c", code]
    cold = [sys.executable, "-m", "nessie", "eval", "sum({x * x : x in [0:10]})"]
    first = finished(cold, cwd=ROOT)
    again = finished(command, cwd=ROOT)
    assert (first.stdout, again.stdout) == ("it = 285 : int\n",) * 2, again.stderr
