"""Kernels as machine code: all compile for every architecture, without a warning and without spills; what tells so."""
from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from built import gpu_code
from cuda_programs import EXAMPLES, PROGRAMS, built, skeletons
from processes import finished

from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.nvidia import compiler, detection, nvrtc
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.cuda.nvidia.usage import TITLES, Usage, table, unmangled, usages_in
from nessie.cudagen.cuda.operators import HELPERS
from nessie.tool.cli import main

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
ROLLED = "irregular_segmented_partition"
QUICK = ("dotp", "fusion/scan_then_pack", "norm2", "sparse_mxv")
MOST_SHARED = 48 << 10          # bytes that a block may have on every GPU, unless it asks for more
NVRTC = pytest.mark.skipif(not nvrtc.library_path(), reason="there is no NVRTC (pip install nvidia-cuda-nvrtc)")
made = cache(built)


def cases() -> list[object]:
    """Each program for each architecture in nightly tests; else a third of them for one each, in turn."""
    others = [name for name in PROGRAMS if name not in QUICK]
    found = []
    for at, name in enumerate([*QUICK, *others]):
        for architecture in ARCHITECTURES:
            marks = [pytest.mark.sampled(quick=0, ci=3)] if name in others else []
            if architecture != ARCHITECTURES[at % len(ARCHITECTURES)]:
                marks.append(pytest.mark.nightly)
            found.append(pytest.param(name, architecture, marks=marks))
    return found


def kernels_of(program: GpuProgram) -> set[str]:
    return set(re.findall(r'^extern "C" __global__[^\n]* void (\w+)\(', program.text, re.MULTILINE))


@NVRTC
@pytest.mark.parametrize("name, architecture", cases())
def test_all_kernels_compile_and_none_spills(name: str, architecture: str) -> None:
    for one in {one.built.text: one for one in made(name)}.values():
        found = assembled(one.built.text, architecture)
        assert found.warnings == (), one.schedule
        assert {u.function for u in found.usages if u.registers is not None} == kernels_of(one.built) != set()
        for usage in found.usages:
            assert (usage.spill_stores, usage.spill_loads, usage.stack) == (0, 0, 0), (one.schedule, usage)
            assert usage.shared <= MOST_SHARED


@NVRTC
def test_what_some_skeletons_take() -> None:
    """They are among the programs; here, that there is something to see."""
    names = ("map", "scan", "order", "irregular_segmented_filter")
    program = skeletons()
    few = gpu_code(replace(program, kernels=tuple(k for k in program.kernels if k.name in names)))
    usages = {usage.function: usage for usage in assembled(few.text, "sm_90").usages}
    sweeps = [usages[f"{name}_sweep"] for name in ("map", "scan", "irregular_segmented_filter")]
    assert sweeps[0].shared == 0 < sweeps[1].shared < usages["order_pass"].shared
    assert 8 <= (sweeps[0].registers or 0) < (sweeps[2].registers or 0) <= 255


@NVRTC
def test_of_what_would_spill_loops_are_not_unrolled() -> None:
    """Within its bounds this one would spill; as the compiler leaves it, it keeps to them, and spills nothing."""
    text = gpu_code(replace(skeletons(), kernels=tuple(k for k in skeletons().kernels if k.name == ROLLED))).text
    (usage,) = [u for u in assembled(text, "sm_90").usages if u.function == f"{ROLLED}_sweep"]
    assert (usage.registers or 0) <= 64 and usage.spill_stores == usage.spill_loads == 0
    options = ("--gpu-architecture=sm_90", *compiler.FLAGS, compiler.VERBOSE)
    library = nvrtc.library_path()
    assert library is not None
    _, log = compiler.by_nvrtc(library, text, options)
    assert [u.spill_stores > 0 for u in usages_in(log) if u.function == f"{ROLLED}_sweep"] == [True]


def test_what_is_rolled() -> None:
    """Loops of the functions that are named, but for those whose number of rounds is known."""
    text = '''extern "C" __global__ __launch_bounds__(256, 4) void first(long long n) {
  for (long long turn = 0; turn < 8; turn += 1) {
    while (n > 0) {
    }
  }
}

extern "C" __global__ void second(long long n) {
  for (long long i = 0, i_end = n - 1; i < i_end; i += 1) {
  }
}
'''
    first = text.replace("    while", "    #pragma unroll 1\n    while")
    assert compiler.rolled(text, {"first"}) == first
    second = text.replace("  for (long long i ", "  #pragma unroll 1\n  for (long long i ")
    assert compiler.rolled(text, {"second"}) == second and compiler.rolled(text, ()) == text


ACCESS = re.compile(r"(?:^\s*(?:@\S+ )?|; )((?:ld|st|atom|red)\.(?!param)[\w.]+)", re.MULTILINE)
SPACES = {"global", "shared", "local", "const"}


@NVRTC
def test_what_tiles_publish_is_stored_before_they_say_so() -> None:
    """And loaded after they have said so, in the order of PTX, of which the accesses are looked at."""
    name = "irregular_segmented_scan"           # which carries several components
    orders = ACCESS.findall(assembly(alone(name), f"{name}_sweep", "compute_80"))
    releases = [at for at, order in enumerate(orders) if order.startswith("st.release")]
    acquires = [at for at, order in enumerate(orders) if order.startswith("ld.acquire")]
    assert len(releases) == 4 and len(acquires) == 2
    assert all(orders[at - 1].startswith("st.global") for at in releases)
    assert all(orders[at - 1].startswith("ld.relaxed") and orders[at + 1].startswith("ld.volatile") for at in acquires)


@NVRTC
@pytest.mark.parametrize("name, stores", [("scan", 3), ("filter", 3), ("irregular_row_sums", 4)])
def test_descriptors_are_stored_and_loaded_at_once(name: str, stores: int) -> None:
    """A status and its value are one access of 16 bytes, and nothing else is ordered by them."""
    orders = ACCESS.findall(assembly(alone(name), f"{name}_sweep", "compute_80"))
    assert orders.count("st.relaxed.gpu.global.b128") == stores and orders.count("ld.relaxed.gpu.global.b128") == 2
    others = [order for order in orders if order.startswith(("ld.", "st.")) and not order.endswith(".b128")]
    assert [order for order in others if {"relaxed", "release", "acquire", "volatile"} & set(order.split("."))] == []


NEWER = "__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203"


@pytest.mark.skipif(not cudasim.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("major, minor, form", [(11, 8, "v2.s64"), (12, 2, "v2.s64"), (12, 3, "b128"), (13, 0, "b128")])
def test_assemblers_are_told_what_they_know(major: int, minor: int, form: str) -> None:
    """Those before that of CUDA 12.3 know no accesses of 128 bits."""
    defined = ["__CUDACC__", f"__CUDACC_VER_MAJOR__={major}", f"__CUDACC_VER_MINOR__={minor}"]
    command = [str(cudasim.found()), "-E", "-P", "-x", "c++", *[f"-D{one}" for one in defined], "-"]
    text = finished(command, input=f"{HELPERS['load_pair']}\n{HELPERS['store_pair']}\n", check=True).stdout
    found = [order for order in ACCESS.findall(text.replace("asm volatile(\"", "; ")) if "relaxed" in order]
    assert found == [f"ld.relaxed.gpu.global.{form}", f"st.relaxed.gpu.global.{form}"]


@NVRTC
@pytest.mark.parametrize("architecture", ["compute_80", "sm_75", "sm_90"])
@pytest.mark.parametrize("name, stores", [("scan", 3), ("filter", 3), ("irregular_row_sums", 4)])
def test_the_older_form_is_assembled_too(name: str, stores: int, architecture: str) -> None:
    text = alone(name)
    assert text.count(NEWER) == 2
    made = assembled(text.replace(NEWER, "0"), architecture)
    assert made.warnings == ()
    if architecture.startswith(compiler.VIRTUAL):
        orders = ACCESS.findall(made.code.decode())
        assert not [order for order in orders if order.endswith(".b128")]
        assert [orders.count(f"{kind}.relaxed.gpu.global.v2.s64") for kind in ("st", "ld")] == [stores, 2]


@NVRTC
@pytest.mark.parametrize("architecture", ["compute_75", "compute_80", "compute_90"])
@pytest.mark.parametrize("name, sweep", [("scan", "scan_sweep"), ("irregular_row_sums", "irregular_row_sums_sweep"),
                                         ("permute_max_of_other_types", "permute_max_of_other_types_sweep")])
def test_accesses_say_where_the_memory_is(name: str, sweep: str, architecture: str) -> None:
    """A GPU need not find out whether a pointer is of memory of all blocks or of one."""
    orders = ACCESS.findall(assembly(alone(name), sweep, architecture))
    ordered = [order for order in orders if order.split(".")[1] in ("acquire", "release", "relaxed")]
    assert len(ordered) >= 2 and len(orders) > len(ordered)
    assert [order for order in orders if not SPACES & set(order.split("."))] == []
    assert all("global" in order.split(".") for order in ordered)


def alone(name: str) -> str:
    """The text of a skeleton's kernel."""
    program = skeletons()
    return gpu_code(replace(program, kernels=tuple(k for k in program.kernels if k.name == name))).text


def assembly(text: str, kernel: str, architecture: str) -> str:
    """The kernel in PTX."""
    path = nvrtc.library_path()
    assert path is not None
    library, program = nvrtc.Nvrtc(path), ctypes.c_void_p()
    options = [option.encode() for option in (f"--gpu-architecture={architecture}", *compiler.FLAGS)]
    library.do("CreateProgram", ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    library.do("CompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
    found = library.content(program, "PTX").decode().split(f".entry {kernel}(")[1]
    library.library.nvrtcDestroyProgram(ctypes.byref(program))
    return found.split(".entry ")[0]


# What tells so --------------------------------------------------------------------------------------

PLANTED = """
extern "C" __global__ void __launch_bounds__(1024) spilling(const double *xs, double *ys) {
  double kept[90];
#pragma unroll
  for (int i = 0; i < 90; i++) kept[i] = xs[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 90; i++) ys[i * 1024 + threadIdx.x] = kept[89 - i] * kept[i];
}
extern "C" __global__ void sharing(double *xs) {
  __shared__ double tile[100];
  const int unread = 4;
  tile[threadIdx.x % 100] = xs[threadIdx.x];
  __syncthreads();
  xs[threadIdx.x] = tile[99 - threadIdx.x % 100];
}
static __device__ __noinline__ double chosen(double x, int n) {
  volatile double many[40];
  for (int i = 0; i < 40; i++) many[i] = x * i;
  return many[n];
}
extern "C" __global__ void calling(double *xs, int n) { xs[n] = chosen(xs[0], n); }
"""


@NVRTC
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_planted_is_seen(architecture: str) -> None:
    found = assembled(PLANTED, architecture)
    (warning,) = found.warnings
    assert "unread" in warning and found.code.startswith(b"\x7fELF")
    usages = {usage.function: usage for usage in found.usages}
    assert set(usages) == {"spilling", "sharing", "chosen", "calling"}
    assert usages["spilling"].registers == 64 and usages["spilling"].spill_stores >= 100
    assert min(usages["spilling"].spill_loads, usages["spilling"].stack) >= 100
    assert usages["sharing"] == Usage("sharing", usages["sharing"].registers, 0, 0, 800, 0)
    assert usages["chosen"].registers is None and usages["calling"].stack >= 320


LOGS = {
    "ptxas info    : 0 bytes gmem\n"                                                            # CUDA 13, by NVRTC
    "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
    "ptxas info    : Function properties for k\n"
    "ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Used 14 registers, used 1 barriers, 24 bytes cumulative stack size, 800 bytes smem\n": 24,
    "ptxas info    : Compiling entry function 'k' for 'sm_75'\n"                                # CUDA 11, by nvcc
    "ptxas info    : Function properties for k\n"
    "    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Used 14 registers, 800 bytes smem, 364 bytes cmem[0]\n": 16,
}


@pytest.mark.parametrize("log", LOGS)
def test_logs_of_several_versions(log: str) -> None:
    assert usages_in(log) == (Usage("k", 14, 4, 8, 800, LOGS[log]),)
    assert usages_in("") == ()


@pytest.mark.parametrize("name", ["_Z6chosendi", "_ZN41_INTERNAL_00000000_10_kernels_cu_spilling6chosenEdi", "chosen"])
def test_names_of_functions(name: str) -> None:
    assert unmangled(name) == "chosen"


def test_the_table() -> None:
    rows = [TITLES, Usage("K1_sweep", 32, 0, 0, 80, 0).cells, Usage("f", None, 4, 8, 0, 16).cells]
    assert table(rows) == ("kernel    registers  spill stores  spill loads  shared  stack\n"
                           "K1_sweep         32             0            0      80      0\n"
                           "f                 -             4            8       0     16\n")


# nessie compile --emit cubin ------------------------------------------------------------------------

COMPILE = ["compile", str(EXAMPLES / "norm2.nesl"), "-e", "norm2", "-t", "[float]", "--emit", "cubin"]


@NVRTC
def test_cubins_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMPILE, "--arch", "sm_90", "-o", str(tmp_path / "code")]) == 0
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    assert lines[0][0] == "kernel" and all(line[0].startswith("K") and int(line[1]) > 0 for line in lines[1:])
    written = sorted((tmp_path / "code").iterdir())
    assert len(written) >= 2 and all(re.fullmatch(r"norm2_K\d+\.cubin", path.name) for path in written)
    assert all(path.read_bytes().startswith(b"\x7fELF") for path in written)
    for name, *_ in lines[1:]:
        (path,) = (path for path in written if f"_{name.split('_')[0]}." in path.name)
        assert name.encode() in path.read_bytes()
    assert main([*COMPILE, "--arch", "sm_90"]) == 0
    assert capsys.readouterr().out == told


@NVRTC
def test_cubins_are_for_the_gpu_that_is_here(monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []
    real = compiler.build_verbosely
    monkeypatch.setattr(compiler, "build_verbosely", lambda *given: asked.append(given[2]) or real(*given))
    monkeypatch.setattr(detection, "devices", lambda: [detection.Gpu("some GPU", (8, 6))])
    assert main(COMPILE) == 0
    assert set(asked) == {"sm_86"} and "K1" in capsys.readouterr().out


@NVRTC
@pytest.mark.parametrize("architecture, told", [
    ("sm_60", "kernels need a GPU of compute capability 7.0 or more: sm_60 is too old"),
    ("sm_95", "compiles nothing for GPUs that are sm_95"),
])
def test_architectures_that_there_is_no_code_for(architecture: str, told: str,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    """Others are named, and those do."""
    assert main([*COMPILE, "--arch", architecture]) == 1
    error = capsys.readouterr().err
    assert told in error and "hint: name one of sm_" in error
    named = re.findall(r"sm_\d+", error.partition("hint: ")[2])
    assert {"sm_80", "sm_90"} <= set(named) and not {"sm_50", "sm_60", architecture} & set(named)
    assert main([*COMPILE, "--arch", named[0]]) == main([*COMPILE, "--arch", named[-1]]) == 0


@NVRTC
def test_ptx_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMPILE, "--arch", "compute_80", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out == \
        "PTX, which -o DIR writes: what kernels take is decided by the driver that compiles it\n"
    written = sorted(tmp_path.iterdir())
    assert len(written) >= 2 and all(re.fullmatch(r"norm2_K\d+\.ptx", path.name) for path in written)
    for path in written:
        text = path.read_text("utf-8")
        assert text.endswith("}\n\n") and ".target sm_80" in text and ".visible .entry K" in text
        assert not re.search(r"\bfma\.\S*f64", text)        # a product is rounded before it is added to


@NVRTC
def test_ptx_of_one_kernel_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    """That of several is not one program."""
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text("function twice(v) : [float] -> [float] = {2.0 * x : x in v};")
    assert main(["compile", "p.nesl", "-e", "twice", "--emit", "cubin", "--arch", "compute_80", "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert ".target sm_80" in text and text.count(".version") == 1 and "\0" not in text
    assert main([*COMPILE, "--arch", "compute_80", "-o", "-"]) == 2
    assert "there is a cubin for each kernel" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["p.nesl"]


def test_cuda_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    command = [*COMPILE[:-1], "cuda"]
    assert main([*command, "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert main(command) == 0
    assert text == capsys.readouterr().out and "__global__" in text and not list(tmp_path.iterdir())


@NVRTC
def test_a_gpu_newer_than_the_compiler_gets_ptx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    """The newest that is known, for the driver to compile; of the rest nothing changes."""
    there = compiler.found()
    assert there is not None
    newest = max(map(compiler.number, compiler.architectures(there)))
    text = 'extern "C" __global__ void k(double *a) { a[threadIdx.x] += 1.0; }'
    assert f".target sm_{newest}".encode() in compiler.compiled(text, "sm_999")
    assert compiler.compiled(text, f"sm_{newest}").startswith(b"\x7fELF")
    monkeypatch.setattr(detection, "devices", lambda: [detection.Gpu("a newer GPU", (99, 9))])
    assert main([*COMPILE, "-o", str(tmp_path)]) == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".ptx"} and capsys.readouterr().out.startswith("PTX")


def test_the_nearest_architecture() -> None:
    known = ["sm_80", "sm_90", "sm_100"]
    assert [compiler.nearest(name, known) for name in ("sm_90", "sm_95", "sm_100", "sm_120", "compute_90")] == [
        "sm_90", "sm_95", "sm_100", "compute_100", "compute_90"]
    assert compiler.nearest("sm_120", []) == "sm_120"


@pytest.mark.parametrize("words, status, told", [
    ([], 2, "which GPU is the code to be for? There is none here\nhint: name its architecture, as in --arch sm_90"),
    (["--arch", "volta"], 2, "volta is not an architecture, such as sm_90"),
    (["--arch", "sm_90", "--target", "cpu"], 2, "cubin is code of the target cuda or cudasim, not of cpu"),
    (["--arch", "sm_90", "-o", "-"], 2, "-: there is a cubin for each kernel\nhint: name the folder for them with -o; "
                                        "--arch compute_90 prints the PTX of a program of one kernel"),
    (["-o", "-"], 2, "-: there is a cubin for each kernel"),
    (["--emit", "ptx"], 2, "PTX is --emit cubin --arch compute_90"),
    (["--arch", "sm_10"], 1, "there is neither NVRTC nor nvcc to compile kernels\nhint: pip install"),
    (["--emit", "cuda", "--arch", "sm_90"], 2, "--arch is for --emit cubin"),
])
def test_cubins_that_are_not_made(words: list[str], status: int, told: str, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(detection, "devices", lambda: [])
    monkeypatch.setattr(compiler, "found", lambda: None)
    assert main([*COMPILE, *words]) == status
    assert told in capsys.readouterr().err
