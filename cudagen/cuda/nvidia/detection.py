"""Looks for what a GPU needs, before PyCUDA is imported, which fails without a driver.

    problems()          all that the target cuda misses, each with what to install
    problem()           the first of it
    devices()           the GPUs that NVIDIA's driver sees

The driver library is asked by ctypes. Of several GPUs programs run on the first; CUDA_VISIBLE_DEVICES chooses others.
"""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

from nessie.base.records import dataclass
from nessie.base.source import Unsupported
from nessie.base.system.extras import install
from nessie.cudagen.cuda.nvidia import compiler

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MAJOR, MINOR = 75, 76                   # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
ORDINAL = 9                             # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
NAME_BYTES = 100

WITHOUT = "--target cudasim executes the same kernels on the CPU"
INSTALL_DRIVER = "install NVIDIA's driver, or in a container make it visible (docker run --gpus all)"
SHOW_DEVICE = "nvidia-smi lists GPUs; CUDA_VISIBLE_DEVICES, or a container without --gpus, may hide them"
INSTALL_PYCUDA = (f"{install('cuda')}, where nvcc of a CUDA toolkit "
                  "is on PATH and a C++ compiler is there, as it is compiled then (docs/gpu.md)")


@dataclass(frozen=True)
class Gpu:
    """A device of NVIDIA's driver."""
    name: str
    capability: tuple[int, int]

    @property
    def architecture(self) -> str:
        """The name that compilers have for it."""
        return "sm_{}{}".format(*self.capability)


def driver() -> ctypes.CDLL | None:
    """NVIDIA's driver library; None: it is not here."""
    try:
        return loaded(LIBRARY)
    except OSError:
        return None


@cache
def loaded(library: str) -> ctypes.CDLL:
    """Loaded once: even to find that a library is there takes as long as a kernel's launch."""
    return ctypes.CDLL(library)


def version() -> str | None:
    """The newest version of CUDA that the driver knows."""
    library, number = driver(), ctypes.c_int()
    if library is None or library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def devices() -> list[Gpu]:
    """The GPUs that programs may use, in CUDA's order."""
    library, count = driver(), ctypes.c_int()
    if library is None or library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [described(library, number) for number in range(count.value)]


def described(library: ctypes.CDLL, number: int) -> Gpu:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), number)
    library.cuDeviceGetName(name, NAME_BYTES, device)
    library.cuDeviceGetAttribute(ctypes.byref(major), MAJOR, device)
    library.cuDeviceGetAttribute(ctypes.byref(minor), MINOR, device)
    return Gpu(name.value.decode(errors="replace"), (major.value, minor.value))


def device_of(address: int) -> int | None:
    """The number of the GPU whose memory this is; None: of none. Within a context."""
    library, number = driver(), ctypes.c_int()
    attribute = getattr(library, "cuPointerGetAttribute", None)
    if attribute is None or attribute(ctypes.byref(number), ORDINAL, ctypes.c_uint64(address)) != 0:
        return None
    return number.value


def await_stream(stream: int) -> bool:
    """Waits until all that the stream was asked for is done, if it is one. Within a context."""
    library = driver()
    return library is not None and library.cuStreamSynchronize(ctypes.c_void_p(stream)) == 0


def problems() -> Iterator[tuple[str, str]]:
    """All that programs miss here to run on a GPU, each with what to do."""
    found = devices()
    if driver() is None:
        yield f"there is no NVIDIA driver ({LIBRARY})", INSTALL_DRIVER
        yield "without a driver no GPU can be seen", f"one of compute capability {dotted(compiler.OLDEST)} is needed"
    elif not found:
        yield "NVIDIA's driver sees no GPU", SHOW_DEVICE
    elif found[0].capability < compiler.OLDEST:
        yield (f"the GPU {found[0].name} is too old: its compute capability is {dotted(found[0].capability)}, "
               f"and {dotted(compiler.OLDEST)} is needed", "CUDA_VISIBLE_DEVICES chooses another GPU, if there is one")
    if find_spec("pycuda") is None:
        yield "PyCUDA is not installed", INSTALL_PYCUDA
    if not compiler.found():
        yield "there is neither NVRTC nor nvcc to compile kernels", compiler.INSTALL


def problem() -> tuple[str, str] | None:
    """The first of them; None: programs can run."""
    return next(problems(), None)


def refuse_without() -> None:
    """Raises an error unless programs can run on a GPU here."""
    found = list(problems())
    if found:
        what, how = found[0]
        more = ["nessie doctor names all that is missing"] if len(found) > 1 else []
        raise Unsupported(f"the target cuda cannot be used: {what}", hint="; ".join([how, *more, WITHOUT]))


def dotted(numbers: tuple[int, int]) -> str:
    return "{}.{}".format(*numbers)
