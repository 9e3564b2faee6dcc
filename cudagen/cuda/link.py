"""Pass: a program for GPUs is put together.

  in    the fused program, the host's instructions, the plans and loops, and their text in CUDA C++
  out   a GpuProgram: data, which nessie.program_cache keeps on disk; the driver compiles the text (cudagen.cuda.device)
  how   Of each function, what a launch needs to know: how its parameters are packed, whether it may record a failure.
        Comments are left out: compilers' results are kept by the text, and comments tell of lines, which move.

Its text is a line for each kernel: `kernel K1: K1_sweep qPP fails, K1_finish qPP`.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.host import nodes as instructions
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Plan
from nessie.lambda_cu import nodes as ir

POINTER = "P"
FORMATS = {"int": "q", "float": "d", "bool": "?", "char": "i"}      # of parameters, as `struct` packs them


@dataclass(frozen=True)
class GpuProgram:
    """A program, ready for a GPU. `host`: its functions; those of `plans` are in `text`; `formats` has the parameters
    of each, `failing` those that may record a failure."""
    program: ir.Program
    host: instructions.Program
    plans: tuple[Plan, ...]
    text: str
    formats: dict[str, str]
    failing: frozenset[str]


def link(program: ir.Program, host: instructions.Program, module: Module, text: str) -> GpuProgram:
    formats = {f.name: "".join(POINTER if p.array else FORMATS[p.type] for p in f.parameters)
               for f in module.functions if f.kind == "cuda"}
    failing = frozenset(f.name for f in module.functions
                        if any(p.name == "errors" and p.writable for p in f.parameters))
    return GpuProgram(program, host, module.plans, without_comments(text), formats, failing)


def show(built: GpuProgram) -> str:
    def function(name: str) -> str:
        return f"{name} {built.formats[name]}{' fails' if name in built.failing else ''}"
    return "".join(f"kernel {plan.name}: {', '.join([function(phase.function) for phase in plan.phases])}\n"
                   for plan in built.plans)


def without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("//"))
