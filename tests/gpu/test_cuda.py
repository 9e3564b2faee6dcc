"""The target cuda, without a GPU: what is missing, the compilers, and PyCUDA on a driver library of our own."""
from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paths import PYTHONPATH
from processes import finished

from nessie.base.source import InternalError, Unsupported
from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.cudagen.cuda.nvidia import compiler, detection, nvrtc
from nessie.tool.cli import main

FAKE = Path(__file__).parent / "fake_cuda"
LINUX = pytest.mark.skipif(sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
                           reason="the fake driver library is one for Linux")
CXX = pytest.mark.skipif(not cudasim.found(), reason="there is no C++ compiler")
PYCUDA = "pycuda==2026.1"
HEADERS = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api")
NEEDS = ("pytools", "siphash24", "mako", "markupsafe", "platformdirs", "typing_extensions")
# PyCUDA needs CUDA's headers alone: quickly compiled, without what the toolkit's libraries would be needed for, and
# linked with a driver library that does not define all that it could call.
SITECONF = """
CUDA_ROOT, CUDA_INC_DIR, CUDA_ENABLE_CURAND = None, [{include!r}], False
CUDADRV_LIB_DIR, CXXFLAGS = [{library!r}], ["-O0", "-g0", "-w"]
"""
LDFLAGS = "-Wl,--no-as-needed,-z,lazy"


def fake_driver(folder: Path, *options: str) -> Path:
    path = folder / "libcuda.so.1"
    finished([*cudasim.compiler(), "-std=c++17", "-O1", "-shared", "-fPIC", "-w", *options,
              str(FAKE / "libcuda.cpp"), "-o", str(path), "-ldl"], check=True)
    return path


# What is missing --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without a name of its own, by which the system would find it from now on."""
    return fake_driver(tmp_path_factory.mktemp("driver"))


def without(what: str, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is there but this."""
    find_spec: Callable[[str], Any] = importlib.util.find_spec
    present, nvcc = what != "PyCUDA", compiler.Compiler("nvcc", Path("nvcc"))
    monkeypatch.setattr(detection, "LIBRARY", "libcuda.so.none" if what == "driver" else str(library))
    monkeypatch.setattr(detection, "find_spec", lambda name: (present or None) if name == "pycuda" else find_spec(name))
    monkeypatch.setattr(compiler, "found", lambda: None if what == "compiler" else nvcc)
    monkeypatch.setenv("FAKE_CUDA_DEVICES", "0" if what == "device" else "2")
    monkeypatch.setenv("FAKE_CUDA_CAPABILITY", "61" if what == "new device" else "90")


MISSING = {
    "driver": "there is no NVIDIA driver (libcuda.so.none)\n"
              "hint: install NVIDIA's driver, or in a container make it visible (docker run --gpus all)",
    "device": "NVIDIA's driver sees no GPU\n"
              "hint: nvidia-smi lists GPUs; CUDA_VISIBLE_DEVICES, or a container without --gpus, may hide them",
    "new device": "the GPU fake GPU is too old: its compute capability is 6.1, and 7.0 is needed\n"
                  "hint: CUDA_VISIBLE_DEVICES chooses another GPU, if there is one",
    "PyCUDA": "PyCUDA is not installed\n"
              "hint: in a clone of Nessie: pip install '.[cuda]', where nvcc of a CUDA toolkit "
              "is on PATH and a C++ compiler is there, as it is compiled then (docs/gpu.md)",
    "compiler": "there is neither NVRTC nor nvcc to compile kernels\n"
                "hint: pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for a driver of CUDA 12), or the CUDA "
                "toolkit",
}


@LINUX
@CXX
@pytest.mark.parametrize("words", [["eval", "1"], ["profile", "-x", "1"]], ids=" ".join)
@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing(what: str, words: list[str], library: Path, monkeypatch: pytest.MonkeyPatch,
                         capsys: pytest.CaptureFixture[str]) -> None:
    without(what, library, monkeypatch)
    assert main([*words, "--target", "cuda"]) == 1
    more = "; nessie doctor names all that is missing" if what == "driver" else ""      # and a GPU with it
    told = f"error: the target cuda cannot be used: {MISSING[what]}{more}; {detection.WITHOUT}\n"
    assert capsys.readouterr() == ("", told)


@LINUX
@CXX
@pytest.mark.parametrize("what", ["nothing", *MISSING])
def test_the_doctor_tells_it_too(what: str, library: Path, monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    without(what, library, monkeypatch)
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    lines = {line[2:].split("  ")[0]: line for line in told.splitlines()[1:]}
    assert "runs programs" in lines["--target cuda"] and ("missing" in lines["--target cuda"]) == (what != "nothing")
    assert MISSING.get(what, "runs programs").replace("\nhint", "") in told
    assert all((said.replace("\nhint", "") in told) == (other == what) for other, said in MISSING.items())
    assert ("13.0" in lines["CUDA driver"]) == (what != "driver")
    assert ("fake GPU (sm_" in lines["CUDA devices"]) == (what not in ("driver", "device"))


def test_all_that_is_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(detection, "LIBRARY", "libcuda.so.none")
    monkeypatch.setattr(detection, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler, "found", lambda: None)
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert all(MISSING[what].replace("\nhint", "") in told for what in ("driver", "PyCUDA", "compiler"))
    assert "without a driver no GPU can be seen: one of compute capability 7.0 is needed" in told
    assert main(["eval", "1", "--target", "cuda"]) == 1
    assert "nessie doctor names all that is missing" in capsys.readouterr().err


def test_code_is_made_without_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(detection, "LIBRARY", "libcuda.so.none")
    path = tmp_path / "total.nesl"
    path.write_text("function total(xs) : [int] -> int = sum(xs);")
    assert main(["compile", str(path), "-e", "total", "--emit", "cuda", "--target", "cuda"]) == 0
    assert "__global__" in capsys.readouterr().out


# Compilers --------------------------------------------------------------------------------------

KERNEL = 'extern "C" __global__ void twice(long long *x) { x[threadIdx.x] *= 2; }'


def compilers() -> list[Any]:
    library, nvcc = nvrtc.library_path(), shutil.which("nvcc")
    return [pytest.param(compiler.Compiler(name, Path(path or "")),
                         marks=pytest.mark.skipif(not path, reason=f"there is no {name}"), id=name)
            for name, path in (("NVRTC", library), ("nvcc", nvcc))]


COMPILERS = pytest.mark.parametrize("used", compilers())


@COMPILERS
def test_kernels_become_machine_code_once(used: compiler.Compiler, monkeypatch: pytest.MonkeyPatch,
                                          tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiler, "found", lambda: used)
    codes = [compiler.compiled(KERNEL, architecture) for architecture in ("sm_80", "sm_90")]
    assert all(code.startswith(b"\x7fELF") and b"twice" in code for code in codes) and codes[0] != codes[1]
    monkeypatch.setattr(compiler, "build", None)
    assert codes == [compiler.compiled(KERNEL, architecture) for architecture in ("sm_80", "sm_90")]


@COMPILERS
def test_what_compilers_refuse(used: compiler.Compiler) -> None:
    with pytest.raises(Unsupported, match=r"7.0 or more: sm_60 is too old"):
        compiler.build(used, KERNEL, "sm_60")
    with pytest.raises(Unsupported, match=r"compiles nothing for GPUs that are sm_95") as refused:
        compiler.build(used, KERNEL, "sm_95")
    assert "name one of sm_" in refused.value.hint and "sm_90" in refused.value.hint
    with pytest.raises(InternalError, match=r"(?s)refuses the kernels: .*y.* is undefined"):
        compiler.build(used, KERNEL.replace("2", "y"), "sm_90")


# PyCUDA -----------------------------------------------------------------------------------------


def pip(*words: str, **variables: str) -> None:
    done = finished([sys.executable, "-m", "pip", *words, "-q", "--no-deps"], seconds=1200,
                    env={**os.environ, **variables})
    if done.returncode != 0:
        pytest.skip(f"pip {words[0]} {words[-1]} fails: {done.stderr[-1000:]}")


@pytest.fixture(scope="module")
def pycuda(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables with which Python finds PyCUDA, and a driver library; compiled once, then kept."""
    work = tmp_path_factory.mktemp("pycuda")
    library = fake_driver(work, "-Wl,-soname,libcuda.so.1")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    wheels = base / "nessie-tests" / f"{PYCUDA}-{sys.implementation.cache_tag}-{platform.machine()}"
    if not list(wheels.glob("pycuda-*.whl")):
        build_pycuda(work, library, wheels)
    site = work / "site"
    pip("install", "--no-index", "--target", str(site), *map(str, wheels.glob("*.whl")))
    return {"PYTHONPATH": os.pathsep.join([str(site), PYTHONPATH, *sys.path[1:]]),
            "LD_LIBRARY_PATH": str(work), "XDG_CACHE_HOME": str(work / "cache")}


def build_pycuda(work: Path, library: Path, wheels: Path) -> None:
    (work / "libcuda.so").symlink_to(library)
    nvcc = shutil.which("nvcc")
    include = Path(nvcc).resolve().parent.parent / "include" if nvcc else work
    if not (include / "cuda.h").is_file():
        pip("install", "--target", str(work / "headers"), *HEADERS)
        include = next((work / "headers").rglob("cuda.h")).parent
    pip("download", "--no-binary", "pycuda", "-d", str(work), PYCUDA)
    with tarfile.open(next(work.glob("pycuda-*.tar.gz"))) as archive:
        archive.extractall(work)
    (sources,) = (path for path in work.glob("pycuda-*") if path.is_dir())
    (sources / "siteconf.py").write_text(SITECONF.format(include=str(include), library=str(work)))
    pip("wheel", "-w", str(wheels), *NEEDS)
    pip("wheel", "-w", str(wheels), str(sources), LDFLAGS=LDFLAGS)


@LINUX
@CXX
@pytest.mark.nightly
def test_pycuda_on_a_fake_driver(pycuda: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, sorted(FAKE.glob("run_*.py")))]
    done = finished(command, seconds=1200, env={**os.environ, **pycuda, "PYTEST_ADDOPTS": ""})
    assert done.returncode == 0, done.stdout + done.stderr
