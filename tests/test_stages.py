"""What is drawn is what runs: the stages of the pipeline compile every program, on every target."""
from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nessie import forms, pipeline
from nessie.base import lazy
from nessie.cli import main
from nessie.cudagen.cudasim.compiler import found
from nessie.pipeline import Job, stages

CUDASIM = pytest.param("cudasim", marks=pytest.mark.skipif(not found(), reason="there is no C++ compiler"))
FUNCTIONS = {
    "parse": "loading.program", "infer": "frontend.infer.infer", "monomorphise": "frontend.entry.monomorphise_entry",
    "random-state": "frontend.random_state.random_state", "inline": "frontend.inline.inline",
    "join-calls": "flatten.join_calls.join_calls", "release": "flatten.release.release",
    "flatten": "flatten.flatten.flatten", "once": "flatten.once.once", "unchecked": "lambda_cu.unchecked.unchecked",
    "simplify": "lambda_cu.simplify.simplify", "pull": "schedule.pull.pull",
    "share-sites": "lambda_cu.sites.share_sites", "graph": "schedule.schedule.graphs",
    "schedule": "schedule.schedule.schedule", "fuse": "schedule.fuse.fuse", "translate": "cudagen.translate.translate",
    "generate": "cudagen.generate.generate", "unread": "cudagen.unread.unread",
    "headers": "cudagen.headers.headers", "llvm": "cudagen.llvm.show", "assemble": "cudagen.assemble.assemble",
    "cuda": "cudagen.cuda.show", "link": "cudagen.link.link",
}
BEFORE_RUNS = ("parse", "infer", "monomorphise")        # a session does these form by form
PROGRAM = "function total(xs) = {x / sum(xs) : x in xs};"


def broken(*_: Any, **__: Any) -> None:
    raise RuntimeError("made to raise")


def break_stage(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, function = FUNCTIONS[name].rpartition(".")
    monkeypatch.setattr(importlib.import_module(f"nessie.{module}"), function, broken)


def test_every_pass_is_one_function() -> None:
    assert list(FUNCTIONS) == [ran.name for ran in pipeline.PASSES]


@pytest.mark.parametrize("target", ["cpu", "reference", CUDASIM])
def test_a_run_needs_every_stage(target: str, cache_folder: Path, monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "{x / sum([2.0]) : x in [1.0, 3.0]}", "--target", target]
    for ran in stages(Job(target=target)):
        if ran.name not in BEFORE_RUNS:
            with monkeypatch.context() as patched:
                break_stage(ran.name, patched)
                assert main(words) == 1
            assert f"the pass {ran.name} failed: RuntimeError: made to raise" in capsys.readouterr().err
    assert main(words) == 0 and capsys.readouterr().out == "it = [0.5, 1.5] : [float]\n"


@pytest.mark.parametrize(("target", "last"), [("cpu", "cpu-code"), ("cuda", "gpu-code")])
def test_compiling_needs_every_stage(target: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.nesl").write_text(PROGRAM)
    words = ["compile", str(tmp_path / "p.nesl"), "-e", "total", "-t", "[float]", "--emit", last, "--target", target,
             "--unchecked"]
    for ran in stages(Job(target=target, unchecked=True)):
        with monkeypatch.context() as patched:
            break_stage(ran.name, patched)
            assert main(words) == 1
        assert f"the pass {ran.name} failed: RuntimeError: made to raise" in capsys.readouterr().err
    assert main(words) == 0 and capsys.readouterr().out.startswith("kernel K1: ")


@pytest.mark.parametrize("options", [["--unchecked"], ["--fuse", "none"], []], ids=" ".join)
@pytest.mark.parametrize("target", ["cpu", "reference", CUDASIM])
def test_a_dump_is_what_ran(target: str, options: list[str], tmp_path: Path) -> None:
    assert main(["eval", "sum({x * x : x in [0:10]})", "--target", target, "--dump", str(tmp_path), *options]) == 0
    job = Job(target=target, unchecked="--unchecked" in options, fuse="none" if "none" in options else "ilp")
    ran = [f"{pipeline.PASSES.index(p) + 1:02}-{p.name}.{p.output.name}" for p in stages(job)]
    assert sorted(path.name for path in (tmp_path / "01").iterdir()) == ran
    assert ("pull" in " ".join(ran)) == (job.fuse != "none") and ("unchecked" in " ".join(ran)) == job.unchecked


@pytest.mark.parametrize(("name", "said"), [("unchecked", "with --unchecked"), ("headers", "for GPUs"),
                                            ("cuda", "for GPUs")])
def test_a_pass_that_does_not_run_is_told(name: str, said: str) -> None:
    with pytest.raises(Exception, match=f"{name} runs {said}, and not here"):
        pipeline.stages_between(Job(), forms.TEXT, pipeline.pass_named(name))


def lists(module: Any) -> Iterator[tuple[set[str], set[str]]]:
    """Of each place where a module imports lazily: what a type checker sees, and what is there at run time."""
    for node in ast.parse(Path(module.__file__).read_text("utf-8")).body:
        if isinstance(node, ast.If) and node.orelse and isinstance(node.test, ast.Name) and \
                node.test.id == "TYPE_CHECKING":
            seen = {(one.module, alias.name, alias.asname or alias.name) for one in node.body
                    if isinstance(one, ast.ImportFrom) for alias in one.names}
            made = set()
            for one in node.orelse:
                assert isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
                (target,), (package, *names) = one.targets, [ast.literal_eval(argument) for argument in one.value.args]
                assert isinstance(target, ast.Tuple) and len(target.elts) == len(names)
                made |= {(package, name, at.id) for name, at in zip(names, target.elts, strict=True)
                         if isinstance(at, ast.Name)}
            yield seen, made


@pytest.mark.parametrize("module", [forms, pipeline], ids=lambda module: module.__name__)
def test_what_is_imported_late_is_what_a_type_checker_sees(module: Any) -> None:
    ((seen, made),) = lists(module)
    assert made <= seen
    assert {name for _, _, name in made} == {name for name, value in vars(module).items()
                                             if isinstance(value, lazy.LazyModule)}
