"""`nessie profile`: what it prints, and whether its counts are right."""
from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import cpu_device, execute
from executors import Compiled
from paths import ROOT
from test_schedule_bytes import PROGRAMS, ROWS, TWO, XS, N

from nessie.base.source import Source
from nessie.base.values import Flat
from nessie.cudagen.cpu.interpreted import Interpreted
from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.cudagen.host import host
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.interpreter import interpreter
from nessie.lambda_cu.reference import reference
from nessie.library import library
from nessie.pipeline import Job, pass_named
from nessie.session import profile
from nessie.syntax.parse import parse
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main
from nessie.typing.infer import infer

PAGE = (ROOT / "docs" / "cost.md").read_text("utf-8")
EXAMPLES = re.findall(r"^\| `(.*)` \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
SLACK = 128                     # bytes of a kernel that do not grow with its arrays


def nessie(*words: str, status: int = 0) -> None:
    assert main(["--target", "reference", *words]) == status


def profiles(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# The page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("expressions", "work", "depth"), EXAMPLES)
def test_what_the_page_says_of_expressions(expressions: str, work: str, depth: str) -> None:
    for expression in expressions.split("`, `"):
        text = f"v = [3, 1, 2]; m = [[1, 2], [3]]; i = [0, 2]; it = {expression};".replace("\\|", "|")
        program, _ = infer(parse(Source("test.nesl", text)), library.library())
        found = interpreter.run(program, interpreter.World(library.prebuilt()))[-1]
        assert (found.work, found.depth) == (int(work), int(depth)), expression


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) > 15


def test_a_primitive_that_is_derived_costs_what_the_page_says() -> None:
    program, _ = infer(parse(Source("test.nesl", "m = [[1, 2], [3]]; eql(m, m); @m; name(m);")), library.library())
    found = interpreter.run(program, interpreter.World(library.prebuilt()))
    size, levels = 6, 2
    assert (found[1].work, found[1].depth) == (2 * size + 1, levels + 2)
    assert (found[2].work, found[2].depth) == (4 * (size + len("[[1, 2], [3]]")), 8 * (levels + 1))
    assert found[3].work >= 16 * size and found[3].depth >= 16 * (1 + 1 + 2)


# The command ------------------------------------------------------------------------------------


@pytest.mark.skipif(not cudasim.found(), reason="there is no C++ compiler")
def test_counters(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of the call alone, not of what makes its arguments, by the names that it gives them; as text, and all as JSON."""
    (tmp_path / "p.nesl").write_text("function total(xs) = sum({x * x : x in xs});")
    command = ["profile", str(tmp_path / "p.nesl"), "--target", "cudasim", "--counters"]
    call = ["-e", "total", str([3] * 1000)]
    assert main([*command, *call]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^  all +1 +0 +0 +1 +\d+ +\d+$", text, re.MULTILINE)
    row = r"^  load xs +K1_sweep +\d+ +32 +31\.2 +7\.8 +7\.8 +100 %  1:\d+ +const .* = xs\[i\];$"
    assert re.search(row, text, re.MULTILINE)
    assert main([*command, "--json", *call]) == 0
    (found,) = profiles(capsys)
    (kernel,) = found["kernels"]
    (load,) = [access for access in kernel["accesses"] if (access["kind"], access["array"]) == ("load", "xs")]
    assert (load["requests"], load["lanes"], load["sectors"], load["bytes"]) == (32, 1000, 250, 8000)
    assert found["driver"]["launches"] == kernel["driver"]["launches"] == 1
    assert [barrier["blocks"] for barrier in kernel["barriers"]] == [4, 4, 1]
    assert all(access["place"]["line"] == 1 for access in kernel["accesses"])


@pytest.mark.skipif(not cudasim.found(), reason="there is no C++ compiler")
def test_counters_name_arrays_as_the_code_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also where they come from files."""
    path = tmp_path / "p.nesl"
    path.write_text("function main(xs, ys) : ([float], [float]) -> [float] = {x * y : x in xs; y in ys};")
    np.save(tmp_path / "v.npy", np.ones(100))
    file = f"@{tmp_path / 'v.npy'}"
    assert main(["profile", str(path), "-e", "main", file, file, "--target", "cudasim", "--counters", "--json"]) == 0
    (found,) = profiles(capsys)
    counted = {access["array"] for kernel in found["kernels"] for access in kernel["accesses"]}
    assert main(["compile", str(path), "-e", "main", "--emit", "fused", "--target", "cudasim"]) == 0
    code = capsys.readouterr().out
    assert counted - {"errors"} and all(re.search(rf"\b{name}\b", code) for name in counted - {"errors"})
    assert {"xs"} < counted


def test_counters_need_a_cpp_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "there-is-no-such-compiler")
    assert main(["profile", "-x", "sum([1, 2])", "--target", "cudasim", "--counters"]) == 1
    assert "cudasim needs a C++ compiler" in capsys.readouterr().err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--json", "-x", "sum({x * x : x in [0:1000]})"]) == 0
    (found,) = profiles(capsys)
    (kernel,) = found["kernels"]
    assert found | {"seconds": 0, "host_seconds": 0, "wall_seconds": 0, "kernels": []} == {
        "title": "sum({x * x : x in [0:1000]})", "target": "cpu", "work": 4002, "depth": 4, "elements": 1000,
        "launches": 1, "bytes": 0, "host_steps": 1, "seconds": 0, "host_seconds": 0,
        "wall_seconds": 0, "kernels": []}
    assert found["seconds"] == kernel["seconds"] > 0 and found["host_seconds"] > 0
    assert found["wall_seconds"] == pytest.approx(found["seconds"] + found["host_seconds"])
    assert kernel | {"seconds": 0} == {
        "name": "K1", "places": [{"source": "expression", "line": 1, "column": 1}], "launches": 1, "elements": 1000,
        "bytes": 0, "seconds": 0}


def test_every_form_is_profiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.nesl"
    path.write_text("datatype box([int]); function open(box(v)) = v; b = box({i * i : i in [0:5]});\n"
                    "sum(open(b));  1 / 0;\nlet a = print_string(\"told\") in #open(b);")
    nessie("profile", str(path), "--json", status=1)
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]
    assert [p["title"] for p in found] == ["b = box({i * i : i in [0:5]})", "sum(open(b))",
                                           'let a = print_string("told") in #open(b)']
    assert "Divide by zero." in err and "told" in err
    assert [p["work"] for p in found] == [5 + 6 + 5 + 6, 1 + 5 + 1, 1 + 1 + 1 + 1]
    nessie("profile", str(path), "-x", "#open(b)", "--json")
    assert [p["work"] for p in profiles(capsys)] == [3]
    nessie("profile", str(path), "-e", "open", "b", "--json")
    assert [p["title"] for p in profiles(capsys)] == ["open b"]


def test_long_counting_is_told_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--target", "reference", "profile", "-x", "sum({i * i : i in [0:20000]}); sum({i * i : i in [0:20000]})"]
    told = "The interpreter is counting work and depth; --time-limit SECONDS stops it.\n"
    assert main(words) == 0
    assert told not in "".join(capsys.readouterr())
    monkeypatch.setattr(profile, "PATIENCE", 0.001)
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err.count(told) == 1 and told not in out


def test_effects_happen_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "told.txt"
    path.write_text("1 2")
    words = f'let (s, _, _) = open_in_file("{path}"); ((text, _), _) = read_line(s); z = print_string(text) in #text'
    nessie("profile", "--json", "-x", words)
    out, err = capsys.readouterr()
    (found,) = [json.loads(line) for line in out.splitlines()]
    assert found["work"] and err.count("1 2") == 1
    nessie("profile", "--json", "-x", "{print_string(@x) : x in [1, 2]}; let (_, s) = time(1) in s >= 0.0; rand(1000)")
    assert all(p["work"] for p in profiles(capsys))


def test_what_the_interpreter_cannot_count(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "DEPTH", 1000)
    path = tmp_path / "deep.nesl"
    path.write_text("function down(n) = if n == 0 then 0 else down(n - 1);")
    nessie("profile", str(path), "-e", "down", "999", "--json")
    (found,) = profiles(capsys)
    assert found["work"] == 4 * 1000 and "uncounted" not in found
    nessie("profile", str(path), "-e", "down", "1000", "--json")
    (found,) = profiles(capsys)
    assert found["work"] is found["depth"] is None and \
        found["uncounted"].startswith("recursion is deeper than 1,000 calls; where the limit on depth is set, ")
    nessie("profile", str(path), "-e", "down", "1000", "--json", "--depth", "1001")
    (found,) = profiles(capsys)
    assert found["work"] == 4 * 1001
    nessie("profile", str(path), "-e", "down", "1000")
    assert "work and depth are not known: recursion is deeper than 1,000 calls" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["profile"], ["profile", "-e", "f"], ["profile", "f.nesl", "-e", "f", "-x", "1"],
                                   ["run", "f.nesl", "-x", "1"], ["profile", "f.nesl", "1"]])
def test_wrong_use(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.nesl").write_text("function f(x) = x;")
    nessie(*words, status=2)


# The counts -------------------------------------------------------------------------------------


PROGRAM = """
function sorted(v) = if #v < 2 then v
  else let parts = {sorted(w) : w in [{x in v | x < v[0]}, {x in v | x > v[0]}]}
       in parts[0] ++ [v[0]] ++ parts[1];
function main(v) : [int] -> ([int], [[int]]) =
  (sorted(v), [[1, 2], [3]] <- [(rem(v[0], 2), {v[i] + i : i in [0:#v] | v[i] > 4})]);
"""


@pytest.mark.parametrize("fuse", ["none", "ilp"])
def test_targets_count_alike(fuse: str) -> None:
    """All but the elements of fused kernels, which the cpu walks once, where nothing runs apart, and nothing keeps its
    memory while it grows."""
    program = Compiled(PROGRAM).scheduled(fuse, "fuse")
    argument = Flat(7, np.array([5, 2, 8, 1, 9, 4, 7]))
    counted = reference.Stats(detailed=True)
    reference.execute(program, [argument], stats=counted)
    device, on_host = cpu_device(program, 1), host.Stats()
    device.offers = ()                          # a reference runs nothing apart
    device.stats.detailed = True
    execute(program, [argument], device, stats=on_host)
    assert (counted.launches, counted.steps) == (device.stats.launches, on_host.steps)
    assert counted.elements >= device.stats.elements
    if fuse == "none":
        assert counted.elements == device.stats.elements
    for name, kernel in counted.kernels.items():
        assert (kernel.launches, kernel.bytes) == (device.stats.kernels[name].launches,
                                                   device.stats.kernels[name].bytes), name


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("fuse", ["ilp", "none"])
def test_bytes_are_those_that_the_loops_move(name: str, fuse: str) -> None:
    """But for second sweeps, values that a filter writes in vain, and a word for each chunk."""
    (params, types), body = PROGRAMS[name]
    job = Job(entry="main", argument=parse_type(Source("type", f"({types})")), unchecked=True, fuse=fuse)
    program = compile_program(job, TEXT, Source("test", f"function main({params}) = {body};"), pass_named("fuse"))
    arguments = [ROWS] if "rows" in params else [XS, XS] if (params, types) == TWO else [XS]
    stats, device = reference.Stats(detailed=True), Interpreted(program)
    reference.execute(program, arguments, stats=stats)
    execute(program, arguments, device)
    told = sum(kernel.bytes for kernel in stats.kernels.values())
    assert told - SLACK * stats.launches <= device.bytes <= 2 * told + 8 * N + SLACK * stats.launches


@pytest.mark.parametrize("expression", ["sum([0:1000000000])", "#flatten({[0:1048576] : i in [0:1048576]})",
                                        "#dist(1, 1000000000)", "sum({sum([0:x]) : x in [0:100000]})"])
def test_counting_ends_where_memory_does(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--json", "-x", expression, "--memory", "64M"]) == 0
    (found,) = profiles(capsys)
    assert found["work"] is None and "--memory" in found["uncounted"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_gets_each_profile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As does a file; it is written also where a Ctrl-C ends what comes later."""
    (tmp_path / "p.nesl").write_text("sum([1, 2]); sum([3]); max_val([1, 2]);")
    os.mkfifo(tmp_path / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    nessie("profile", "--json", str(tmp_path / "p.nesl"), "-o", str(tmp_path / "pipe"))
    reader.join(20)
    nessie("profile", "--json", str(tmp_path / "p.nesl"), "-o", str(tmp_path / "file.json"))
    for text in (*found, (tmp_path / "file.json").read_text()):
        titles = [json.loads(line)["title"] for line in text.splitlines()]
        assert len(titles) == len(set(titles)) == 3
    assert found

    usual = profile.Profiler.outcomes

    def stopped(self: profile.Profiler, forms: list[Any]) -> Any:
        if "max_val" in self.title:
            raise KeyboardInterrupt
        return usual(self, forms)

    monkeypatch.setattr(profile.Profiler, "outcomes", stopped)
    main(["profile", "--target", "reference", "--json", str(tmp_path / "p.nesl"), "-o", str(tmp_path / "part.json")])
    assert len((tmp_path / "part.json").read_text().splitlines()) == 2


def test_what_ends_a_file_does_not_end_what_is_asked_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ended.nesl"
    path.write_text("function more(x) : int -> int = x + 1; exit; less;")
    nessie("profile", "--json", str(path), "-x", "more(1)")
    (found,) = profiles(capsys)
    assert found["work"] == 3
