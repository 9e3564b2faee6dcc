"""docs/errata.md on HiDP, Ikra and SaC's thread spaces: printed tables, listings and index maps against walking all
indices, and what Nessie has instead."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from built import execute, gpu_device
from executors import Compiled
from printed import CXX, complaint, everywhere, fused, kernel, values

import nessie
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host import host
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.cuda import blocks as cuda_blocks
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.pipeline import Job, pass_named
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.explain import explain
from nessie.syntax.parser import parse_type

Index = tuple[int, ...]


class Watched(Cudasim):
    """Keeps how many blocks and threads each launch has."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[Index] = []

    def launch(self, function: tuple[str, Any], blocks: int, arguments: bytes, threads: int = THREADS) -> None:
        self.launches.append((blocks, threads))
        super().launch(function, blocks, arguments, threads)


def on_gpu(source: str, *arguments: Any) -> tuple[Any, list[Index]]:
    """The value, and the launches."""
    program, driver = Compiled(source), Watched()
    types, type_ = program.signature
    flat = [flatten_value(value, of) for value, of in zip(arguments, types, strict=True)]
    limits = host.HostLimits(99, 1 << 30)
    found = run_deep(lambda: execute(program.flat, flat, gpu_device(program.flat, driver), limits))
    return plain_value(found, type_), driver.launches


# HiDP ---------------------------------------------------------------------------------------------


def test_subwarps_of_a_subwarp() -> None:
    lanes = {"warp": 32, "sub-warp": 8, "sub-warp2": 4, "thread": 1}
    printed = {("sub-warp", "warp"): 4, ("sub-warp2", "warp"): 8, ("thread", "warp"): 32, ("sub-warp2", "sub-warp"): 4,
               ("thread", "sub-warp"): 8, ("thread", "sub-warp2"): 4}
    right = {(low, high): lanes[high] // lanes[low] for low, high in printed}

    def consistent(table: dict[tuple[str, str], int]) -> bool:
        """a's in c are a's in b times b's in c."""
        return all(table[a, c] == table[a, b] * table[b, c] for (a, b), (d, c) in itertools.product(table, table)
                   if b == d and (a, c) in table)

    assert not consistent(printed)
    assert consistent(right)
    assert [entry for entry in right if right[entry] != printed[entry]] == [("sub-warp2", "sub-warp")]
    assert cuda_blocks.WARP * cuda_blocks.WARPS == THREADS


def test_names_of_gemm() -> None:
    matrices = {"A": [[1, 2], [3, 4]], "B": [[5], [6]]}
    with pytest.raises(NameError, match="'a'"):
        eval("a[m][k] * b[k][n]", {**matrices, "m": 0, "n": 0, "k": 0})
    product = [[sum(eval("A[m][k] * B[k][n]", {**matrices, "m": m, "n": n, "k": k}) for k in range(2))
                for n in range(1)] for m in range(2)]
    program = "function main(A, B) : ([[int]], [[int]]) -> [[int]] = {{{{sum({{x * y : x in {0}; y in c}}) : " \
              "c in transpose(B)}} : r in A}};"
    assert everywhere(program.format("r"), *matrices.values()) == product
    with pytest.raises(NessieError, match="row"):
        everywhere(program.format("row"), *matrices.values())


def inclusive(text: str) -> range:
    """HiDP's map iterator: brackets include their bound, parentheses do not."""
    low, high = map(int, text[1:-1].split(":"))
    return range(low + (text[0] == "("), high + (text[-1] == "]"))


def test_shapes_include_their_bound() -> None:
    degree = 3 * 4 * 5
    assert math.prod(len(inclusive(f"[0:{n}]")) for n in (3, 4, 5)) != degree
    assert math.prod(len(inclusive(f"[0:{n})")) for n in (3, 4, 5)) == degree
    assert len(everywhere("function main(m, n) = flatten({{[0:5] : j in [0:n]} : i in [0:m]});", 3, 4)) * 5 == degree


def test_loop_over_an_inclusive_range() -> None:
    def template(start: int, end: int, threads: int) -> list[int]:
        return sorted(index for level in range(threads) for index in range(start + level, end, threads))

    cells = 8                                                        # i := [1:I-2], as Himeno's
    inner = [i for i in range(cells) if 0 < i < cells - 1]
    assert list(inclusive(f"[1:{cells - 2}]")) == inner
    assert template(1, cells - 2, 3) == inner[:-1]
    assert template(1, cells - 1, 3) == inner == everywhere("function main(n) = [1:n - 1];", cells)


def test_flags_of_segments() -> None:
    def flags(rows: Sequence[Sequence[int]]) -> list[bool]:
        return [j == 0 for row in rows for j, _ in enumerate(row)]

    rows, others = [[1], [], [2]], [[1], [2]]
    assert flags(rows) == flags(others)
    program = "function main(m) : [[int]] -> [int] = {sum(r) : r in m};"
    assert (everywhere(program, rows), everywhere(program, others)) == ([1, 0, 2], [1, 2])


def test_equal_shapes_are_not_enough() -> None:
    """B = A + 1; C[i] = B[n-1-i], of one shape: fused as statements of one iterator, C reads what is not there yet."""
    given, b = [1, 2, 3], [0, 0, 0]
    fused_c = []
    for i, a in enumerate(given):
        b[i] = a + 1
        fused_c.append(b[len(b) - 1 - i])
    right = [a + 1 for a in reversed(given)]
    assert fused_c != right
    text = "function main(a) : [float] -> ([float], [float]) = " \
           "let b = {exp(x) : x in a}; c = {b[#b - 1 - i] + 0.5 : i in [0:#b]} in (b, c);"
    job = Job(entry="main", argument=parse_type(Source("type", "[float]")))
    graphs = run_deep(lambda: compile_program(job, TEXT, Source("shapes", text), pass_named("graph")))
    [pair] = [pair for region in explain.explain(graphs, CPU).regions for pair in region.pairs
              if {pair.first, pair.second} == {"b", "c"}]
    assert pair.reason == "gather"
    assert everywhere("function main(a) = let b = {x + 1 : x in a} in {b[#b - 1 - i] : i in [0:#b]};", given) == right


@CXX
def test_kernel_of_gemm_by_warps() -> None:
    text = """struct three {{ int x, y, z; }} threadIdx;
    float fetchA(int, int), fetchB(int, int);
    float gemm_warp(int m, int n, int K, int WARP_SIZE) {{
      int warpIndex = threadIdx.x & 0x1F;
      float s = 0.0f;
      for ({0}k = 0 + {1}; k < K; k += WARP_SIZE) s += fetchA(m, k) * fetchB(k, n);
      return s;
    }}"""
    assert "warpIndex" in complaint(text.format("int ", "warpIndex.x"))
    assert "'k'" in complaint(text.format("", "warpIndex"))
    assert not complaint(text.format("int ", "warpIndex"))


@CXX
def test_threads_beyond_the_matrix() -> None:
    m, n, warps = 2, 5, 4                                            # the version by warps; its grid must cover n
    threads = [(x, y * warps + w) for x in range(m) for y in range(-(-n // warps)) for w in range(warps)]
    written = [(x, y) for x, y in threads if y < n]
    assert set(threads) > set(written) == set(itertools.product(range(m), range(n)))
    value, launches = on_gpu("function main(v) = {x * 2 : x in v};", list(range(300)))
    assert math.prod(launches[0]) > 300
    assert value == [2 * x for x in range(300)]


@CXX
def test_degrees_of_parallelism() -> None:
    text = """#include <vector>
    bool few(int M, int N, int TUNING_0) {{
      std::vector<int> degree_0; degree_0.push_back(M); degree_0.push_back(N);
      return {0} < TUNING_0;
    }}"""
    assert "vector" in complaint(text.format("degree_0"))
    assert not complaint(text.format("degree_0[0] * degree_0[1]"))
    few, many = [17, 1], [16, 4096]
    assert many < few                                                # vectors compare by their first difference
    assert math.prod(few) < math.prod(many)


def test_factors_of_gemm() -> None:
    alpha, beta, a, b, c = 2, 3, 5, 7, 11
    printed = alpha * c + beta * a * b
    program = """function main(alpha, beta, a, b, c) : (int, int, [int], [int], [int]) -> [int] =
      {alpha * x * y + beta * z : x in a; y in b; z in c};"""
    assert everywhere(program, alpha, beta, [a], [b], [c]) == [alpha * a * b + beta * c] != [printed]


def test_arrays_of_himeno() -> None:
    """The three terms with a0, a1 and a2 at one place."""
    program = "function main({0}, p) : (int, int, int, [int]) -> int = a0 * p[0] + a1 * p[1] + a2 * p[2];"
    with pytest.raises(NessieError, match="a2"):
        everywhere(program.format("a0, a1, a3"), 1, 2, 3, [4, 5, 6])
    assert everywhere(program.format("a0, a1, a2"), 1, 2, 3, [4, 5, 6]) == 1 * 4 + 2 * 5 + 3 * 6


# Ikra ---------------------------------------------------------------------------------------------


def test_two_maps_fused() -> None:
    def f(i: int) -> int:
        return i + 1

    def g(i: int) -> int:
        return i + 2

    given = [10, 20]
    right = list(map(g, map(f, given)))
    assert list(map(g, given)) != right                              # the fused listing maps g
    one = fused(kernel("""let a = MAP { i => xs[i] + 1 using xs } (n)
                          let b = MAP { i => a[i] + 2 using a } (n)""", "b"))
    assert len(one.binds) == 1
    assert values(one, 2, given) == [right]


def test_map_fused_into_a_stencil() -> None:
    def g(i: int) -> int:
        return i + 2

    def h(i: int, j: int, k: int) -> int:
        return i + j + k

    def stencil(xs: Sequence[int], of: Callable[[int, int, int], Any]) -> list[Any]:
        """0 where a neighbour is missing."""
        return [of(*xs[i - 1:i + 2]) if 0 < i < len(xs) - 1 else 0 for i in range(len(xs))]

    given = [1, 2, 3, 4]
    right = stencil(list(map(g, given)), h)
    assert stencil(given, lambda i, j, k: (g(i), g(j), g(k))) != right
    assert stencil(given, lambda i, j, k: h(g(i), g(j), g(k))) == right
    program = """function main(xs) = let ys = {x + 2 : x in xs}; n = #xs in
      {if i > 0 and i < n - 1 then ys[max(i - 1, 0)] + ys[i] + ys[min(i + 1, n - 1)] else 0 : i in [0:n]};"""
    assert everywhere(program, given) == right


def test_dimensions_of_an_array() -> None:
    def to_pa(array: Any, *, dimensions: Any = None) -> Any:
        return np.reshape(array, dimensions or np.shape(array))
    assert to_pa([1, 2, 3, 4], dimensions=(2, 2)).shape == (2, 2)
    with pytest.raises(TypeError, match="'dim'"):
        to_pa([1, 2, 3, 4], dim=(2, 2))             # type: ignore[call-arg]
    assert nessie.array(np.reshape([1, 2, 3, 4], (2, 2))).shape == (2, 2)


def test_a_reduction_gives_one_value() -> None:
    left, right = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
    rows = nessie.nest([list(column) for column in zip(*right)])
    product = nessie.nest(left).map(lambda row: rows.map(lambda col: row.zip(col).map(lambda p: p[0] * p[1]).sum()))
    assert product.tolist() == [[19, 22], [43, 50]]         # its elements are numbers, no arrays of one
    for total in (nessie.array([1, 2]).reduce(lambda x, y: x + y), nessie.array([1, 2]).reduce(lambda x, y: x + y, 0)):
        assert total.shape == () and total.item() == 3
        with pytest.raises(TypeError):
            total[0]


def test_select_and_prefix_sum() -> None:
    a = nessie.array([3, -1, 2])
    assert a.select(lambda x: x > 0).tolist() == [3, 2] and a.prefix_sum().tolist() == [3, 2, 4]


@nessie.host_section
def slide(arr):                                     # type: ignore[no-untyped-def]
    for _ in range(10):
        if arr.sum() % 2 == 0:                      # noqa: SIM108
            arr = arr.map(lambda i: i + 1)
        else:
            arr = arr.map(lambda i: i + 2)
        arr = arr.map(lambda i: i + 3)
    return arr


def test_kernels_of_the_host_section() -> None:
    arr2 = ["I[input]", "C3[I[arr5]]"]              # of the last of the slides on types
    arr5 = [f"{command}[{of}]" for command in ("C1", "C2") for of in arr2]
    arr7 = arr2
    computed = [*[f"reduce {of}" for of in arr2], *arr5, *arr7]
    assert len(computed) == 8
    assert len([one for one in computed if not one.startswith("I[")]) == 7
    assert slide([10, 20, 30, 40, 50, 60]).tolist() == [50, 60, 70, 80, 90, 100]
    (compiled,) = slide.kept.values()
    assert str(compiled.program.section.kernels([1])).count(" = run K") == 3


# SaC's index spaces -------------------------------------------------------------------------------


def box(upper: Iterable[int], lower: Iterable[int] | None = None) -> list[Index]:
    upper = tuple(upper)
    return list(itertools.product(*map(range, lower or [0] * len(upper), upper)))


def grid(lower: Index, upper: Index, step: Index, width: Index, relative: bool) -> list[Index]:
    """The indices of L <= iv < U with iv % T < W, or (iv - L) % T < W."""
    return [iv for iv in box(upper, lower) if all((i - low * relative) % t < w for i, low, t, w in
                                                  zip(iv, lower, step, width, strict=True))]


def test_steps_begin_at_the_lower_bound() -> None:
    shown = list(itertools.product(range(1, 6), (1, 3, 5)))                    # ShiftLB's example, on the left
    space = (1, 1), (6, 6), (1, 2), (1, 1)
    assert grid(*space, relative=False) != shown
    assert grid(*space, relative=True) == shown
    partition = list(itertools.product((1, 3, 5), (1, 2, 4, 5)))               # the seven partitions' first
    assert grid((1, 1), (6, 6), (2, 3), (1, 2), relative=False) != partition
    assert grid((1, 1), (6, 6), (2, 3), (1, 2), relative=True) == partition
    assert everywhere("function main(n) = [1:n:2];", 6) == [i for _, i in shown[:3]]


def test_shifted_back() -> None:
    space = grid((1, 1), (6, 6), (1, 2), (1, 1), relative=True)
    threads = [(i - 1, j - 1) for i, j in space]
    assert [(i - 1, j - 1) for i, j in threads] != space
    assert [(i + 1, j + 1) for i, j in threads] == space
    program = "function main(l, u) = {({(i, j) : j in [l:u:2]}) : i in [l:u]};"
    assert [pair for row in everywhere(program, 1, 6) for pair in row] == space


def test_steps_when_shifted() -> None:
    threads = [(i - 1, j - 1) for i, j in grid((1, 1), (6, 6), (1, 2), (1, 1), relative=True)]
    assert grid((0, 0), (5, 5), (2, 2), (1, 1), relative=True) != threads
    assert grid((0, 0), (5, 5), (1, 2), (1, 1), relative=True) == threads
    walked = kernel("let (a, b) = SEG_MAP { (s, j, i) => (s, 2 * j) } uniform(n, 3, t)", "(a, b)", "n : int, t : int")
    assert list(zip(*values(walked, 5, 15), strict=True)) == threads


def test_folded_space() -> None:
    shown = range(15)                                                # 0 .. 14, in three rows
    assert len(box((2, 5))) == 10 != len(shown)
    assert [i * 5 + j for i, j in box((3, 5))] == list(shown)
    walked = kernel("let (a, b) = SEG_MAP { (s, j, i) => (i / 5, rem(i, 5)) } uniform(n, 5, t)", "(a, b)",
                    "n : int, t : int")
    assert list(zip(*values(walked, 3, 15), strict=True)) == box((3, 5))


def permuted(order: Index, index: Index) -> Index:
    return tuple(index[k] for k in order)


def test_permuted_space() -> None:
    threads = {permuted((1, 0), index) for index in box((5, 7))}
    assert threads == set(box(permuted((1, 0), (5, 7)))) == set(box((7, 5))) != set(box((8, 5)))
    turned = everywhere("function main(m, n) = {{(i, j) : i in [0:m]} : j in [0:n]};", 5, 7)
    assert {(j, i) for j, row in enumerate(turned) for i, _ in enumerate(row)} == threads


def test_padding_is_of_lengths() -> None:
    lower, upper, multiple = 2, 7, 4
    padded = upper + (multiple - upper % multiple) % multiple
    assert (padded - lower) % multiple != 0                          # the upper bound alone, as PadLast is described
    assert (upper - lower + (multiple - (upper - lower) % multiple) % multiple) % multiple == 0
    assert everywhere("function main(l, u) = #[l:u];", lower, upper) == upper - lower


def test_threads_without_an_index() -> None:
    def index(thread: Index) -> int | None:
        at = thread[0] * 4 + thread[1]
        return at if at < 10 else None

    threads = box((3, 4))                                            # SplitLast(4) of 10
    found = [index(thread) for thread in threads]
    assert len(found) != 10
    assert [at for at in found if at is not None] == list(range(10))
    assert everywhere("function main(n) = {i * i : i in [0:n]};", 10) == [i * i for i in range(10)]


# SaC's compiler -----------------------------------------------------------------------------------


@CXX
def test_blocks_of_a_split() -> None:
    def covered(blocks: int, length: int, block: int) -> bool:
        return {b * block + t for b in range(blocks) for t in range(block)} >= set(range(length))

    assert not covered(70 // 32, 70, 32)
    assert covered(-(-70 // 32), 70, 32)
    length = THREADS + 1
    value, launches = on_gpu("function main(n) = {i * i : i in [0:n]};", length)
    assert value == [i * i for i in range(length)]
    assert all(covered(blocks, length, threads) for blocks, threads in launches)


@CXX
def test_launch_of_no_threads() -> None:
    def threads(blocks: Index, block: Index) -> set[Index]:
        return {(*at, *thread) for at in box(blocks) for thread in box(block)}

    assert not threads((0, 3, 2), (0, 0, 32))
    assert len(threads((1, 3, 2), (1, 1, 32))) == len(box((3, 64)))
    for length in (1, 5):
        value, launches = on_gpu("function main(n) = {i * i : i in [0:n]};", length)
        assert value == [i * i for i in range(length)]
        assert all(math.prod(launch) >= length for launch in launches)


def test_split_index_recovered() -> None:
    """Listing 10: threads (iv2, iv1, iv0) of (ub1, ub0/32, 32)."""
    upper = (3, 64)
    threads = box((upper[0], upper[1] // 32, 32))
    assert sorted((iv1, iv2 * 32 + iv0) for iv2, iv1, iv0 in threads) != box(upper)
    assert sorted((iv2, iv1 * 32 + iv0) for iv2, iv1, iv0 in threads) == box(upper)
    walked = kernel("let (a, b) = SEG_MAP { (s, j, i) => (s, (j / 32) * 32 + rem(j, 32)) } uniform(n, 64, t)", "(a, b)",
                    "n : int, t : int")
    assert list(zip(*values(walked, 3, 192), strict=True)) == box(upper)


def test_lower_bound_of_a_partition() -> None:
    def partition(lower: int) -> list[int]:
        return [i for (i,) in grid((lower,), (10,), (2,), (1,), relative=True)]

    assert partition(1) != list(range(0, 10, 2))                     # listing 6; its partition begins at 0
    assert partition(0) == list(range(0, 10, 2)) == everywhere("function main(n) = [0:n:2];", 10)


def jing(last: Index, lengths: Index) -> dict[Index, Index]:
    """(grid.y, grid.x, block.y, block.x) to the index, by section 7.1's nesting with this last Permute."""
    found = {}
    for d0, d1 in box(lengths):
        split = permuted((1, 2, 0), (d0, d1 // 32, d1 % 32))
        found[permuted(last, (*split[:2], split[2] // 32, split[2] % 32))] = (d0, d1)
    return found


def test_jings_two_dimensions() -> None:
    lengths = (64, 96)
    table = {(d0 // 32, d1 // 32, d0 % 32, d1 % 32): (d0, d1) for d0, d1 in box(lengths)}      # table 1
    printed, right = jing((0, 2, 1, 3), lengths), jing((2, 0, 3, 1), lengths)
    assert printed != table
    assert printed[0, 0, 0, 1] == (1, 0)                             # neighbours in a block are rows apart
    assert right == table
    assert right[0, 0, 0, 1] == (0, 1)
    walked = kernel("let (a, b) = SEG_MAP { (s, j, i) => (s, j) } uniform(n, 96, t)", "(a, b)", "n : int, t : int")
    assert [column[:2] for column in np.asarray(values(walked, 64, 64 * 96)).tolist()] == [[0, 0], [0, 1]]


def test_coordinates_of_threads() -> None:
    """CUDA's dim3 begins with x: dim3(1, 1, b) has b threads along z, and one along x."""
    def read(block: Index, blocks: Index) -> set[int]:
        """threadIdx.x + blockIdx.x * 32"""
        return {thread + at * 32 for thread in range(block[0]) for at in range(blocks[0])}

    wanted = set(range(96))
    assert read((1, 1, 32), (1, 1, 3)) != wanted
    assert read((32, 1, 1), (3, 1, 1)) == wanted == set(everywhere("function main(n) = [0:n];", 96))
