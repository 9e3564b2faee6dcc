"""Reports which of the things that Nessie can use are installed, and what the missing ones would give.

    nessie 0.1.0
      Python             3.11.4        runs Nessie
      HiGHS (highspy)    1.15.1        solves schedules
      PyCUDA             missing       launches kernels on NVIDIA GPUs: --target cuda; pip ...
      --target cuda      missing       runs programs on NVIDIA GPUs
                                       PyCUDA is not installed: in a clone of Nessie: pip install '.[cuda]', ...

The report changes nothing. Packages are looked up, not imported, except for PuLP, which knows whether its solver runs.
The CUDA driver is only asked for its devices.
"""
from __future__ import annotations

import argparse
import os
import platform
import shutil
from importlib import metadata
from importlib.util import find_spec

from nessie.base.records import dataclass
from nessie.base.system.extras import install
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.nvidia import compiler as nvidia_compiler
from nessie.cudagen.cuda.nvidia import detection, nvrtc
from nessie.inspect import pictures
from nessie.tool.options import format_asked, write_result

NEWLINE = "\n"


@dataclass(frozen=True)
class Finding:
    """A thing that is installed in this version; None: it is missing. `gives`: its use, in one line or more; `get`: the
    way to install it."""
    name: str
    version: str | None
    gives: str
    get: str = ""


def doctor(options: argparse.Namespace) -> int:
    """Report what is installed or, with --calibrate, how fast this computer is."""
    format_asked(options, "json" if options.calibrate else "text",
                 f"{'with' if options.calibrate else 'without'} --calibrate nessie doctor writes")
    if options.calibrate:
        from nessie.schedule.cost import profiles
        from nessie.tool.timing.calibrate import Computer, calibrate
        write_result(options, profiles.show(calibrate(Computer(options.threads))))
    else:
        from nessie import __version__
        write_result(options, as_text(__version__, examine()))
    return 0


def examine() -> list[Finding]:
    """Findings on everything that Nessie needs or can use, in the order in which a program meets it."""
    return [
        Finding("Python", platform.python_version(), "runs Nessie"),
        Finding("processor", f"{platform.machine()}, {os.cpu_count() or 1} cores", "--target cpu"),
        package("NumPy", "numpy", "holds arrays; needed"),
        package("PLY", "ply", "makes the parser's tables; needed to change the grammar only", "pip install ply==3.11"),
        package("llvmlite", "llvmlite", "compiles kernels for the processor: --target cpu"),
        package("PuLP", "pulp", "states schedules as integer programs; without it they are greedy"),
        package("networkx", "networkx", "finds cycles between kernels; needed"),
        solver(),
        *cuda(),
        Finding("C++ compiler", compiler.found(), "runs CUDA kernels without a GPU: --target cudasim",
                compiler.INSTALL),
        package("prompt_toolkit", "prompt_toolkit", "edits, completes and remembers what is typed", install("repl")),
        package("Pygments", "pygments", "colours NESL at the prompt, and in documents", install("repl")),
        package("argcomplete", "argcomplete", "completes command lines: nessie completion", install("completion")),
        package("Tornado", "tornado", "serves the live page: nessie serve", install("serve")),
        package("pygls", "pygls", "serves editors: nessie lsp", install("lsp")),
        package("Dask", "distributed", "runs programs on a cluster: --target dask", install("dask")),
        package("Awkward Array", "awkward", "Python's ragged arrays, which go in and come out", install("python")),
        package("PyArrow", "pyarrow", "Python's tables, which go in by Awkward Array", install("python")),
        package("Matplotlib", "matplotlib", "plots of values: nessie plot", install("plot")),
        package("Pillow", "pillow", "PNG files of nesl_examples/image_library", install("images")),
        Finding("PNG", next((row[0] for row in pictures.here()), None), "draws graphs as .png: nessie graph -o x.png",
                pictures.INSTALL),
        package("IPython", "ipython", "NESL in notebooks: %%nesl"),
        package("SciPy", "scipy", "not needed: sparse matrices (.npz) are read without it"),
    ]


def package(name: str, distribution: str, gives: str, get: str = "", others: tuple[str, ...] = ()) -> Finding:
    """The finding on a package, with the version of the first of its names that is installed."""
    get = get or f"pip install {distribution}"
    for known in (distribution, *others):
        try:
            return Finding(name, metadata.version(known), gives, get)
        except metadata.PackageNotFoundError:
            continue
    return Finding(name, None, gives, get)


def solver() -> Finding:
    """The finding on the solver of integer programs: HiGHS, or the CBC that PuLP brings."""
    highs = package("HiGHS (highspy)", "highspy", "solves schedules")
    if highs.version is not None:
        return highs
    cbc = find_spec("pulp") is not None and cbc_runs()
    return Finding("CBC (of PuLP)", "bundled" if cbc else None,
                   "solves schedules, slower than HiGHS (pip install highspy); without both they are greedy")


def cbc_runs() -> bool:
    try:
        import pulp
        return bool(pulp.PULP_CBC_CMD(msg=False).available())
    except Exception:                   # a broken package counts as missing
        return False


def cuda() -> list[Finding]:
    """The findings on what the target cuda needs."""
    library, nvcc, gpus = nvrtc.library_path(), shutil.which("nvcc"), detection.devices()
    toolkit = Finding("NVRTC", str(library) if library else None, "compiles kernels for NVIDIA GPUs: --target cuda",
                      nvidia_compiler.INSTALL)
    missing = [f"{what}: {how}" for what, how in detection.problems()]
    return [
        package("PyCUDA", "pycuda", "launches kernels on NVIDIA GPUs: --target cuda", install("cuda")),
        package("NVRTC", "nvidia-cuda-nvrtc", toolkit.gives, others=nvrtc.PACKAGES) if nvrtc.packaged() else toolkit,
        Finding("nvcc", nvcc, "compiles kernels where NVRTC is missing; and PyCUDA is installed with it",
                "install the CUDA toolkit"),
        Finding("CUDA driver", detection.version(), "runs NVIDIA GPUs", "comes with NVIDIA's driver"),
        Finding("CUDA devices", ", ".join(f"{gpu.name} ({gpu.architecture})" for gpu in gpus) or None,
                "run CUDA kernels: --target cuda runs on the first"),
        Finding("--target cuda", None if missing else "ready", "\n".join(["runs programs on NVIDIA GPUs", *missing])),
    ]


def said(found: Finding) -> str:
    return f"{found.gives}; {found.get}" if found.version is None and found.get else found.gives


def as_text(version: str, findings: list[Finding]) -> str:
    names = max(len(found.name) for found in findings)
    versions = max(len(found.version or "missing") for found in findings)
    below = "\n" + " " * (names + versions + 8)
    lines = [f"  {found.name:{names}}  {found.version or 'missing':{versions}}  {said(found).replace(NEWLINE, below)}"
             for found in findings]
    return "\n".join([f"nessie {version}", *lines]) + "\n"
