"""Kernels compiled with a sanitizer, and the program that runs them as tapes (taped.py) say.

    watched(sanitizer, text, names, folder)     the text's kernels, which replay tapes
"""
from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from paths import TESTS
from processes import finished

from nessie.cudagen.cuda.cudasim import compiler

LINES = "-g1"                           # all that is told of places
PATIENCE = 600                          # seconds; the program has 30 of the processor


@dataclass(frozen=True)
class Sanitizer:
    """`scheduler` and `kernels`: how each is compiled; the scheduler's own accesses are not looked at."""
    flags: tuple[str, ...]
    scheduler: tuple[str, ...]
    kernels: tuple[str, ...]
    options: tuple[tuple[str, str], ...]


RACES = Sanitizer(("-fsanitize=thread",), ("-DCUDASIM_TSAN",), (),
                  (("TSAN_OPTIONS", "halt_on_error=1 atexit_sleep_ms=0"),))
ADDRESSES = Sanitizer(("-fsanitize=address,undefined", "-fno-sanitize-recover=all"), (), ("-D__shared__=static",),
                      (("ASAN_OPTIONS", "detect_leaks=0"),))


@dataclass
class Watched:
    sanitizer: Sanitizer
    folder: Path
    text: str
    names: Sequence[str]

    def __post_init__(self) -> None:
        self.program, self.library = self.folder / "replay", self.folder / "kernels.so"
        self.program.write_bytes(replaying(self.sanitizer))
        self.program.chmod(0o700)
        exports = "".join(f"CUDASIM_KERNEL({name})\n" for name in self.names)
        (self.folder / "kernels.cpp").write_text(
            f'#include "cudasim.h"\n#line 1 "kernels.cu"\n{self.text}\n{exports}')
        build(self.folder, [*compiler.FLAGS["kernels"], LINES, *self.sanitizer.flags, *self.sanitizer.kernels,
                            "kernels.cpp", "-o", str(self.library)])

    def replay(self, taped: str, seed: int, os_threads: int = 4, mistake: int = 0) -> str:
        """What is wrong; '' if nothing is."""
        path = self.folder / "tape"
        path.write_text(taped)
        done = started([str(self.program), str(self.library), str(path), str(seed), str(os_threads), str(mistake)],
                       self.sanitizer)
        return "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"


@cache
def replaying(sanitizer: Sanitizer) -> bytes:
    """The program that replays tapes, which is the same for all kernels."""
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), ["-O1", "-c", *sanitizer.scheduler, str(compiler.RUNTIME), "-o", "runtime.o"])
        build(Path(folder), ["-O1", "-c", str(TESTS / "cudagen" / "cuda" / "replay.cpp"), "-o", "replay.o"])
        build(Path(folder), [*sanitizer.flags, "replay.o", "runtime.o", "-rdynamic", "-ldl", "-o", "replay"])
        return (Path(folder) / "replay").read_bytes()


def build(folder: Path, words: list[str]) -> None:
    command = [*compiler.compiler(), "-std=c++17", "-pthread", f"-I{compiler.FOLDER}", *words]
    done = finished(command, cwd=folder)
    assert done.returncode == 0, done.stderr[:2000]


def watched(sanitizer: Sanitizer, text: str, names: tuple[str, ...], folder: Path) -> Watched:
    """Skips where there is no such sanitizer, or it does not start."""
    if why := missing(sanitizer):
        pytest.skip(f"no {sanitizer.flags[0]} here: {why}")
    return Watched(sanitizer, folder, text, names)


@cache
def missing(sanitizer: Sanitizer) -> str:
    """Why there is no such sanitizer; '' if there is."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.cpp"
        empty.write_text("int main() {}")
        command = [*compiler.compiler(), *sanitizer.flags, str(empty), "-o", str(empty.with_suffix(""))]
        done = finished(command)
        if done.returncode == 0:
            done = started([str(empty.with_suffix(""))], sanitizer)
    return (done.stderr or "it does not start")[:300] if done.returncode else ""


def started(command: list[str], sanitizer: Sanitizer) -> subprocess.CompletedProcess[str]:
    """Without random addresses where that can be had: there are kernels whose addresses sanitizers do not expect."""
    fixed = [found, "-R"] if (found := shutil.which("setarch")) else []
    return finished([*fixed, *command], env=dict(sanitizer.options), seconds=PATIENCE)
