"""CUDA as files that a compiler takes as they are: one for each kernel, with the parts of the whole text that are
its own."""
from __future__ import annotations

from dataclasses import replace

from nessie.cudagen.cuda import cuda
from nessie.cudagen.kernels.code import identifier
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import by_kernel, reached


def cuda_files(module: Module, stem: str) -> dict[str, str]:
    """The files' texts by their names, which begin with the stem and differ, whatever case counts for."""
    known = {f.name: f for f in module.functions}
    files: dict[str, str] = {}
    for plans in by_kernel(module.plans):
        base = name = f"{stem}_{identifier(plans[0].name)}"
        number, taken = 1, {file.lower() for file in files}
        while f"{name}.cu".lower() in taken:
            number += 1
            name = f"{base}_{number}"
        needed = set().union(*[reached(known, plan) for plan in plans])
        own = replace(module, functions=tuple([f for f in module.functions if f.name in needed]), plans=plans)
        files[f"{name}.cu"] = cuda.cuda(own)
    return files
