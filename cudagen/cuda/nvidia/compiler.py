"""CUDA text to code for a GPU, by NVRTC or else by nvcc; kept on disk by text, compiler and GPU.

    compiled(text, architecture)    the code of all of a program's kernels, for the GPU that runs them
    assembled(text, architecture)   a text's code, with the Usage of each of its functions (of PTX none), and warnings
    found()                         which compiler there is
    architectures(compiler)         for which GPUs it compiles

Code for an architecture that the compiler knows (sm_90) is a cubin, machine code. A GPU may be newer than the compiler:
then the code is PTX for the newest virtual architecture it knows (compute_90), which the GPU's driver compiles.

NVRTC is a library: of the package nvidia-cuda-nvrtc, or of a CUDA toolkit. nvcc takes four times as long.
"""
from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from functools import partial
from pathlib import Path

from nessie.base.records import dataclass
from nessie.base.source import InternalError, Unsupported
from nessie.base.system.disk_cache import cached
from nessie.base.system.writing import write
from nessie.cudagen.cuda.nvidia.nvrtc import Nvrtc, Refused, library_path
from nessie.cudagen.cuda.nvidia.usage import Usage, usages_in

OLDEST = (7, 0)                             # from then on a warp's threads run on their own, as kernels expect
FLAGS = ("--fmad=false", "--std=c++17")     # a product is rounded before it is added to, as elsewhere
VIRTUAL = "compute_"                        # begins the names of architectures whose code is PTX
VERBOSE = "--ptxas-options=-v"              # says what functions take
WARNING = re.compile(r"^(?:\S+\(\d+\): |ptxas )warning.*", re.MULTILINE)
BOUND = re.compile(r"( __launch_bounds__\([^)]*\))( void (\w+)\()")
KERNEL = re.compile(r"^extern \"C\" __global__[^(]*(?:\(\d[^)]*\))? void (\w+)\(.*?^}", re.MULTILINE | re.DOTALL)
LOOP = re.compile(r"^( *)(?=while \(|for \((?![^;]*;[^;]* < \d+;))", re.MULTILINE)  # of unknown length
ROLLED = r"\1#pragma unroll 1\n\1"
MOST_TOLD = 2000                            # characters of a compiler's complaint
UNKNOWN_GPU = re.compile(r"(invalid value for --gpu-|Unsupported gpu )architecture")     # they have no status for it
INSTALL = "pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for a driver of CUDA 12), or the CUDA toolkit"


@dataclass(frozen=True)
class Compiler:
    """NVRTC or nvcc, at this path."""
    name: str
    path: Path

    def __str__(self) -> str:
        return f"{self.name} ({self.path})"


def found() -> Compiler | None:
    """The one to be used."""
    library = library_path()
    if library is not None:
        return Compiler("NVRTC", library)
    nvcc = shutil.which("nvcc")
    return Compiler("nvcc", Path(nvcc)) if nvcc else None


def version(compiler: Compiler) -> str:
    """The compiler's version of CUDA."""
    if compiler.name == "NVRTC":
        return Nvrtc(compiler.path).version()
    told = subprocess.run([str(compiler.path), "--version"], capture_output=True, text=True, check=False).stdout
    release = re.search(r"release (\d+\.\d+)", told)
    return release[1] if release else "of an unknown version"


def architectures(compiler: Compiler) -> list[str]:
    """The architectures that it compiles for and kernels run on, such as sm_90; none where it is too old to tell."""
    if compiler.name == "NVRTC":
        nvrtc = Nvrtc(compiler.path)
        known = nvrtc.architectures() if hasattr(nvrtc.library, "nvrtcGetSupportedArchs") else []
    else:
        command = [str(compiler.path), "--list-gpu-code"]
        known = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return [architecture for architecture in known if not too_old(architecture)]


def too_old(architecture: str) -> bool:
    return number(architecture) < int("{}{}".format(*OLDEST))


def number(architecture: str) -> int:
    """The compute capability in an architecture's name: 90 of sm_90, sm_90a and compute_90."""
    return int(re.sub(r"\D", "", architecture))


def is_virtual(architecture: str) -> bool:
    """Is code for it PTX, and not a cubin?"""
    return architecture.startswith(VIRTUAL)


def nearest(architecture: str, known: list[str]) -> str:
    """The architecture that code for this one is made for: its own, or where it is newer than all that are known, the
    newest of them as a virtual one."""
    if known and number(architecture) > max(map(number, known)):
        return f"{VIRTUAL}{max(map(number, known))}"
    return architecture


def unsupported(compiler: Compiler, architecture: str) -> Unsupported:
    """The error that there is no code for this architecture; its hint names those for which there is."""
    known = ", ".join(architectures(compiler))
    hint = f"name one of {known}" if known else f"another version may: {INSTALL}"
    if too_old(architecture):
        return Unsupported("kernels need a GPU of compute capability {}.{} or more: ".format(*OLDEST)
                           + f"{architecture} is too old", hint=hint)
    return Unsupported(f"{compiler} compiles nothing for GPUs that are {architecture}",
                       hint=f"{hint}; another version may: {INSTALL}" if known else hint)


def compiled(text: str, architecture: str) -> bytes:
    """The code for a GPU such as sm_90: a cubin, or PTX where the GPU is newer than the compiler."""
    compiler = found()
    assert compiler is not None
    chosen = nearest(architecture, architectures(compiler))
    status = compiler.path.resolve().stat()
    made_for = f"cubin {chosen} {compiler} {status.st_size} {status.st_mtime_ns} {FLAGS}"
    return cached(text, made_for, lambda text: build(compiler, text, chosen))


@dataclass(frozen=True)
class Assembled:
    """Code for one architecture; `warnings`: lines of the compiler or the assembler."""
    code: bytes
    usages: tuple[Usage, ...]
    warnings: tuple[str, ...]


def assembled(text: str, architecture: str) -> Assembled:
    """Raises Unsupported where there is no compiler, or none for this architecture (such as sm_90 or
    compute_90)."""
    compiler = found()
    if compiler is None:
        raise Unsupported("there is neither NVRTC nor nvcc to compile kernels", hint=INSTALL)
    code, log = build_verbosely(compiler, text, architecture)
    return Assembled(code, usages_in(log), tuple(WARNING.findall(log)))


def build(compiler: Compiler, text: str, architecture: str) -> bytes:
    return build_verbosely(compiler, text, architecture)[0]


def build_verbosely(compiler: Compiler, text: str, architecture: str) -> tuple[bytes, str]:
    """The code, a cubin or for a virtual architecture PTX, and what the compiler says meanwhile. Of functions that
    would spill, loops are not unrolled: once more, then. Those that would spill still go without bounds."""
    if too_old(architecture):
        raise unsupported(compiler, architecture)
    make = partial(by_nvrtc if compiler.name == "NVRTC" else by_nvcc, compiler.path)
    options = (f"--gpu-architecture={architecture}", *FLAGS, *(() if is_virtual(architecture) else (VERBOSE,)))
    try:
        code, told = make(text, options)
        for change in (rolled, unbound):
            changed = change(text, {usage.function for usage in usages_in(told) if usage.spill_stores})
            if changed != text:
                text, (code, told) = changed, make(changed, options)
        return code, told
    except Refused as refused:
        complaint = str(refused)[:MOST_TOLD].strip()
        if UNKNOWN_GPU.search(complaint):
            raise unsupported(compiler, architecture) from None
        raise InternalError(f"{compiler} refuses the kernels: {complaint}") from None


def rolled(text: str, functions: Collection[str]) -> str:
    """The text in which loops of these functions are not unrolled, but for those that have a number of rounds."""
    return KERNEL.sub(lambda found: LOOP.sub(ROLLED, found[0]) if found[1] in functions else found[0], text)


def unbound(text: str, functions: Collection[str]) -> str:
    """The text without the bounds of these functions."""
    return BOUND.sub(lambda found: found[2] if found[3] in functions else found[0], text)


def by_nvrtc(path: Path, text: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    return Nvrtc(path).code(text, options)


def by_nvcc(path: Path, text: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="nessie-") as folder:
        written, made = Path(folder) / "kernels.cu", Path(folder) / "kernels.code"
        write(written, text)
        kind = "-ptx" if any(is_virtual(option.rpartition("=")[2]) for option in options) else "-cubin"
        done = subprocess.run([str(path), kind, *options, str(written), "-o", str(made)],
                              capture_output=True, text=True, start_new_session=True)      # Ctrl-C is for us
        if done.returncode != 0:
            raise Refused(done.stdout + done.stderr)
        return made.read_bytes(), done.stdout + done.stderr
