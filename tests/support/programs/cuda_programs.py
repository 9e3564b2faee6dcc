"""CUDA for a fixed set of programs: all examples, as they are run, and a kernel for each skeleton in each space.

    PROGRAMS            their names
    built(name)         what the forms of one become, by each schedule of SCHEDULES
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from built import gpu_code
from kernel_runs import program_of
from paths import EXAMPLES
from test_skeletons import CUDA, cuda_kernel, segmented_kernel
from test_skeletons import CUDA_SEGMENTED as SEGMENTED

from nessie import driver
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.cudagen.cuda.link import GpuProgram
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import layout_of_value
from nessie.pipeline import Job, pass_named
from nessie.running.targets import Target
from nessie.session.session import Session

SCHEDULES = {"none": "simplify", "ilp": "fuse"}         # and the last pass of each
SPACES = {
    "irregular": ("offs0 : [int; m+1]", "irregular(offs0, m, n)"),
    "uniform": ("l : int", "uniform(m, l, n)"),
    "affine": ("slope : int, more : int", "closed(m, (more, slope), n)"),
}
SKELETONS = "skeletons"
PROGRAMS = (*(path.stem for path in sorted(EXAMPLES.glob("*.nesl"))),
            *(f"fusion/{path.stem}" for path in sorted(EXAMPLES.glob("fusion/*.nesl"))), SKELETONS)


@dataclass(frozen=True)
class Made:
    """What is compiled for a GPU of a program's form, the first of which is 1; by a schedule."""
    form: int
    schedule: str
    built: GpuProgram


def built(name: str) -> list[Made]:
    """Those that have kernels."""
    if name == SKELETONS:
        return [Made(1, "none", gpu_code(skeletons()))]
    path = EXAMPLES / f"{name}.nesl"
    found = run_deep(lambda: of_function(path) if "/" in name else of_session(path))
    return [made for made in found if made.built.formats]


def skeletons(spaces: Sequence[str] = ("flat", *SPACES)) -> ir.Program:
    kernels = {name: cuda_kernel(name) for name in CUDA if "flat" in spaces}
    kernels |= {f"{space} {name}": segmented_kernel(*SPACES[space], SEGMENTED[name])
                for space in SPACES if space in spaces for name in SEGMENTED}
    named = [replace(kernel, name=kernel_name(name)) for name, kernel in kernels.items()]
    return replace(program_of(named[0]), kernels=tuple(named))


def kernel_name(name: str) -> str:
    """That of a skeleton's kernel: a flat one's name as it is, another's after its space's."""
    return re.sub(r"\W+", "_", name)


def of_function(path: Path) -> list[Made]:
    """The function that has the file's name."""
    source = Source(path.name, path.read_text("utf-8"))
    return [Made(1, fuse, gpu_code(compile_program(Job(entry=path.stem, target="cuda", fuse=fuse), TEXT, source,
                                                        pass_named(last)))) for fuse, last in SCHEDULES.items()]


def of_session(path: Path) -> list[Made]:
    """What `nessie run --target cuda` compiles."""
    target = Watched("reference")
    target.world.write = lambda text: None
    for outcome in Session(target).run(Source(path.name, path.read_text("utf-8"))):
        if isinstance(outcome, Exception):
            raise outcome
    return target.made


@dataclass
class Watched(Target):
    """Runs programs by the reference executor, and compiles them for a GPU."""

    def __post_init__(self) -> None:
        self.forms = 0
        self.made: list[Made] = []

    def run(self, job: Job, program: Any, arguments: Any) -> Any:
        entry = next(f for f in program.functions if f.name == program.entry)
        layouts = tuple(layout_of_value(p.type, value) for p, value in zip(entry.parameters, arguments, strict=True))
        self.forms += 1
        for fuse in SCHEDULES:
            for_gpu = replace(job, target="cuda", fuse=fuse, layouts=layouts)
            self.made.append(Made(self.forms, fuse, driver.built(for_gpu, program)))
        return super().run(job, program, arguments)
