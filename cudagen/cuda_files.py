"""CUDA as files that a compiler takes as they are: one for each kernel of λcu, which stands above its code."""
from __future__ import annotations

from nessie.base.layout import render
from nessie.base.source import user_span
from nessie.cudagen import cuda, loops
from nessie.cudagen.code import identifier
from nessie.cudagen.generate import plans_of
from nessie.cudagen.loops_printer import show_exp
from nessie.cudagen.plan import THREADS, Phase, Plan
from nessie.lambda_cu import ir, printer


def cuda_files(program: ir.Program, stem: str) -> dict[str, str]:
    """The files' texts by their names, which begin with the stem; the program is fused."""
    plans, module = plans_of(program, "cuda")
    functions = {f.name: f for f in program.scalar_functions}
    return {f"{stem}_{identifier(plan.kernel.name)}.cu": cuda_file(kernel, plan, module, functions)
            for kernel, plan in zip(program.kernels, plans, strict=True)}


def cuda_file(kernel: ir.Kernel, plan: Plan, module: loops.Module, functions: dict[str, ir.ScalarFunction]) -> str:
    span = user_span(kernel.origin)
    place = [f"{kernel.name}, from {span.source.name}:{span.line}", ""] if span else []
    shown = render(printer.kernel_doc(kernel, functions)).splitlines()
    phases = ["", f"Launched one after another, with {THREADS} threads a block:", "",
              *(f"  {phase.function}: {blocks(phase)}" for phase in plan.phases)]
    comment = "\n".join(f"// {line}".rstrip() for line in [*place, *shown, *phases])
    return f"{comment}\n\n{cuda.show(loops.Module(needed(module, plan)))}"


def blocks(phase: Phase) -> str:
    return "1 block" if phase.chunks is None else f"{show_exp(phase.chunks)} blocks"


def needed(module: loops.Module, plan: Plan) -> tuple[loops.Function, ...]:
    """The plan's functions and those that they call, in the module's order."""
    known = {f.name: f for f in module.functions}
    wanted, waiting = set[str](), [f.name for f in plan.functions]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += loops.called(known[name].body)
    return tuple([f for f in module.functions if f.name in wanted])
