"""What is drawn is what runs: the stages of the pipeline compile every program, on every target."""
from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nessie import driver, forms, pipeline
from nessie.base import lazy
from nessie.base.deep import run_deep
from nessie.base.source import Source, UsageError
from nessie.cli import main
from nessie.cudagen.cudasim.compiler import found
from nessie.frontend.parser import parse_type
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


def test_every_pass_is_in_the_table() -> None:
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


@pytest.mark.parametrize(("name", "job", "said"), [
    ("unchecked", Job(), "with --unchecked"), ("headers", Job(), "with --target cuda, cudasim"),
    ("translate", Job(target="reference"), "with --target cpu, cuda, cudasim"),
    ("pull", Job(fuse="none"), "without --fuse none")])
def test_a_pass_that_does_not_run_is_told(name: str, job: Job, said: str) -> None:
    with pytest.raises(UsageError, match=f"{name} runs {said} only"):
        pipeline.stages_between(job, forms.TEXT, pipeline.pass_named(name))


@pytest.mark.parametrize("target", pipeline.TARGETS)
@pytest.mark.parametrize("form", [form for form in forms.FORMS if form is not forms.TEXT], ids=lambda form: form.name)
def test_every_form_is_shown_or_refused(form: forms.Form[Any], target: str, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.nesl").write_text(PROGRAM)
    words = ["compile", str(tmp_path / "p.nesl"), "-e", "total", "-t", "[float]", "--emit", form.name]
    status = main([*words, "--target", target])
    printed = capsys.readouterr()
    there = not form.targets or target in form.targets
    assert (status, bool(printed.out), printed.err) == ((0, True, "") if there else (
        2, False, f"error: {form.name} is code of the target {' or '.join(form.targets)}, not of {target}\n"))


@pytest.mark.parametrize("name", [ran.name for ran in pipeline.PASSES if ran.name != "unchecked"])
def test_every_pass_is_shown_without_naming_a_target(name: str, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.nesl").write_text(PROGRAM)
    assert main(["show", str(tmp_path / "p.nesl"), "-e", "total", "-t", "[float]", "--after", name]) == 0
    assert capsys.readouterr().out


def test_comments_are_in_the_text_and_not_in_what_is_compiled(tmp_path: Path,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    """Text of loops keeps them; what a GPU's compiler has made is found again by a text without the lines' numbers."""
    (tmp_path / "p.nesl").write_text(PROGRAM)
    words = ["compile", str(tmp_path / "p.nesl"), "-e", "total", "-t", "[float]", "--target", "cuda", "--emit"]
    assert main([*words, "cuda"]) == 0
    whole = capsys.readouterr().out
    assert main([*words, "loops", "-o", str(tmp_path / "p.loops")]) == 0
    assert main(["compile", str(tmp_path / "p.loops"), "--emit", "cuda"]) == 0
    assert capsys.readouterr().out == whole and "p.nesl:1 " in whole
    job = Job(entry="total", argument=parse_type(Source("type", "[float]")), target="cuda")
    sources = [Source("p.nesl", above + PROGRAM) for above in ("", "\n\n")]
    first, second = run_deep(lambda: [driver.compile_program(job, forms.TEXT, source, pipeline.pass_named("link")).text
                                      for source in sources])
    assert first == second and "//" not in first


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
