"""Machine code as files: a cubin (or PTX) for each kernel of λcu, and what its functions take of the GPU."""
from __future__ import annotations

from pathlib import PurePath

from nessie.base.source import UsageError
from nessie.cudagen.cuda.files import cuda_files
from nessie.cudagen.cuda.nvidia import compiler, detection
from nessie.cudagen.cuda.nvidia.compiler import Assembled, assembled
from nessie.cudagen.cuda.nvidia.usage import TITLES, table
from nessie.cudagen.loops.module import Module

PTX = ".ptx"


def cubin_files(module: Module, stem: str, architecture: str | None) -> dict[str, Assembled]:
    """By the files' names, which begin with the stem. `architecture` None: that of the first GPU here, PTX if it is
    newer than the compiler. Raises UsageError where there is none, Unsupported where nothing compiles for it."""
    if architecture is None:
        gpus = detection.devices()
        if not gpus:
            raise UsageError("which GPU is the code to be for? There is none here",
                             hint="name its architecture, as in --arch sm_90")
        found = compiler.found()
        architecture = compiler.nearest(gpus[0].architecture, compiler.architectures(found) if found else [])
    suffix = PTX if compiler.is_virtual(architecture) else ".cubin"
    return {str(PurePath(name).with_suffix(suffix)): assembled(text, architecture)
            for name, text in cuda_files(module, stem).items()}


def usage_table(files: dict[str, Assembled]) -> str:
    """A line for each function of each; PTX says nothing of what they take."""
    if files and all(name.endswith(PTX) for name in files):
        return "PTX, which -o DIR writes: what kernels take is decided by the driver that compiles it\n"
    return table([TITLES, *(usage.cells for file in files.values() for usage in file.usages)])
