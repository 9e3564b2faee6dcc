"""What is drawn is what runs: the stages of the pipeline compile every program, on every target."""
from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest

from nessie import driver, forms, pipeline
from nessie.base import lazy
from nessie.base.source import Source, UsageError
from nessie.base.system.deep import run_deep
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.pipeline import Job, stages
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

CUDASIM = pytest.param("cudasim", marks=pytest.mark.skipif(not found(), reason="there is no C++ compiler"))
BEFORE_RUNS = ("parse", "infer", "monomorphise")        # a session does these form by form
PROGRAM = "function total(xs) = {x / sum(xs) : x in xs};"


def broken(*_: Any, **__: Any) -> None:
    raise RuntimeError("made to raise")


def module_of(name: str) -> Any:
    """The module of a pass: of all modules of Nessie the one of its name."""
    (found,) = [module for module in vars(pipeline).values()
                if isinstance(module, lazy.LazyModule) and module._name.rpartition(".")[2] == name.replace("-", "_")]
    return importlib.import_module(found._name)


def break_stage(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of(name), name.replace("-", "_"), broken)


@pytest.mark.parametrize("name", [ran.name for ran in pipeline.PASSES])
def test_a_pass_is_a_file_with_a_function_of_its_name(name: str) -> None:
    module = module_of(name)
    assert callable(getattr(module, name.replace("-", "_"))) and module.__doc__.startswith("Pass: ")


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
    ("pull", Job(fuse="none"), "without --fuse none"),
    ("owner-versions", Job(), "with --tuning and --target cuda, cudasim")])
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


@pytest.mark.parametrize("name", [ran.name for ran in pipeline.PASSES
                                  if ran.when not in (pipeline.LEAVING_OUT, pipeline.WITH_VERSIONS,
                                                       pipeline.WITH_TUNING)])
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


def lists(module: Any) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Where the module imports lazily: what a type checker sees, and what is there at run time, by names."""
    (both,) = [node for node in ast.parse(Path(module.__file__).read_text("utf-8")).body
               if isinstance(node, ast.If) and node.orelse and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {(f"{one.module}.{alias.name}", alias.asname or alias.name) for one in both.body
            if isinstance(one, ast.ImportFrom) for alias in one.names}
    made = {(ast.literal_eval(one.value.args[0]), ast.unparse(one.targets[0])) for one in both.orelse
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)}
    assert len(made) == len(both.orelse)
    return seen, made


@pytest.mark.parametrize("module", [forms, pipeline], ids=lambda module: module.__name__)
def test_what_is_imported_late_is_what_a_type_checker_sees(module: Any) -> None:
    seen, made = lists(module)
    assert made <= seen
    assert {name for _, name in made} == {name for name, value in vars(module).items()
                                          if isinstance(value, lazy.LazyModule)}
