"""CUDA as files that a compiler takes as they are: one for each kernel, with the parts of the whole text that are
its own."""
from __future__ import annotations

from dataclasses import replace

from nessie.cudagen import cuda
from nessie.cudagen.code import identifier
from nessie.cudagen.cuda_header import with_headers
from nessie.cudagen.generate import generate
from nessie.cudagen.plan import reached
from nessie.lambda_cu import ir


def cuda_files(program: ir.Program, stem: str) -> dict[str, str]:
    """The files' texts by their names, which begin with the stem and differ, whatever case counts for; the program is
    fused."""
    module = with_headers(program, generate(program, "cuda"))
    known = {f.name: f for f in module.functions}
    files: dict[str, str] = {}
    for plan in module.plans:
        base = name = f"{stem}_{identifier(plan.name)}"
        number, taken = 1, {file.lower() for file in files}
        while f"{name}.cu".lower() in taken:
            number += 1
            name = f"{base}_{number}"
        needed = reached(known, plan)
        own = replace(module, functions=tuple([f for f in module.functions if f.name in needed]), plans=(plan,))
        files[f"{name}.cu"] = cuda.show(own)
    return files
