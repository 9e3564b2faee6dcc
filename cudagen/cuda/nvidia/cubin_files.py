"""Machine code as files: a cubin for each kernel of λcu, and what its functions take of the GPU."""
from __future__ import annotations

from pathlib import PurePath

from nessie.base.source import UsageError
from nessie.cudagen.cuda.files import cuda_files
from nessie.cudagen.cuda.nvidia import detection
from nessie.cudagen.cuda.nvidia.usage import TITLES, Assembled, assembled, table
from nessie.cudagen.loops.module import Module


def cubin_files(module: Module, stem: str, architecture: str | None) -> dict[str, Assembled]:
    """By the files' names, which begin with the stem. `architecture` None: that of the first GPU
    here. Raises UsageError where there is none, Unsupported where nothing compiles for it."""
    if architecture is None:
        gpus = detection.devices()
        if not gpus:
            raise UsageError("which GPU is the code to be for? There is none here",
                             hint="name its architecture, as in --arch sm_90")
        architecture = gpus[0].architecture
    return {str(PurePath(name).with_suffix(".cubin")): assembled(text, architecture)
            for name, text in cuda_files(module, stem).items()}


def usage_table(files: dict[str, Assembled]) -> str:
    """A line for each function of each."""
    return table([TITLES, *(usage.cells for file in files.values() for usage in file.usages)])
