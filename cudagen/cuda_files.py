"""CUDA as files that a compiler takes as they are: one for each kernel, with the parts of the whole text that are
its own."""
from __future__ import annotations

from dataclasses import replace

from nessie.cudagen import cuda, loops
from nessie.cudagen.code import identifier
from nessie.cudagen.cuda_header import with_headers
from nessie.cudagen.generate import plans_of
from nessie.cudagen.plan import Plan
from nessie.lambda_cu import ir


def cuda_files(program: ir.Program, stem: str) -> dict[str, str]:
    """The files' texts by their names, which begin with the stem and differ, whatever case counts for; the program is
    fused."""
    plans, module = plans_of(program, "cuda")
    module = with_headers(program, plans, module)
    files: dict[str, str] = {}
    for plan in plans:
        base = name = f"{stem}_{identifier(plan.kernel.name)}"
        number, taken = 1, {file.lower() for file in files}
        while f"{name}.cu".lower() in taken:
            number += 1
            name = f"{base}_{number}"
        files[f"{name}.cu"] = cuda.show(replace(module, functions=needed(module, plan)))
    return files


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
