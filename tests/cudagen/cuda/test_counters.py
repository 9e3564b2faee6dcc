"""What kernels do to memory, counted: the counter by kernels whose counts are known, then all skeletons and examples.

The golden tables (tests/golden/counters) have for each kernel what the driver is asked to do, and the accesses that
take a share worth telling of what moves, or have bank conflicts: how many requests, and what each takes beside what it
takes at the least. Numbers that tell temporaries apart are left out: they change whenever another temporary is made.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from built import counting_device, execute
from cuda_programs import SPACES, skeletons
from executors import Compiled
from kernel_runs import BASES, program_of
from paths import EXAMPLES, GOLDEN_FILES
from test_skeletons import cuda_kernel, numbers

from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value
from nessie.cudagen.cuda import cuda
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.counted import counted
from nessie.cudagen.cuda.cudasim.counting import Access, Counting
from nessie.cudagen.generate import generate
from nessie.cudagen.host.memory import address_of
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.text import parse, show
from nessie.cudagen.loops.unread import unread
from nessie.lambda_cu.borders.borders import borders
from nessie.lambda_cu.text.parser import parse as parse_program
from nessie.running.counting import CountingTarget, KernelCounts, kernel_counts, total_calls
from nessie.session.counters import aligned, summary
from nessie.session.session import Session

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

GOLDEN = GOLDEN_FILES / "counters"
ELEMENTS = 1 << 12
N = 1 << 14                             # elements of the skeletons' arrays: eight tiles of a scan
ROW, ROWS = 8, N // 8                   # of segments; of triangles as many as make so many elements
TRIANGLE = 181
WORTH = 0.05                            # of a kernel's sectors, or bank ways
QUICK = ("dotp", "spmv")


# The counter --------------------------------------------------------------------------------------

# An access by each thread of 256, in one block or more: its name, its statement, and what a request of it takes.
GLOBAL = {
    "dense": ("int", "ys[i] = xs[i];", 8, 8),
    "floats": ("float", "ys[i] = xs[i];", 8, 8),
    "narrow floats": ("float32", "ys[i] = xs[i];", 4, 4),
    "narrow ints": ("int32", "ys[i] = xs[i];", 4, 4),
    "short ints": ("int16", "ys[i] = xs[i];", 2, 2),
    "bools": ("bool", "ys[i] = xs[i];", 1, 1),
    "chars": ("char", "ys[i] = xs[i];", 4, 4),
    "apart by 2": ("int", "ys[i * 2] = xs[i * 2];", 16, 8),
    "apart by 4": ("int", "ys[i * 4] = xs[i * 4];", 32, 8),
    "apart by 8": ("int", "ys[i * 8] = xs[i * 8];", 32, 8),
    "bools apart by 8": ("bool", "ys[i * 8] = xs[i * 8];", 8, 1),
    "shifted": ("int", "ys[i + 1] = xs[i + 1];", 9, 8),
    "backwards": ("int", "ys[255 - i] = xs[255 - i];", 8, 8),
    "scattered": ("int", "ys[i * 165 and 4095] = xs[i * 165 and 4095];", 32, 8),
    "one place": ("int", "ys[7] = xs[7];", 1, 1),
    "one place a pair": ("int", "ys[rshift(i, 1)] = xs[rshift(i, 1)];", 4, 4),
}
SHARED = {
    "dense": ("int", "i", 2, 2),
    "bools": ("bool", "i", 1, 1),
    "apart by 2": ("int", "i * 2", 4, 2),
    "apart by 16": ("int", "i * 16", 32, 2),
    "apart by 16, padded": ("int", "i * 17", 2, 2),
    "apart by 32": ("int", "(i and 31) * 32", 32, 2),
    "one place": ("int", "5", 1, 1),
    "bools apart by 128": ("bool", "(i and 31) * 128", 32, 1),
}


def kernel(body: str, type_: str = "int", before: str = "") -> Module:
    module = parse(f"""cuda k({type_}[] xs, writable {type_}[] ys) {{
      {before}
      int i = blockIdx * 256 + threadIdx;
      {body}
    }}""")
    check(module)
    return module


def counts(module: Module, blocks: int = 1, values: Any = None) -> dict[str, Access]:
    """Of the module's kernel k, by kind and array."""
    text = counted(module)
    driver = Counting(text.points)
    function = driver.load(text.text, ("k",))["k"]
    values = np.zeros(ELEMENTS, np.int64) if values is None else values
    addresses = [driver.allocate(values.nbytes) for _ in range(2)]
    for address in addresses:
        driver.write(address, values)
    driver.launch(function, blocks, np.array(addresses, np.int64).tobytes())
    return {f"{a.point.kind} {a.point.array}".strip(): a for a in driver.accesses()}


@pytest.mark.parametrize("name", GLOBAL)
def test_sectors(name: str) -> None:
    type_, body, sectors, dense = GLOBAL[name]
    for access in counts(kernel(body, type_)).values():
        assert (access.requests, access.lanes) == (8, 256)
        assert (access.sectors, access.least_sectors) == (8 * sectors, 8 * dense), access.point.kind


@pytest.mark.parametrize("name", SHARED)
def test_bank_ways(name: str) -> None:
    type_, index, ways, dense = SHARED[name]
    found = counts(kernel(f"s[{index}] = xs[i]; barrier; ys[i] = s[{index}];", type_, f"shared {type_} s[4352];"))
    for access in (found["store s"], found["load s"]):
        assert access.point.shared and not found["load xs"].point.shared
        assert (access.requests, access.ways, access.least_ways) == (8, 8 * ways, 8 * dense)
    assert found["barrier"].met == 1


def test_lanes_that_take_no_part() -> None:
    found = counts(kernel("if (i < 40) { ys[i] = xs[i]; }"))["load xs"]
    assert (found.requests, found.lanes, found.asked, found.sectors, found.least_sectors) == (2, 40, 320, 10, 10)
    found = counts(kernel("if (i < 5) { ys[i] = xs[i + 3]; }"))["load xs"]
    assert (found.requests, found.sectors, found.least_sectors) == (1, 2, 2)


def test_blocks_have_requests_of_their_own() -> None:
    found = counts(kernel("ys[threadIdx] = xs[threadIdx];"), 3)["store ys"]
    assert (found.requests, found.sectors) == (24, 3 * 64)


def test_a_round_of_a_loop_is_a_request_of_its_own() -> None:
    dense = counts(kernel("for (k = 0; k < 4; k += 1) { ys[k * 256 + i] = xs[k * 256 + i]; }"))["load xs"]
    assert (dense.requests, dense.sectors) == (32, 32 * 8)
    own = counts(kernel("for (k = i * 8; k < i * 8 + 8; k += 1) { ys[k] = xs[k]; }"))["load xs"]
    assert (own.requests, own.sectors) == (64, 64 * 32)


def test_lanes_that_come_in_different_rounds_are_apart() -> None:
    """They store at neighbouring places, but a round has one of them only."""
    found = counts(kernel("for (k = 0; k < 32; k += 1) { if ((i and 31) == k) { ys[i] = k; } }"))["store ys"]
    assert (found.requests, found.lanes, found.sectors) == (256, 256, 256)


def test_lanes_whose_loops_have_ended_are_missing() -> None:
    found = counts(kernel("""var int k = 0;
      while (k <= (i and 31)) {
        ys[i] = k;
        k = k + 1;
      }
      ys[i] = xs[i];"""))
    assert found["load xs"].requests == 8       # all come together after it
    nested = counts(kernel("""for (k = 0; k < (i and 31); k += 1) {
        for (l = 0; l < 2; l += 1) { ys[i] = l; }
      }"""))["store ys"]
    assert (nested.requests, nested.lanes) == (8 * 31 * 2, 8 * 31 * 32)


def test_calls_from_different_places_are_apart() -> None:
    module = parse("""device f(int[] xs, int i) -> int { return xs[i]; }
    cuda k(int[] xs, writable int[] ys) {
      int i = threadIdx;
      if (i - i / 2 * 2 == 0) {
        a = call f(xs, i);
        ys[i] = a;
      } else {
        b = call f(xs, i);
        ys[i] = b;
      }
      c = call f(xs, i);
      ys[i] = c;
    }""")
    check(module)
    found = counts(module)["load xs"]
    assert (found.requests, found.lanes, found.point.function, found.launched) == (24, 512, "f", "k")


def test_atomics() -> None:
    found = counts(kernel("atomic add(ys[0], xs[i]);"))["atomic ys"]
    assert (found.requests, found.lanes, found.asked, found.sectors) == (8, 256, 64, 8)


def test_the_text_that_counts_is_the_text_line_by_line() -> None:
    program = program_of(cuda_kernel("scan"))
    module = unread(generate(program, "cuda"))
    text = counted(module)
    assert len({point.line for point in text.points}) > 20
    for point in text.points:
        assert (point.array or "__syncthreads()") in point.code
    pairs = zip(text.text.splitlines(), cuda.cuda(module).splitlines(), strict=True)
    assert all(counting == plain for counting, plain in pairs if "cudasim" not in counting and plain.strip() != "}")


def test_what_the_driver_is_asked_to_do() -> None:
    driver = Counting(())
    address = driver.allocate(100)
    assert address % 256 == 0
    values = np.arange(10)
    driver.write(address, values)
    driver.copy(address, address_of(values), 80)
    driver.fill(address, np.int64(3), 10)
    driver.read(address, values)
    assert values.tolist() == [3] * 10
    assert {what: count for (_, what), count in driver.calls.items()} == {
        "allocations": 1, "writes": 1, "copies": 1, "fills": 1, "reads": 1}


@pytest.mark.parametrize("right, wrong, worse", [("xs[i]", "xs[i * 8 and 4095]", "load xs"),
                                                 ("ys[i] = ", "ys[(i and 31) * 128 + i / 32] = ", "store ys")])
def test_mistakes_are_seen(right: str, wrong: str, worse: str) -> None:
    good = show(kernel("ys[i] = xs[i];"))
    planted = good.replace(right, wrong)
    assert planted != good
    before, after = counts(parse(good))[worse], counts(parse(planted))[worse]
    assert (before.sectors, after.sectors, after.least_sectors) == (64, 256, 64)


# Stencils -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("type_", "result", "each"), [("[float]", "smooth", 1), ("float", "sum(smooth)", 1),
                                                       ("[float]", "{x : x in smooth | x > 3.0}", 8)])
def test_only_threads_at_the_border_decide_where_their_elements_are(type_: str, result: str, each: int) -> None:
    """`each`: the elements of a thread, which are all in the interior or take what is for any."""
    program = Compiled(f"""function main(v) : [float] -> {type_} = let n = #v;
        smooth = {{v[max(0, i - 1)] + v[min(n - 1, i + 1)] : i in [0:n]}} in {result};""",
                       target="cudasim").executable("ilp")
    gpu = counting_device(program)
    driver = Counting(gpu.driver.points)
    device = type(gpu)(gpu.built, driver)
    device.launch(program.kernels[0].name, [N, device.upload("float", numbers(N).astype(float))])
    read = [a for a in driver.accesses() if (a.point.kind, a.point.array) == ("load", "v")]
    inside, anywhere = read[:2], read[2:4]
    assert (len(inside), len(anywhere)) == (2, 2)
    assert all((a.lanes, a.requests) == (N - 2 * each, N // 32) for a in inside)
    assert all((a.lanes, a.requests) == (2 * each, 2 * each) for a in anywhere)


STENCIL = """kernel K (h : int, w : int, t : int, m : [float; t]) -> [float; t] {
  let it = SEG_MAP
    { (s, j, i) => m[max(0, s - 1) * w + j] + m[s * w + min(w - 1, j + 1)] using h, w, m }
    uniform(h, w, t)
  return it
}
function f (h : int, w : int, t : int, m : [float; t]) -> (size : int, result : [float; size]) {
  let it : [float; t] = run K (h, w, t, m)
  return (t, it)
}
entry f : int, int, [float] -> [float]
"""


def test_rows_of_one_length_are_read_by_neighbours_who_decide_at_the_border_only() -> None:
    height, width = 100, 320
    gpu = counting_device(borders(parse_program(STENCIL)))
    driver = Counting(gpu.driver.points)
    device = type(gpu)(gpu.built, driver)
    values = np.arange(height * width, dtype=float)
    (result,) = device.launch("K", [height, width, values.size, device.upload("float", values)])
    m = values.reshape(height, width)
    expected = np.vstack([m[:1], m[:-1]]) + np.hstack([m[:, 1:], m[:, -1:]])
    assert np.array_equal(device.download(result), expected.ravel())
    read = [a for a in driver.accesses() if (a.point.kind, a.point.array) == ("load", "m")]
    inside, anywhere = read[:2], read[2:]
    assert (len(inside), len(anywhere)) == (2, 2)
    assert all(a.lanes == (height - 1) * (width - 1) and a.sectors < 1.15 * a.least_sectors for a in inside)
    assert all(a.lanes == height + width - 1 for a in anywhere)


# What data decide ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("array", "words", "banks"), [("held", 4096, 16), ("counters", 256, 32), ("digits", 256, 32)])
def test_a_sort_of_random_keys_meets_in_banks_no_more_often_than_by_chance(array: str, words: int, banks: int) -> None:
    """All digits of the keys are drawn. Lanes take one of a tile's slots each, of which a pair of banks gives one at a
    time, or the counter of one of 256 values."""
    program = Compiled("function main(v) : [int] -> [int] = sort(v);", target="cudasim").executable("ilp")
    gpu = counting_device(program)
    driver = Counting(gpu.driver.points)
    device = type(gpu)(gpu.built, driver)
    keys = np.random.default_rng(1).integers(-2 ** 63, 2 ** 63, N)
    (result,) = device.launch(program.kernels[0].name, [N, device.upload("int", keys)])
    assert np.array_equal(device.download(result), np.sort(keys))
    kind = "store" if array == "held" else "atomic"
    found = [a for a in driver.accesses() if (a.point.kind, a.point.array) == (kind, array)]
    assert found and not any(a.point.shared is False for a in found)
    ways = sum(a.ways for a in found) / sum(a.requests for a in found)
    assert ways == pytest.approx(by_chance(words, banks), rel=0.02)


def by_chance(words: int, banks: int) -> float:
    """Of 32 lanes that each draw a word, how many different ones are in the fullest bank."""
    drawn = np.random.default_rng(2).integers(0, words, (10_000, 32)).tolist()
    return float(np.mean([max(Counter([word % banks for word in set(row)]).values()) for row in drawn]))


# Skeletons and examples ---------------------------------------------------------------------------


def check_golden(name: str, text: str, update: bool) -> None:
    path = GOLDEN / f"{name}.txt"
    if update:
        path.write_text(text, "utf-8")
    else:
        assert text == path.read_text("utf-8")


def arguments(space: str) -> list[Any]:
    match space:
        case "flat":
            return [N, numbers(N)]
        case "irregular":
            offsets = np.arange(0, N + 1, ROW)
            return [N, ROWS, numbers(N), numbers(ROWS, 5), offsets]
        case "uniform":
            return [N, ROWS, numbers(N), numbers(ROWS, 5), ROW]
    n = TRIANGLE * (TRIANGLE - 1) // 2
    return [n, TRIANGLE, numbers(n), numbers(TRIANGLE, 5), 1, 0]


@pytest.mark.parametrize("space", ["flat", *(pytest.param(s, marks=pytest.mark.sampled(quick=0)) for s in SPACES)])
def test_skeletons(space: str, update_golden: bool) -> None:
    gpu = counting_device(skeletons((space,)))
    built, found = gpu.built, list[str]()
    for made in built.program.kernels:
        driver = Counting(gpu.driver.points)
        device = type(gpu)(built, driver)
        given = [device.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a for a in arguments(space)]
        device.launch(made.name, given)
        found += [line for of in kernel_counts(built, driver) if of.name for line in lines(of)] + [""]
    check_golden(f"{space}_skeletons", "\n".join(found), update_golden)


CALLS = {                               # of each example, with some data
    "banded": ("1000", "banded({1.0 : i in [0:3 * data - 2]}, {float(i) : i in [0:data]}, 1)"),
    "bfs": ("{[mod(v * 7 + 1, 500), mod(v * 3 + 2, 500)] : v in [0:500]}", "bfs(data, 0)"),
    "blur": ("{{float(i * j) : j in [0:60]} : i in [0:60]}", "soft(data)"),
    "dotp": ("{float(i) : i in [0:20000]}", "dotp(data, data)"),
    "jacobi": ("60", "jacobi(plate(data), 2)"),
    "life": ("{{mod(i * j, 2) : j in [0:60]} : i in [0:60]}", "next(data)"),
    "mandelbrot": ("50", "mandelbrot(data, data, data)"),
    "mxv": ("{{float(i * j) : j in [0:100]} : i in [0:100]}", "mxv(data, data[1])"),
    "norm2": ("{float(i) : i in [0:20000]}", "norm2(data)"),
    "pi": ("20000", "pi_by(data)"),
    "primes": ("4000", "primes(data)"),
    "quickhull": ("{point(float(mod(i * 7919, 1000)), float(mod(i * 71, 1009))) : i in [0:1000]}", "quickhull(data)"),
    "quicksort": ("{mod(i * 7919, 1000) : i in [0:1000]}", "quicksort(data)"),
    "range_counts": ("{mod(i * 7919, 1000) : i in [0:1000]}", "range_counts(data, {(i, i + 9) : i in [0:1000]})"),
    "search_tree": ("{if i < 500 then 2 * i + 1 else -1 : i in [0:1000]}",
                    "queries({mod(i * 7919, 1000) : i in [0:1000]}, data, data, [0:1000])"),
    "snowflake": ("4", "koch(triangle(3.0), data)"),
    "sparse_mxv": ("{{(mod(i * j, 1000), 1.5) : j in [0:mod(i, 16)]} : i in [0:1000]}",
                   "sparse_mxv(data, {float(i) : i in [0:1000]})"),
    "spmv": ("differences(1000)", "spmv(data, {float(i) : i in [0:1000]})"),
    "string_search": ("{code_char(97 + mod(i * i, 5)) : i in [0:10000]}", "string_search(\"abba\", data)"),
    "trmv": ("{float(i) : i in [0:200]}", "trmv({1.0 : i in [0:20100]}, data)"),
    "wordcount": ("{if mod(i, 7) == 0 then space else `a : i in [0:20000]}", "wordcount(data)"),
}


def examples() -> list[Any]:
    paths = sorted(EXAMPLES.glob("*.nesl"))
    return [pytest.param(p, id=p.stem, marks=() if p.stem in QUICK else pytest.mark.sampled(quick=0)) for p in paths]


@pytest.mark.parametrize("path", examples())
def test_examples(path: Any, update_golden: bool) -> None:
    target, (data, call) = CountingTarget(), CALLS[path.stem]
    target.world.write = lambda text: None

    def run() -> None:
        session = Session(target)
        for form in (path.read_text("utf-8"), f"data = {data};", f"{call};"):
            target.clear()
            for outcome in session.run(Source(path.name, form)):
                assert not isinstance(outcome, Exception), outcome
    run_deep(run)
    kernels = target.counts()
    total = KernelCounts(call, (), total_calls(kernels), ())
    check_golden(path.stem, "\n".join(line for of in (total, *kernels) for line in lines(of)) + "\n", update_golden)


def lines(kernel: KernelCounts) -> Iterator[str]:
    calls = ", ".join(f"{what} {count}" for what, count in kernel.calls.items() if count)
    yield f"{kernel.name or 'between kernels'}: {calls}" + (f"; {summary(kernel)}" if kernel.accesses else "")
    rows = [*worth_telling(kernel, False, "sectors"), *worth_telling(kernel, True, "ways")]
    yield from (f"  {line}" for line in aligned(rows)) if rows else ()


def worth_telling(kernel: KernelCounts, shared: bool, unit: str) -> list[list[str]]:
    """Rows, below a head."""
    found = [c.access for c in kernel.accesses if c.access.requests and c.access.point.shared == shared]
    every = sum(getattr(a, unit) for a in found)
    rows = [row(kernel, a, unit) for a in found
            if getattr(a, unit) >= WORTH * every and not (shared and a.ways == a.least_ways)]
    return [["in", "access", "requests", "lanes", unit, "dense"], *rows] if rows else []


def row(kernel: KernelCounts, access: Access, unit: str) -> list[str]:
    of = re.sub(r"_\d+(?=_|$)", "", f"{access.point.kind} {access.point.array}")
    numbers = (access.lanes, getattr(access, unit), getattr(access, f"least_{unit}"))
    return [access.launched.removeprefix(f"{kernel.name}_"), of, str(access.requests),
            *[f"{number / access.requests:.1f}" for number in numbers]]


# The host -----------------------------------------------------------------------------------------


REPEATED = {"map": "{x + x : x in v}", "scan": "plus_scan(v)", "filter": "{x in v | x > 3}"}


@pytest.mark.parametrize("name", REPEATED)
def test_what_runs_again_takes_one_launch_and_no_fill(name: str) -> None:
    compiled = Compiled(f"function main(v) : [int] -> [int] = {REPEATED[name]};", target="cudasim")
    program = compiled.executable("ilp")
    device = counting_device(program)
    arguments = [flatten_value(list(range(5000)), compiled.signature[0][0])]
    execute(program, arguments, device)
    device.driver.calls.clear()
    execute(program, arguments, device)
    calls = total_calls(kernel_counts(device.built, device.driver))
    assert (calls["launches"], calls["fills"], calls["allocations"]) == (1, 0, 0)


def driver_calls(path: str, call: str) -> int:
    """Launches, fills, reads and allocations of the call and of the data that it makes."""
    target = CountingTarget()
    target.world.write = lambda text: None

    def run() -> None:
        session = Session(target)
        for form in ((EXAMPLES / path).read_text("utf-8"), f"{call};"):
            target.clear()
            for outcome in session.run(Source(path, form)):
                assert not isinstance(outcome, Exception), outcome
    run_deep(run)
    calls = total_calls(target.counts())
    return sum(calls[what] for what in ("launches", "fills", "reads", "allocations"))


def test_a_recursion_asks_the_driver_for_little() -> None:
    """Of quicksort's seventeen levels each takes five launches and three reads."""
    assert driver_calls("quicksort.nesl", "quicksort({mod(i * 7919, 10007) : i in [0:2048]})") <= 150


def test_a_level_of_a_search_asks_the_driver_for_little() -> None:
    """Each level of bfs takes four launches, a fill and three reads; beginning takes eight calls more."""
    for levels in (20, 40):
        graph = f"{{if i < {levels} - 1 then [i + 1, 0, i] else [0] : i in [0:{levels}]}}"
        assert driver_calls("bfs.nesl", f"bfs({graph}, 0)") <= 8 * levels + 8
