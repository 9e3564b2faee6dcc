"""Mappings of rows whose lengths are straight lines: each row is as long as the longest, and guarded."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import cpu_device, execute, gpu_code, gpu_device
from kernel_runs import Meaning, program_of
from test_gpu import launch
from test_mapped import compiled, content

from nessie.base.source import NessieError
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host import host
from nessie.lambda_cu.mappings.certificate import mistake
from nessie.lambda_cu.mappings.kernels import walks_of
from nessie.lambda_cu.reference.reference import execute as execute_reference
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.tool.cli import main

MAPPINGS = ("GridBlock(1, Hull(Gen))", "GridBlock(1, SplitLast(4, Hull(Gen)))", "GridBlock(2, Hull(Gen))",
            "GridBlock(1, SplitLast(32, FoldLast2(ShiftLB(Hull(Gen)))))", "GridBlock(1, Permute([1, 0], Hull(Gen)))",
            "Levels([grid, serial], Hull(Gen))", "Levels([block, serial], Permute([1, 0], Hull(Gen)))",
            "GridBlock(2, Permute([0, 2, 1, 3], Split(0, 8, SplitLast(4, Hull(Gen)))))")
SHAPES = {                      # rows, the element of row i, as a NESL expression of n and i
    "lower triangle": "i + 1", "strict": "i", "upper triangle": "n - i", "band": "min(n, i + 3) - max(0, i - 2)",
    "peak": "min(i, n - i)", "valley": "max(i, n - i)", "constant": "min(4, i + 9)", "steep": "max(3, 2 * i - 9)",
    "named": "min(i + m, n + m)"}
SIZES = (0, 1, 2, 5, 17, 19)


def text_of(length: str) -> str:
    return f"function main(n, m) : (int, int) -> [[int]] = {{{{i * 100 + j : j in [0:{length}]}} : i in [0:n]}};"


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.sampled(quick=10, ci=2)
@pytest.mark.parametrize(("shape", "mapping"), [(shape, mapping) for shape in SHAPES for mapping in MAPPINGS])
def test_hulls_change_no_value(shape: str, mapping: str) -> None:
    text = text_of(SHAPES[shape])
    program, plain = compiled(text, "cudasim", mapping), compiled(text, "cpu")
    (kernel,) = [kernel for kernel in program.kernels if kernel.by is not None]
    [walk] = walks_of(kernel)
    assert walk is not None
    built, cpu = gpu_code(program), cpu_device(plain)
    for seed, n in enumerate(SIZES):
        expected = content(execute_reference(plain, [n, 3]))
        found = [execute_reference(program, [n, 3]), execute(plain, [n, 3], cpu),
                 host.execute(built.program, built.host, [n, 3], gpu_device(built, Cudasim(2, seed)))]
        for value in found:
            assert np.array_equal(content(value), expected), n


SPACES = [("(2, 3)", 9, 126), ("(40, -1)", 20, 610), ("(5, -1) + (7, 2) from 4", 6, 47), ("(3)", 4, 12),
          ("(0, 5)", 0, 0)]
KERNELS = {
    "read and written": """kernel K (n : int, t : int, xs : [int; t]) -> ([int; t], [int; t], int) by MAPPING {
      let ys = SEG_MAP { (s, j, i) => xs[i] * 100 + s * 10 + j using xs } closed(n, SPACE, t)
      let zs = MAP { i => ys[i] + i using ys } (t)
      let a = REDUCE { i => xs[i] using xs } (0) { (p, q) => p + q } (t)
      return (ys, zs, a)
    }""",
    "failing": """kernel K (n : int, t : int, xs : [int; t]) -> [int; t] by MAPPING {
      let ys = SEG_MAP { (s, j, i) => if xs[i] > 0 then s else if j > 1 then fail s1 : int else fail s2 : int
        using xs } closed(n, SPACE, t)
      return ys
    }""",
}


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.sampled(quick=6, ci=2)
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_do_what_their_bindings_do(name: str, mapping: str) -> None:
    for seed, (space, n, total) in enumerate(SPACES):
        kernel = parse_kernel(KERNELS[name].replace("MAPPING", mapping).replace("SPACE", space))
        given: list[Any] = [n, total, (np.arange(total) * 7 % 11).astype(np.int64) + (name != "failing")]
        meaning = Meaning(kernel, given)
        results, failed = launch(gpu_device(gpu_code(program_of(kernel)), Cudasim(2, seed)), "K", given)
        assert failed == meaning.failed
        assert failed < 2**63 - 1 or results == meaning.results


# What may not be ------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [space for space, _, _ in SPACES])
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_each_index_is_walked_once(space: str, mapping: str) -> None:
    kernel = parse_kernel(KERNELS["failing"].replace("MAPPING", mapping).replace("SPACE", space))
    [found] = walks_of(kernel)
    assert found is not None
    for n in range(8):
        assert mistake(found.mapped, found.mapped.stages[0], {"n": n}) == ""


@pytest.mark.parametrize(("length", "mapping", "says"), [
    ("i + 1", "GridBlock(1, Gen)", "takes axes of one length, and axis 1 has 1 + i0: Hull first"),
    ("i + 1", "GridBlock(1, SplitLast(32, Gen))", "SplitLast takes axes of one length"),
    ("i + 1", "FoldAll", "strategies take axes of one length: write GridBlock(..., Hull(Gen))"),
    ("i + 1", "auto", "strategies take axes of one length: write GridBlock(..., Hull(Gen))"),
    ("i * i + 1", "GridBlock(1, Hull(Gen))", "the lengths of its rows are no straight lines"),
    ("i / 2", "GridBlock(1, Hull(Gen))", "the lengths of its rows are no straight lines")])
def test_lengths_that_are_not_mapped(length: str, mapping: str, says: str) -> None:
    with pytest.raises(NessieError) as found:
        compiled(text_of(length), "cudasim", mapping)
    assert says in found.value.message


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_a_hull_that_no_gpu_takes() -> None:
    text = text_of("i + 1")
    built = gpu_code(compiled(text, "cudasim", "GridBlock(1, Hull(Gen))"))
    with pytest.raises(NessieError, match=r"block.x is 1,025, and at most 1,024: split the axis"):
        host.execute(built.program, built.host, [1025, 3], gpu_device(built, Cudasim(1, 0)))


def test_explanations_tell_idle_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.nesl"
    path.write_text(text_of("i + 1"))
    assert main(["explain", str(path), "-e", "main", "--target", "cuda", "-t", "(int, int)", "--map",
                 "main=GridBlock(1, SplitLast(32, Hull(Gen)))"]) == 0
    told = capsys.readouterr().out
    assert "threads without an index: (max(max(1, 1 + (" in told and "an index is found by no division" in told
