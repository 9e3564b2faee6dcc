"""Pass: a program for CPUs is put together, LLVM's text made into machine code.

  in    the fused program, the host's instructions, the plans and loops, and their text in LLVM's language
  out   a CpuProgram: data, which nessie.program_cache keeps on disk
  how   The quick edition of the code is made here, in a twentieth of the time of the optimised one, which the device
        makes from the text when it is worth that (cudagen.cpu.device). A program without kernels has no code.

Its text is a line for each kernel: `kernel K1 unbounded: K1_sweep, K1_finish`.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.host import nodes as instructions
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Plan, reached
from nessie.lambda_cu import nodes as ir


@dataclass(frozen=True)
class CpuProgram:
    """A program, ready for the CPU. `host`: its functions; those of `plans` are in `code`, the quick edition, under
    `names`; `text` is what the optimised one is built from. Kernels in `unbounded` may run for ever, those in
    `recursive` need large stacks."""
    program: ir.Program
    host: instructions.Program
    plans: tuple[Plan, ...]
    unbounded: frozenset[str]
    recursive: frozenset[str]
    names: tuple[str, ...]
    text: str
    code: bytes


def assemble(program: ir.Program, host: instructions.Program, module: Module, text: str) -> CpuProgram:
    names = tuple(f.name for f in module.functions if f.kind == "host")
    code = building.build(text, quick=True) if names else b""
    return CpuProgram(program, host, module.plans, calling(module, "interrupt"), calling(module, loops.NESTING[0]),
                      names, text if names else "", code)


def calling(module: Module, parameter: str) -> frozenset[str]:
    """The kernels that call device functions which have this parameter."""
    functions = {f.name: f for f in module.functions}
    having = {f.name for f in module.functions
              if f.kind in ("device", "apart") and any(p.name == parameter for p in f.parameters)}
    return frozenset(plan.name for plan in module.plans if having and not having.isdisjoint(reached(functions, plan)))


def show(built: CpuProgram) -> str:
    def kernel(name: str) -> str:
        marks = {" unbounded": built.unbounded, " recursive": built.recursive}
        return name + "".join(mark for mark, names in marks.items() if name in names)
    return "".join(f"kernel {kernel(plan.name)}: {', '.join([phase.function for phase in plan.phases])}\n"
                   for plan in built.plans)
