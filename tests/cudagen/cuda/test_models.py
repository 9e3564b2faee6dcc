"""What the GPU's blocks tell each other, as models that SPIN searches (cudagen/skeletons/cuda/models): no assertion
fails and all ends, in any order; each planted mistake is found. The text has the models' steps, in their order."""
from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest
from built import gpu_code
from kernel_runs import program_of
from paths import ROOT
from processes import finished
from test_skeletons import cuda_kernel

FOLDER = ROOT / "cudagen" / "skeletons" / "cuda" / "models"
COMPILER = shutil.which("cc") or shutil.which("gcc")
MISSING = [what for what, found in (("spin", shutil.which("spin")), ("a C compiler", COMPILER)) if not found]
MEMORY = 6000                   # megabytes; the largest search takes 500
SMALL = 2_000_000                                   # states of searches that CI makes, too; heads tell of greater ones

FOUND = {"assertion": "assertion violated", "livelock": "acceptance cycle"}


@dataclass(frozen=True)
class Run:
    """`finds`: what is wrong, '' if nothing is; `millions`: of states, where these are many."""
    model: str
    flags: tuple[str, ...]
    finds: str
    ends: bool
    millions: float = 0

    def __str__(self) -> str:
        return " ".join([self.model, *self.flags, *["ends"] * self.ends])


@dataclass(frozen=True)
class Text:
    """A function of a kernel's CUDA: the letter of each access to these arrays, and what it is."""
    model: str
    kernel: str
    function: str
    arrays: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.model}: {self.kernel}, {self.function}"


def head(model: Path) -> str:
    return model.read_text("utf-8").partition("*/")[0]


def runs() -> list[Run]:
    """That find nothing, then those that find mistakes."""
    found, mistakes = list[Run](), list[Run]()
    for model in sorted(FOLDER.glob("*.pml")):
        for kind, flags, millions in re.findall(
                r"^   (safe|ends)((?: +-D[^\s:]+)*)(?:: (\S+) million states)?$", head(model), re.MULTILINE):
            found.append(Run(model.stem, tuple(flags.split()), "", kind == "ends", float(millions or 0)))
        for name, finds, about in re.findall(r"^   mistake (\w+) +(\w+) +(.*)$", head(model), re.MULTILINE):
            flags = (f"-D{name}", *re.findall(r"-D\S+", about))
            mistakes.append(Run(model.stem, flags, FOUND[finds], finds == "livelock"))
    return found + mistakes


def texts() -> list[Text]:
    found = []
    for model in sorted(FOLDER.glob("*.pml")):
        for kernel, function, arrays, steps in re.findall(
                r'^   text "(.*)", (\w+), of (.*):\n((?:     [a-z-]  .*\n?)+)', head(model), re.MULTILINE):
            lines = tuple((line[5], line[8:].strip()) for line in steps.splitlines())
            found.append(Text(model.stem, kernel, function, tuple(arrays.split()), lines))
    return found


# SPIN ---------------------------------------------------------------------------------------------


def searched(run: Run, folder: Path) -> str:
    """What the verifier that SPIN makes of the model says. Where it searches little, to optimise it takes longer."""
    model = FOLDER / f"{run.model}.pml"
    kind, options = (["-DNFAIR=3"], ["-a", "-f"]) if run.ends else (["-DSAFETY", "-DNOCLAIM"], [])
    assert COMPILER
    said = ""
    for command in (["spin", "-a", *run.flags, str(model)],
                    [COMPILER, "-O2" if run.millions else "-O0", "-w", *kind, "-DCOLLAPSE", f"-DMEMLIM={MEMORY}",
                     "-o", "pan", "pan.c"],
                    ["./pan", "-m1000000", *options]):
        done = finished(command, cwd=folder)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
    return said


def marked() -> list[object]:
    return [pytest.param(run, id=str(run), marks=pytest.mark.nightly if run.millions else pytest.mark.slow)
            for run in runs()]


@pytest.mark.sampled(ci=3)
@pytest.mark.skipif(bool(MISSING), reason=f"no model was searched: there is no {' and no '.join(MISSING)}")
@pytest.mark.parametrize("run", marked())
def test_what_spin_finds(run: Run, tmp_path: Path) -> None:
    said = searched(run, tmp_path)
    found = re.findall(r"^pan:\d+: (.*)$", said, re.MULTILINE)
    assert "max search depth too small" not in said and "out of memory" not in said
    if run.finds:
        assert len(found) == 1 and run.finds in found[0], said
    else:
        assert found == [] and re.search(r"errors: 0$", said, re.MULTILINE), said
    stored = re.search(r"(\S+) states, stored", said)
    assert stored, said
    states = float(stored[1])
    assert states == pytest.approx(run.millions * 1e6, rel=0.1) if run.millions else states <= SMALL


def test_searches_that_are_large_wait_for_the_night() -> None:
    large = [run for run in runs() if run.millions]
    assert large and all(run.millions * 1e6 > SMALL for run in large)


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"no model was searched: there is no {' and no '.join(MISSING)}")
@pytest.mark.parametrize(("command", "told"), re.findall(
    r"^    (spin .*?\.pml)  +(?:no|a mistake:) (.*?)(?::.*)?$",
    (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE))
def test_what_the_page_says_that_spin_finds(command: str, told: str, tmp_path: Path) -> None:
    *words, model = command.split()
    done = finished([*words, str(FOLDER / model)], cwd=tmp_path)
    found = re.findall(r"^pan:\d+: (.*)$", done.stdout, re.MULTILINE)
    assert "elapsed time" in done.stdout and (told in found[0] if found else told == "error"), done.stdout


def test_each_mistake_is_in_its_model() -> None:
    named = [run for run in runs() if run.finds]
    assert len(named) >= 20 and {run.model for run in runs()} == {path.stem for path in FOLDER.glob("*.pml")}
    for run in named:
        body = (FOLDER / f"{run.model}.pml").read_text("utf-8").partition("*/")[2]
        for flag in run.flags:
            assert re.search(rf"^#(el)?if.*\b{flag.removeprefix('-D').partition('=')[0]}\b", body, re.MULTILINE), run


# The text -----------------------------------------------------------------------------------------

ACCESS = re.compile(r"(?P<call>\w+)\((?:\([^()]*\))?&(?P<passed>\w+)\[|"                   # atomics, ordered accesses
                    r"\(\(const (?P<volatile>volatile) [\w ]+\*\)(?P<seen>\w+)\)\[|"
                    r"^ *(?P<stored>\w+)\[.*\] = |(?P<loaded>\w+)\[")


STORES = ("store_release", "store_pair")


def accesses(text: str, function: str, arrays: tuple[str, ...]) -> list[str]:
    """Those of the function to arrays whose names end so, in order: what is done, and of ordered stores which value."""
    body = re.search(rf"^extern \"C\" __global__[^\n]* void {function}\(.*?^}}", text, re.MULTILINE | re.DOTALL)
    assert body
    found = []
    for line in body[0].partition("{\n")[2].splitlines():
        if "__shared__" in line:
            continue
        for access in ACCESS.finditer(line):
            name = access["passed"] or access["seen"] or access["stored"] or access["loaded"]
            array = next((a for a in arrays if name == a or name.endswith(f"_{a}")), None)
            if array is None:
                continue
            value = re.search(r"wrap_add\(epoch, (\d+)\)", line) if access["call"] in STORES else None
            if access["stored"]:
                found.append(f"{array} =")
            else:
                kind = access["call"] or access["volatile"] or "load"
                found.append(f"{kind} {array}" + (f" {value[1]}" if value else ""))
    return found


@cache
def text_of(kernel: str) -> str:
    return gpu_code(program_of(cuda_kernel(kernel))).text


@pytest.mark.parametrize("text", texts(), ids=str)
def test_the_text_has_the_steps_of_the_model(text: Text) -> None:
    """Else the model is of what once was: change it, see what SPIN finds, then write down the steps there are."""
    found = accesses(text_of(text.kernel), text.function, text.arrays)
    told = [step for _, step in text.steps]
    differs = next((at for at, (a, b) in enumerate(zip_longest(found, told)) if a != b), None)
    assert differs is None, f"{text.model}.pml, step {differs}: the text has now\n" + "\n".join(found)


@pytest.mark.parametrize("model", sorted({text.model for text in texts()}))
def test_each_step_is_in_the_model(model: str) -> None:
    body = (FOLDER / f"{model}.pml").read_text("utf-8").partition("*/")[2]
    shown = {letter for marks in re.findall(r"/\*((?: [a-z]\b)+)", body) for letter in marks.split()}
    assert {letter for text in texts() if text.model == model for letter, _ in text.steps} - {"-"} == shown


def test_a_text_that_differs_is_seen() -> None:
    """Accesses that are gone, turned round or new."""
    text, function, arrays = text_of("partition"), "K_sweep", ("status", "aggregates")
    before = accesses(text, function, arrays)
    release = re.search(r"^ *store_release\(&status\[tile\].*\n", text, re.MULTILINE)
    assert release and len(before) > 5
    assert len(accesses(text.replace(release[0], "", 1), function, arrays)) == len(before) - 1
    assert accesses(text.replace("load_acquire", "load_relaxed"), function, arrays) != before
