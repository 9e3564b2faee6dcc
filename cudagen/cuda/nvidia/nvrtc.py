"""NVRTC, NVIDIA's compiler as a library, by ctypes: where it is, and a text's cubin or PTX."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu13", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu11")
FILE = re.compile(r"libnvrtc\.so(\.\d+)*|nvrtc64_\d+_\d+\.dll")
FOLDERS = ("lib64", "lib", "bin", "bin/x64")        # of a toolkit


class Refused(Exception):
    """A compiler does not take a text, or what it is asked for: what it says."""


@cache
def library_path() -> Path | None:
    """The library of a Python package, or of a toolkit: the one that CUDA_HOME or CUDA_PATH names, that of nvcc, or the
    system's."""
    return packaged() or next((path for path in of_toolkits() if path.is_file()), None)


def packaged() -> Path | None:
    return next((path for path in of_packages() if path.is_file()), None)


def of_packages() -> Iterator[Path]:
    for name in PACKAGES:
        try:
            files = distribution(name).files or ()
        except PackageNotFoundError:
            continue
        yield from (Path(str(file.locate())) for file in files if FILE.fullmatch(file.name))


def of_toolkits() -> Iterator[Path]:
    nvcc = shutil.which("nvcc")
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             str(Path(nvcc).resolve().parent.parent) if nvcc else None, "/usr/local/cuda"]
    for folder in (Path(root) / name for root in roots if root for name in FOLDERS):
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if FILE.fullmatch(path.name))
    system = ctypes.util.find_library("nvrtc")
    if system:
        yield from (Path(folder) / system for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"))


class Nvrtc:
    """The library at this path."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> str:
        """The library's version of CUDA."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.do("Version", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def architectures(self) -> list[str]:
        """The architectures that it compiles for, such as sm_90."""
        count = ctypes.c_int()
        self.do("GetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.do("GetSupportedArchs", numbers)
        return [f"sm_{number}" for number in numbers]

    def code(self, text: str, options: tuple[str, ...]) -> tuple[bytes, str]:
        """The code of all kernels of the text, and the compiler's log: a cubin, or PTX for a virtual architecture."""
        program, words = ctypes.c_void_p(), [option.encode() for option in options]
        self.do("CreateProgram", ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
        try:
            status = self.library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
            log = self.content(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if status != 0:
                raise Refused(f"{self.told(status)}\n{log}")
            cubin = self.content(program, "CUBIN")
            return cubin or self.content(program, "PTX").rstrip(b"\0"), log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def content(self, program: ctypes.c_void_p, what: str) -> bytes:
        """Its code, or its log, which ends with a zero."""
        size = ctypes.c_size_t()
        self.do(f"Get{what}Size", program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        self.do(f"Get{what}", program, content)
        return content.raw

    def do(self, name: str, *arguments: object) -> None:
        status = getattr(self.library, f"nvrtc{name}")(*arguments)
        if status != 0:
            raise Refused(f"nvrtc{name}: {self.told(status)}")

    def told(self, status: int) -> str:
        return str(self.library.nvrtcGetErrorString(status).decode())
