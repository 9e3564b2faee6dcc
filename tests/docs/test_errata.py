"""docs/errata.md, which names the tests of this file and of test_errata_sizes.py and test_errata_threads.py; and the
lambda_cu paper: what is printed fails on an example, and what Nessie has instead holds there."""
from __future__ import annotations

import functools
import itertools
import re

import pytest
from executors import Compiled
from paths import ROOT
from printed import CXX, complaint, everywhere, fused, kernel, refused, values

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.lambda_cu.text.printer import show_bind

PAGE = (ROOT / "docs" / "errata.md").read_text("utf-8")
NAMED = re.findall(r"`(test_\w+)`", PAGE)


# The page -----------------------------------------------------------------------------------------


def test_page_names_the_tests_that_there_are() -> None:
    there = [test for path in (ROOT / "tests").rglob("test_errata*.py")
             for test in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)]
    assert sorted(NAMED) == sorted(test for test in there if not test.startswith("test_page_"))


def test_page_has_one_test_for_each_entry() -> None:
    _, *entries = re.split(r"^\*\*", PAGE.partition("\n## Not counted")[0], flags=re.MULTILINE)
    assert len(entries) == len(NAMED) > 40
    for entry in entries:
        assert re.match(r".*?\.\*\* ", entry), entry
        assert len(re.findall(r"`test_\w+`\n", entry)) == 1, entry


def test_page_links_lead_somewhere() -> None:
    links, files = re.findall(r"\]\(([^)#:]+)", PAGE), re.findall(r"`(\w+/[\w/]+\.\w+)`", PAGE)
    assert len(files) > 20
    for target in (*links, *(f"../{file}" for file in files)):
        assert (ROOT / "docs" / target).exists(), target


# The paper on lambda_cu: language -----------------------------------------------------------------


def test_products_of_positive_elements() -> None:
    xs, ys = [0, 2, -3], [3, 4, 5]
    program = "function main(xs, ys) = {{x * y : x in xs; y in ys | x {0} 0 and y {0} 0}};"
    positive = [x * y for x, y in zip(xs, ys, strict=True) if x > 0 and y > 0]
    assert everywhere(program.format(">="), xs, ys) != positive
    assert everywhere(program.format(">"), xs, ys) == positive


def test_base_types_of_the_example() -> None:
    def derived(type_: str, bases: set[str]) -> bool:
        return type_.removeprefix("[").removesuffix("]") in bases

    printed, of_norm2 = {"bool", "int", "unit"}, ("[float]", "float")
    assert derived("[int]", printed)
    assert not any(derived(type_, printed) for type_ in of_norm2)
    held = kernel("let z = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)", "z",
                  "n : int, xs : [float; n]")
    assert held.params[1].type == ir.Array("float", "n")


def test_types_of_norm2() -> None:
    source = (ROOT / "nesl_examples" / "norm2.nesl").read_text("utf-8")
    floats = source[source.index("function"):source.index("norm2([")].replace("norm2", "main")
    ints = floats.replace("0.0", "0")
    assert everywhere(ints, [3, -1, 2]) == ([0, 0, 0], [0, 0, 0])
    assert everywhere(floats, [3.0, -1.0, 2.0]) == ([0.75, -0.25, 0.5], [0.6, -0.2, 0.4])
    for program, base in (ints, "int"), (floats, "float"):
        arrays = {p.type.base for k in Compiled(program).flat.kernels for p in k.params if isinstance(p.type, ir.Array)}
        assert arrays == {base}


def test_arguments_of_soacs() -> None:
    variable = r"[a-z]\w*"
    argument = re.compile(rf"\{{.*?\}}|\(({variable}(, {variable})*)?\)")       # a thunk, or variables
    listed = ("{ i => xs[i] using xs }", "(0)", "{ (x, y) => x + y }", "(#xs)")
    assert [bool(argument.fullmatch(one)) for one in listed] == [True, False, True, False]
    held = kernel("let z = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)", "z").binds[0].soac
    assert isinstance(held, ir.Reduce)
    assert (held.identity, held.space) == ((ir.Const(0, "int"),), ir.Flat("n"))


def test_segmented_reduction() -> None:
    rows = [[1, 2], [], [3]]
    with pytest.raises(TypeError, match="not iterable"):
        list(itertools.chain.from_iterable(map(sum, rows)))                 # concat . map f . split
    assert list(itertools.chain.from_iterable(map(itertools.accumulate, rows))) == [1, 3, 3]
    held = kernel("let z = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } irregular(o, k, n)", "z",
                  "k : int, n : int, o : [int; k+1], xs : [int; n]")
    assert values(held, 3, 3, [0, 2, 2, 3], [1, 2, 3]) == [list(map(sum, rows))]


# Fusion -------------------------------------------------------------------------------------------

FILTERED = "let (k, a) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)\n"


def test_map_read_elsewhere() -> None:
    body = "let a = MAP { i => xs[i] + 1 using xs } (n) let b = MAP { i => a[n - 1 - i] using a, n } (n)"
    printed = "let b = MAP { i => let a_1 = xs[i] + 1 in a[n - 1 - i] using xs, n } (n)"
    assert "reads a, which its using does not list" in refused(printed, "b")
    kept = fused(kernel(body, "b"))
    assert len(kept.binds) == 2
    assert values(kept, 3, [1, 2, 3]) == [[4, 3, 2]]


def test_map_read_by_two_thunks() -> None:
    body = """let a = MAP { i => n - 1 - xs[i] using xs, n } (n)
              let b = PERMUTE { i => a[i] * 10 using a } { i => a[i] using a } (n) into n (0) last"""
    printed = """let b = PERMUTE { i => let a_1 = n - 1 - xs[i] in a_1 * 10 using xs, n } { i => a[i] using a } (n)
                 into n (0) last"""
    assert "using lists a, which is not in scope" in refused(printed, "b")
    kept = fused(kernel(body, "b"))
    assert len(kept.binds) == 2
    assert values(kept, 3, [0, 2, 1]) == [[0, 10, 20]]


def test_filter_filter_is_of_an_index() -> None:
    body = FILTERED + "let (m, b) = FILTER { j => a[j] using a } { j => a[j] < 9 using a } (k)"
    printed = "let (m, b) = FILTER { i => xs[i] using xs } { i => let a = xs[i] in v > 0 and a < 9 using xs } (n)"
    assert "reads v" in refused(printed, "(m, b)")
    one = fused(kernel(body, "(m, b)"))
    assert len(one.binds) == 1
    assert values(one, 4, [5, -1, 12, 3]) == values(kernel(body, "(m, b)"), 4, [5, -1, 12, 3]) == [2, [5, 3]]


def test_filter_filter_lists_what_its_predicate_reads() -> None:
    body = FILTERED + "let (m, b) = FILTER { j => a[j] using a } { j => a[j] < 9 using a } (k)"
    printed = "let (m, b) = FILTER { i => xs[i] using xs } { i => let a = xs[i] in a > 0 and a < 9 } (n)"
    assert "reads xs, which its using does not list" in refused(printed, "(m, b)")
    soac = fused(kernel(body, "(m, b)")).binds[0].soac
    assert isinstance(soac, ir.Filter)
    assert soac.predicate.using == ("xs",)


def test_filter_filter_asks_of_the_second_value() -> None:
    """The second filter's predicate is of values v, which are e2: of 2 * a here, not of a."""
    xs = [3, -1, 5, 4, 8, 9]
    body = FILTERED + "let (m, b) = FILTER { j => 2 * a[j] using a } { j => 2 * a[j] < 9 using a } (k)"
    printed = """let (m, b) = FILTER { i => let a = xs[i] in 2 * a using xs }
                                     { i => let a = xs[i] in a > 0 and a < 9 using xs } (n)"""
    meant = [2 * x for x in xs if x > 0 and 2 * x < 9]
    assert values(kernel(printed, "(m, b)"), 6, xs) != [len(meant), meant]
    one = fused(kernel(body, "(m, b)"))
    assert len(one.binds) == 1
    assert values(one, 6, xs) == [len(meant), meant]


def test_survivors_have_numbers_of_their_own() -> None:
    xs = [-1, 5, -1, 7]
    body = FILTERED + "let b = REDUCE { i => a[i] * i using a } (0) { (x, y) => x + y } (k)"
    printed = """let b = REDUCE { i => let a = xs[i] in if a > 0 then a * i else 0 using xs }
                                (0) { (x, y) => x + y } (n)"""
    meant = sum(x * i for i, x in enumerate(x for x in xs if x > 0))
    assert values(kernel(printed, "b"), 4, xs) != [meant]
    kept = fused(kernel(body, "b"))
    assert len(kept.binds) == 2
    assert values(kept, 4, xs) == [meant]
    again = FILTERED + "let (m, b) = FILTER { i => a[i] * i using a } { i => i > 0 } (k)"
    printed = "let (m, b) = FILTER { i => xs[i] * i using xs } { i => xs[i] > 0 and i > 0 using xs } (n)"
    assert values(kernel(printed, "(m, b)"), 4, xs) != values(kernel(again, "(m, b)"), 4, xs) == [1, [7]]
    assert len(fused(kernel(again, "(m, b)")).binds) == 2


def test_substitutions() -> None:
    def substituted(first: str, second: str, exp: str, way: str) -> str:
        """[first/second]exp, where the first stands for the second or the second for the first."""
        return exp.replace(second, first) if way == "second" else exp.replace(first, second)

    def ok(body: str, returns: str) -> bool:
        try:
            return bool(kernel(body, returns))
        except Exception as error:
            assert "reads" in str(error) or "scope" in str(error), error
            return False

    def maps(way: str) -> str:
        return f"let b = MAP {{ i => let e = xs[i] in {substituted('A[i]', 'e', 'A[i] * 2', way)} using xs }} (n)"

    def guard(way: str) -> str:
        then = f"let e = xs[i] in if {substituted('e', 'w', 'w > 0', way)} then e else 0"
        return f"let b = REDUCE {{ i => {then} using xs }} (0) {{ (x, y) => x + y }} (n)"

    assert [ok(maps(way), "b") for way in ("first", "second")] == [True, False]
    assert [ok(guard(way), "b") for way in ("first", "second")] == [False, True]
    nessie = fused(kernel(FILTERED + "let b = REDUCE { j => a[j] using a } (0) { (x, y) => x + y } (k)", "b"))
    assert values(nessie, 3, [4, -1, 5]) == values(kernel(guard("second"), "b"), 3, [4, -1, 5]) == [9]


def test_permutations_in_series() -> None:
    program = """let a = PERMUTE {{ i => xs[i] using xs }} {{ i => {0} }} (n) into n (0) last
                 let b = PERMUTE {{ j => a[j] + 1 using a }} {{ j => n - 1 - j using n }} (n) into n (0) last"""
    composed = "let b = PERMUTE {{ i => xs[i] + 1 using xs }} {{ i => n - 1 - ({0}) using n }} (n) into n (0) last"
    turned, all_to_one = "n - 1 - i", "0"

    def both(index: str) -> tuple[object, object]:
        listed = program.format(index + (" using n" if "n" in index else ""))
        return values(kernel(listed, "b"), 2, [5, 6]), values(kernel(composed.format(index), "b"), 2, [5, 6])

    assert both(turned)[0] == both(turned)[1]
    assert both(all_to_one) == ([[1, 7]], [[0, 7]])
    reverse = "{#xs - 1 - i : i in index(#xs)}"
    head = "function main(xs, is) : ([int], [int]) -> [int] = "
    known, unknown = (Compiled(f"{head}permute(permute(xs, {first}), {reverse});").flat for first in (reverse, "is"))
    permutes = [any(isinstance(b.soac, ir.Permute) for k in flat.kernels for b in k.binds) for flat in (known, unknown)]
    assert permutes == [False, True]
    assert everywhere(f"{head}permute(permute(xs, {reverse}), {reverse});", [5, 6, 7], []) == [5, 6, 7]


def test_filters_side_by_side() -> None:
    xs = [1, -2, 3, 4]
    wanted = [x for x in xs if x > 0], [x for x in xs if x < 2]
    masks = itertools.product([False, True], repeat=len(xs))
    assert all(tuple([list(itertools.compress(xs, mask))] * 2) != wanted for mask in masks)     # one FILTER, of pairs
    program = "function main(xs) = ({x in xs | x > 0}, {x in xs | x < 2});"
    assert everywhere(program, xs) == wanted
    kernels = Compiled(program).executable("ilp").kernels
    assert [[type(bind.soac) for bind in k.binds] for k in kernels] == [[ir.Filter, ir.Filter]]


# The example, and code ----------------------------------------------------------------------------

PAIRS = """let (s, t) = REDUCE {{ i => (xs[i], if {0} > 0 then xs[i] else 0) using xs }} (0, 0)
                              {{ {1} }} (n)"""
BY_PAIRS = "(a, b, c, d) => (a + c, b + d)"


def test_norm2_names_its_element() -> None:
    assert "reads x, which its using does not list" in refused(PAIRS.format("x", BY_PAIRS), "(s, t)")
    assert values(kernel(PAIRS.format("xs[i]", BY_PAIRS), "(s, t)"), 3, [3, -1, 2]) == [4, 5]


def test_norm2_adds_pairs() -> None:
    assert "4 are needed" in refused(PAIRS.format("xs[i]", "(x, y) => x + y"), "(s, t)")
    body = ("let s = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)\n" + FILTERED
            + "let t = REDUCE { i => a[i] using a } (0) { (x, y) => x + y } (k)")
    nessie = fused(kernel(body, "(s, t)"))
    assert [type(bind.soac) for bind in nessie.binds] == [ir.Reduce], [*map(show_bind, nessie.binds)]
    assert values(nessie, 3, [3, -1, 2]) == values(kernel(PAIRS.format("xs[i]", BY_PAIRS), "(s, t)"), 3, [3, -1, 2])


@CXX
def test_kernel_of_a_product() -> None:
    text = """struct three {{ int x, y, z; }} blockIdx, gridDim, blockDim, threadIdx;
    void K(int *u, int *v, int *w, int n) {{
      int {0} = blockIdx.y * gridDim.x + blockIdx.x;
      int idx = {0} * blockDim.x + threadIdx.x;
      if (idx < n) w[idx] = u[idx] * v[idx];
    }}"""
    assert "blockIdx" in complaint(text.format("blockIdx"))
    assert not complaint(text.format("block"))


def test_reduction_of_nothing() -> None:
    def generated(pull: object, operator: object, n: int) -> object:
        """What figure 8's generator of REDUCE can know."""
        return functools.reduce(operator, map(pull, range(n)))              # type: ignore[call-overload]

    assert generated([4, 5].__getitem__, int.__add__, 2) == 9
    with pytest.raises(TypeError):
        generated([].__getitem__, int.__add__, 0)
    reduction = parse_kernel("kernel K (n : int, xs : [int; n]) { let z = REDUCE { i => xs[i] using xs } (7) "
                             "{ (x, y) => x * y } (n) return z }")
    assert values(reduction, 0, []) == [7]
    assert everywhere("function main(n) = sum([0:n]);", 0) == 0
