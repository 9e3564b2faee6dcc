"""CUDA text to a library for this processor, by the system's C++ compiler; kept on disk by content.

    runtime()            the scheduler (runtime.cpp), loaded once
    library(text, names) a text's kernels, which call the scheduler
    counters()           what kernels that count call besides (counters.cpp), loaded once

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
RUNTIME, COUNTERS = FOLDER / "runtime.cpp", FOLDER / "counters.cpp"
COMMON = ("-std=c++17", "-shared", "-fPIC", "-pthread", "-w")
# -Og compiles in 0.6 of the time of -O1, and kernels run as fast, as the scheduler takes most of it;
# results have the bits that they have elsewhere, and memory may be seen as another type, as on a GPU
OF_KERNELS = (*COMMON, "-Og", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing")
FLAGS = {"runtime": (*COMMON, "-O2"), "kernels": OF_KERNELS, "counters": (*COMMON, "-O2"), "counted": OF_KERNELS}
HEADERS = {"runtime": ("cudasim.h",), "kernels": ("cudasim.h",), "counters": ("counters.h", "cudasim.h"),
           "counted": ("counters.h", "cudasim.h")}      # the first includes the others
FOR_ALL = ("runtime", "counters")       # libraries loaded later find their functions
MISSING = "cudasim needs a C++ compiler, and there is none of " + ", ".join(COMPILERS)
MOST_TOLD = 2000                        # characters of a compiler's complaint
INSTALL = "install g++ or clang++ (on macOS, Xcode's command line tools), or name a compiler in CXX"

_LOCK = across_forks(Lock())
_loaded: dict[Path, ctypes.CDLL] = {}


def runtime() -> ctypes.CDLL:
    """One for the process, whatever CXX says later: kernels find its functions by their names."""
    return loaded_once(RUNTIME, "runtime")


def counters() -> ctypes.CDLL:
    runtime()
    return loaded_once(COUNTERS, "counters")


def loaded_once(path: Path, kind: str) -> ctypes.CDLL:
    with _LOCK:
        if path not in _loaded:
            _loaded[path] = load(path.read_text("utf-8"), kind, compiler())
        return _loaded[path]


def library(text: str, names: Sequence[str], counted: bool = False) -> ctypes.CDLL:
    """The kernels of these names, each as cudasim_run_NAME. `counted`: the text tells what it does (counters.h)."""
    runtime()
    kind = "counted" if counted else "kernels"
    exports = "".join(f"CUDASIM_KERNEL({name})\n" for name in names)
    source = f'#include "{HEADERS[kind][0]}"\n#line 1 "kernels.cu"\n{text}\n{exports}'
    return kernels(source, kind, tuple(compiler()))


@cache                                  # what is loaded stays
def kernels(source: str, kind: str, command: tuple[str, ...]) -> ctypes.CDLL:
    return load(source, kind, command)


def load(source: str, kind: str, command: Sequence[str]) -> ctypes.CDLL:
    """The library that the source becomes."""
    status = Path(command[0]).resolve().stat()
    headers = "".join((FOLDER / name).read_text("utf-8") for name in HEADERS[kind])
    made_for = f"{platform.machine()} {command} {status.st_size} {status.st_mtime_ns} {FLAGS[kind]}\n{headers}"
    code = cached(source, made_for, lambda text: build(text, kind, command))
    with tempfile.TemporaryDirectory(prefix="nessie-") as folder:
        path = Path(folder) / f"{kind}.so"
        write(path, code)
        return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL if kind in FOR_ALL else ctypes.RTLD_LOCAL)


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
