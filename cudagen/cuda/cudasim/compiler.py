"""CUDA text to a library for this processor, by the system's C++ compiler; kept on disk by content.

    runtime()            the scheduler (runtime.cpp), loaded once
    library(text, names) a text's kernels, which call the scheduler

The compiler is the one that CXX names, or else the first of c++, g++ and clang++.
"""
from __future__ import annotations

import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock

from nessie.base.source import InternalError, NessieError
from nessie.base.system.disk_cache import cached
from nessie.base.system.forking import across_forks
from nessie.base.system.writing import write

COMPILERS = ("c++", "g++", "clang++")
FOLDER = Path(__file__).parent
HEADER, RUNTIME = FOLDER / "cudasim.h", FOLDER / "runtime.cpp"
COMMON = ("-std=c++17", "-shared", "-fPIC", "-pthread", "-w")
FLAGS = {
    "runtime": (*COMMON, "-O2"),
    # results have the bits that they have elsewhere, and memory may be seen as another type, as on a GPU
    "kernels": (*COMMON, "-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing"),
}
MISSING = "cudasim needs a C++ compiler, and there is none of " + ", ".join(COMPILERS)
MOST_TOLD = 2000                        # characters of a compiler's complaint
INSTALL = "install g++ or clang++ (on macOS, Xcode's command line tools), or name a compiler in CXX"

_LOCK = across_forks(Lock())
_runtime: list[ctypes.CDLL] = []


def runtime() -> ctypes.CDLL:
    """One for the process, whatever CXX says later: kernels find its functions by their names."""
    with _LOCK:
        if not _runtime:
            _runtime.append(load(RUNTIME.read_text("utf-8"), "runtime", compiler()))
        return _runtime[0]


def library(text: str, names: Sequence[str]) -> ctypes.CDLL:
    """The kernels of these names, each as cudasim_run_NAME."""
    runtime()
    exports = "".join(f"CUDASIM_KERNEL({name})\n" for name in names)
    return kernels(f'#include "cudasim.h"\n#line 1 "kernels.cu"\n{text}\n{exports}', tuple(compiler()))


@cache                                  # what is loaded stays
def kernels(source: str, command: tuple[str, ...]) -> ctypes.CDLL:
    return load(source, "kernels", command)


def load(source: str, kind: str, command: Sequence[str]) -> ctypes.CDLL:
    """The library that the source becomes. The runtime's functions are there for all that are loaded later."""
    status = Path(command[0]).resolve().stat()
    made_for = (f"{platform.machine()} {command} {status.st_size} {status.st_mtime_ns} {FLAGS[kind]}\n"
                f"{HEADER.read_text('utf-8')}")
    code = cached(source, made_for, lambda text: build(text, kind, command))
    with tempfile.TemporaryDirectory(prefix="nessie-") as folder:
        path = Path(folder) / f"{kind}.so"
        write(path, code)
        return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL if kind == "runtime" else ctypes.RTLD_LOCAL)


def compiler() -> list[str]:
    """The command."""
    named = shlex.split(os.environ.get("CXX", ""))
    path = found()
    if path is None:
        raise NessieError(f"cudasim needs a C++ compiler, and CXX names {named[0]}, which is not there" if named
                          else MISSING, hint=INSTALL)
    return [path, *named[1:]]


def found() -> str | None:
    """The compiler's path; None where there is none."""
    named = shlex.split(os.environ.get("CXX", ""))
    return next((path for name in (named[:1] or COMPILERS) if (path := shutil.which(name))), None)


def build(source: str, kind: str, command: Sequence[str]) -> bytes:
    """The library's bytes."""
    with tempfile.TemporaryDirectory(prefix="nessie-") as folder:
        written, made = Path(folder) / f"{kind}.cpp", Path(folder) / f"{kind}.so"
        write(written, source)
        linking = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        try:
            done = subprocess.run([*command, *FLAGS[kind], f"-I{FOLDER}", str(written), "-o", str(made), *linking],
                                  capture_output=True, text=True, start_new_session=True)    # Ctrl-C is for us
        except OSError as error:
            raise NessieError(f"the C++ compiler {command[0]} does not run: {error.strerror}", hint=INSTALL) from None
        if done.returncode != 0:
            raise refusal(kind, command, done.stderr[:MOST_TOLD])
        return made.read_bytes()


def refusal(kind: str, command: Sequence[str], complaint: str) -> Exception:
    """The error where the compiler refuses the text of the kernels, or even that of the scheduler."""
    if kind == "runtime":
        return NessieError(f"{shlex.join(command)} is no C++ compiler that cudasim can use: {complaint}", hint=INSTALL)
    return InternalError(f"{shlex.join(command)} refuses the kernels: {complaint}")
