"""Bodies give what their functions give in Python, called with each element."""
from __future__ import annotations

import gc
import importlib.util
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nessie
from nessie.arrays import running
from nessie.arrays.bodies import source

NUMBERS = [1, 2, 3, 5]
ROWS = [[1, 2, 5, 6], [1, 2], [4]]
TEN = 10
INF = float("inf")
K = 7


# What loops set -------------------------------------------------------------------------------------


def the_target_had_a_value(x):
    i = 100
    for i in range(x - 1):                          # noqa: B007
        pass
    return i


def the_target_is_new(x):
    for i in range(x):
        y = i * 2
    return i + y


def a_target_that_changes(x):
    for i in range(x):
        i += 10
    i += 1
    return i


def targets_of_two_loops(x):
    k = 0
    for i in range(1, x + 3):
        for j in range(i):
            if j > 1:
                continue
            k = i * j
    return i, j, k


def set_on_one_path(x):
    for i in range(x):
        if i == 0:
            k = i + 1
            continue
        k += 1
    return k


def an_inner_target_of_another_round(x):
    total = 0
    for i in range(3):
        for j in range(x if i == 0 else 0):         # noqa: B007
            total += 1
        total += j
    return total


def set_by_while(x):
    while True:
        t = x * 2
        x += 1
        if t > 4:
            break
    return t


def the_rounds_are_constant(x):
    for i in range(5):
        last = i + x
    return last


def annotations(x):
    y: int
    if x > 2:
        y = x
    else:
        y: int = 5
    z: float = y / 2
    return z


def a_target_within_a_branch(x):
    i = -1
    if x > 2:
        for i in range(x):                          # noqa: B007
            pass
    return i


def an_element(row):
    best = 0.5
    for v in row:
        if v > 3:
            break
    return v + best


def wider_at_each_round(x):
    y = 0
    for _ in range(3):
        y = half(y) + 1
    return y


def half(z):
    return z / 2 if z > 0 else z


# Else of loops --------------------------------------------------------------------------------------


def found_or_not(x):
    for i in range(4):
        if i * i == x:
            break
    else:
        return -1
    return i


def else_sets_names(x):
    k = 0
    for i in range(x):
        if i == 2:
            break
        last = i
    else:
        k = last + 10
    return k


def else_without_a_break(x):
    total = 0
    for i in range(x):
        total += i
    else:
        total *= 2
    return total


def else_of_while(x):
    n = x
    while n < 20:
        n = n * 2 + 1
        if n % 7 == 0:
            break
    else:
        n = -n
    return n


def is_prime(n):
    count = 0
    for p in range(2, n + 1):
        for d in range(2, p):
            if p % d == 0:
                break
        else:
            count += 1
            if count > 2:
                break
            continue
        count += 0
    else:
        count += 100
    return count


def a_return_in_an_else(x):
    for i in range(3):
        for j in range(i):
            if j == x:
                break
        else:
            if i == 2:
                return 5 + x
    return i * 10


def else_of_a_tuple(x):
    for y in (x, x + 1):
        x += y
    else:
        x = -x
    return x


# Rows that are known to have elements -----------------------------------------------------------------


def greatest_or_none(row):
    return max(row) if len(row) > 0 else -1


def greatest_behind_a_return(row):
    if not row:
        return -1
    return max(row) - min(row)


def greatest_if_there_are_some(row):
    if len(row) >= 1 and max(row) > 2:              # noqa: SIM108
        found = max(row)
    else:
        found = -1 if 0 == len(row) else min(row)   # noqa: SIM300
    return found


GUARDED = [greatest_or_none, greatest_behind_a_return, greatest_if_there_are_some]


# Comparisons ----------------------------------------------------------------------------------------


def ints_beside_floats(x):
    big = 2 ** 53 + x
    f = 2.0 ** 53
    return big == f, big != f, big < f, big <= f + 2, f < big, f >= big, x > 1.5, 2.0 <= x, x == 3.0, -x < -2.5       # noqa: SIM300


def least_and_greatest(x):
    nan = INF - INF
    y = x / 2
    return max(nan, y), max(y, nan), min(y, nan, 1.25), min(nan, y), max(y, 1.0, 2.0), min(0.0, -0.0), max(x, 2)


# Names of comprehensions ----------------------------------------------------------------------------


def comprehensions_in_both_branches(row):
    if len(row) > 1:                                # noqa: SIM108
        a = [q * 2 for q in row]
    else:
        a = [q for q in row]                        # noqa: C416
    return sum(a)


def a_captured_name_in_a_comprehension(row):
    return sum([K for K in row]) + K                # noqa: C416


def a_local_name_of_outside(x):
    K = x * 2
    return K + x


# Calls ----------------------------------------------------------------------------------------------


def no_parameters(x):
    return x + three() + ten()


def three():
    return 3


def ten():
    return TEN


def a_pair_of_a_recursion(n):
    if n == 0:
        return 0, 0.5
    p = a_pair_of_a_recursion(n - 1)
    return p[0] + 1, p[1] * 2


def a_recursion_in_a_loop(n):
    if n <= 1:
        return n, True
    total = 0
    for i in range(n):                              # noqa: B007
        p = a_recursion_in_a_loop(n - 2)
        total += p[0]
    return total + i, p[1]


def a_recursion_first(n):
    if n > 2:                                       # noqa: SIM108
        r = a_recursion_first(n - 1)
    else:
        r = (False, n)
    return not r[0], r[1] + 1


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def of_and_and_or(n):
    return n == 0 or (n > 0 and not of_and_and_or(n - 1))


OF_NUMBERS = [the_target_had_a_value, the_target_is_new, a_target_that_changes, targets_of_two_loops, set_on_one_path,
              an_inner_target_of_another_round, set_by_while, the_rounds_are_constant, a_target_within_a_branch,
              wider_at_each_round, a_local_name_of_outside, no_parameters, a_pair_of_a_recursion, a_recursion_in_a_loop,
              a_recursion_first, even, of_and_and_or, found_or_not, else_sets_names, else_without_a_break,
              else_of_while, is_prime, a_return_in_an_else, else_of_a_tuple, ints_beside_floats, annotations]
OF_ROWS = [an_element, comprehensions_in_both_branches, a_captured_name_in_a_comprehension]


@pytest.mark.parametrize("body", OF_NUMBERS, ids=lambda body: body.__name__)
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_body_of_numbers(body: Callable[..., Any], target: str) -> None:
    assert nessie.array(NUMBERS).map(body).evaluate(target).tolist() == [body(x) for x in NUMBERS]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_min_and_max_of_numbers_are_pythons_where_one_is_nan(target: str) -> None:
    """Only where there is one: rows have no order in which NaN would be met."""
    found = nessie.array(NUMBERS).map(least_and_greatest).evaluate(target).tolist()
    assert repr(found) == repr([least_and_greatest(x) for x in NUMBERS])
    a = nessie.array([np.nan, 1.0, 2.0])
    assert repr(a.stencil([0, 1], 0.0, lambda v: max(v)).evaluate(target).tolist()) == "[nan, 2.0, 0.0]"
    assert repr(a.stencil([-1, 0], 0.0, lambda v: max(v)).evaluate(target).tolist()) == "[0.0, nan, 2.0]"
    assert repr(a.stencil([0, -1], 0.0, lambda v: max(v)).evaluate(target).tolist()) == "[0.0, 1.0, 2.0]"
    assert repr(a.stencil([0, -1], 0.0, lambda v: np.max(v)).evaluate(target).tolist()) == "[0.0, nan, 2.0]"


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_ints_are_compared_with_floats_without_rounding(target: str) -> None:
    ints = [2**53 + 1, 2**53, -2**53 - 1, 2**63 - 1, -2**63, 2**62 + 2**9, 5, -1, 2**40 + 3]
    floats = [2.0**53, 2.0**53 + 2, -2.0**53, 2.0**63, -2.0**63, 2.0**62, 5.5, -1 + 1e-16, 2.0**40 + 3, INF, -INF,
              float("nan"), 1e300]
    pairs = [(i, f) for i in ints for f in floats]
    found = nessie.array([i for i, _ in pairs]).combine([f for _, f in pairs], all_comparisons).evaluate(target)
    assert found.tolist() == [all_comparisons(i, f) for i, f in pairs]
    rounded = nessie.array(ints) == np.array([2.0**53] * len(ints))         # as NumPy has it
    assert rounded.evaluate(target).tolist() == (np.array(ints) == 2.0**53).tolist()


def all_comparisons(i, f):
    return i == f, i != f, i < f, i <= f, i > f, i >= f, f < i, f >= i


@pytest.mark.parametrize("body", OF_ROWS, ids=lambda body: body.__name__)
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_body_of_rows(body: Callable[..., Any], target: str) -> None:
    assert nessie.nest(ROWS).map(body).evaluate(target).tolist() == [body(x) for x in ROWS]


@pytest.mark.parametrize("body", GUARDED, ids=lambda body: body.__name__)
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_rows_without_elements_have_no_greatest_one_where_nobody_asks(body: Callable[..., Any], target: str) -> None:
    rows = [*ROWS, [], [2, 1]]
    assert nessie.nest(rows).map(body).evaluate(target).tolist() == [body(row) for row in rows]


def test_what_is_known_to_have_elements_is_not_checked() -> None:
    rows = nessie.nest([*ROWS, []])
    assert str(rows.map(greatest_or_none).kernels()).count(" = run K") == 1
    with pytest.raises(nessie.NessieError, match="no greatest of no elements") as failed:
        rows.map(lambda row: max(row) if len(row) < 3 else 0).evaluate()
    assert failed.value.span is not None and "max(row) if" in str(failed.value)
    of_rows = nessie.nest([[[1, 5], []], [[]], [[2]]])
    assert of_rows.map(lambda row: sum([max(r) for r in row if len(r) > 0])).tolist() == [5, 0, 2]


def test_a_loop_without_rounds_sets_nothing() -> None:
    with pytest.raises(UnboundLocalError):
        the_target_is_new(0)
    with pytest.raises(nessie.NessieError, match="No value of i: the loop that sets it had no round") as failed:
        nessie.array([1, 0]).map(the_target_is_new).evaluate()
    lines, first = inspect.getsourcelines(the_target_is_new)
    assert failed.value.span is not None and failed.value.span.line == first + len(lines) - 1
    assert "at element 1" in str(failed.value)


def in_a_loop(v):
    total = 0.0
    for i in range(3):
        total += v[-1] * i + v[1]
        for w in v:
            total += abs(w)
    while total < 50 + v[1]:
        total *= 2
    return total


class Neighbours(dict):             # type: ignore[type-arg]
    """What a stencil's function gets, for Python: iteration gives the neighbours."""

    def __iter__(self) -> Any:
        return iter(self.values())


def test_neighbours_within_loops() -> None:
    found = nessie.array([1.0, 2, 3, 5]).stencil([-1, 1], 0, in_a_loop)
    assert found.tolist() == [0, in_a_loop(Neighbours({-1: 1.0, 1: 3.0})), in_a_loop(Neighbours({-1: 2.0, 1: 5.0})), 0]


def only_itself(n):
    return only_itself(n - 1) + 1


def test_a_function_that_calls_itself_on_every_path() -> None:
    with pytest.raises(nessie.NessieError, match="only_itself calls itself on every path"):
        nessie.array([1]).map(only_itself)


def test_rows_of_rows_of_rows() -> None:
    three = [[[1, 2], [3]], [], [[4]]]
    four = [[three[0], []], [], [three[2]]]
    assert nessie.nest(three).tolist() == three and nessie.nest(four).tolist() == four
    assert nessie.nest(three).map(lambda r: sum(sum(x) for x in r)).tolist() == [6, 0, 4]
    with pytest.raises(nessie.NessieError, match="nest takes a sequence of sequences"):
        nessie.nest([[[1]], [2]])


def test_complements() -> None:
    a = nessie.array([1, -2])
    assert (~a).tolist() == [-2, 1] and (~(a > 0)).tolist() == [False, True]


# Records, lists, zip ----------------------------------------------------------------------------------


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Pair:
    left: int
    right: bool


class Settings:
    def __init__(self) -> None:
        self.weights = [1.5, 2.0, 2.5]


WEIGHTS, TABLE = [10, 20, 30], [[1, 2], [3, 4]]


def test_records_have_the_names_of_their_attributes() -> None:
    a = nessie.array([1, 2])
    points, pairs = a.map(lambda n: Point(n, n / 2)), a.map(lambda n: Pair(n, n > 1))
    assert points.to_numpy().dtype.names == points.dtype.names == ("x", "y")
    assert pairs.to_numpy().dtype.names == ("left", "right") and pairs.tolist() == [Pair(1, False), Pair(2, True)]
    assert nessie.array([[1, 2], [3, 4]]).map(lambda n: Point(n, 0.5)).to_numpy().dtype.names == ("x", "y")
    records = np.array([(1, 2.5), (3, 4.5)], [("k", "i8"), ("v", "f8")])
    kept = nessie.array(records).select(lambda p: p.k > 1).to_numpy()
    assert kept.tolist() == [(3, 4.5)] and kept.dtype.names == ("k", "v")


def test_lists_of_records_are_arrays_of_records() -> None:
    points = nessie.array([Point(1, 2.5), Point(3, 4.5)])
    assert points.shape == (2,) and points.dtype.names == ("x", "y")
    assert points.map(lambda p: p.x * p.y).tolist() == [2.5, 13.5] and points.tolist()[1] == Point(3, 4.5)
    assert nessie.array([Pair(1, True), Pair(2, False)]).map(lambda p: p.left if p.right else 0).tolist() == [1, 0]
    with pytest.raises(nessie.NessieError, match="not all of the class Point"):
        nessie.array([Point(1, 2.0), (1, 2.0)])


def test_a_tuple_of_two_classes_has_no_names() -> None:
    with pytest.raises(nessie.NessieError, match="has no attribute x"):
        nessie.array([1]).map(lambda n: (Point(n, 2.0) if n > 1 else (n, 2.0)).x)


def test_captured_lists() -> None:
    settings, a = Settings(), nessie.array([0, 1, 2])
    assert a.map(lambda i: WEIGHTS[i] + sum(WEIGHTS) + len(TABLE)).tolist() == [72, 82, 92]
    assert a.map(lambda i: TABLE[i % 2][1]).tolist() == [2, 4, 2]
    looked_up = a.map(lambda i: settings.weights[i])
    settings.weights[0] = 99.0
    assert looked_up.tolist() == [1.5, 2.0, 2.5]


def neighbours(row):
    total = 0
    for x, y in zip(row, row[1:]):
        total += x * y
    return total


def test_zip_stops_at_the_shorter_one() -> None:
    assert nessie.nest(ROWS).map(neighbours).tolist() == [neighbours(row) for row in ROWS]


def test_a_file_that_has_changed_is_not_compiled(tmp_path: Path) -> None:
    file = tmp_path / "changing.py"
    file.write_text("def f(x):\n    return x + 1\n")
    spec = importlib.util.spec_from_file_location("changing", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert nessie.array([1]).map(module.f).tolist() == [2]
    old = module.f
    file.write_text("def f(x):\n    y = 20\n    return x + y\n")
    spec.loader.exec_module(module)
    assert nessie.array([1]).map(module.f).tolist() == [21]             # it has been loaded again
    source.written_code.cache_clear()
    with pytest.raises(nessie.NessieError, match="the file has changed since it was loaded"):
        nessie.array([1]).map(old)


# Lambdas --------------------------------------------------------------------------------------------


def test_two_lambdas_on_one_line() -> None:
    a, b = nessie.array([1, 2]).map(lambda x: x + 1), nessie.array([1, 2]).map(lambda x: x - 1)
    assert a.tolist() == [2, 3] and b.tolist() == [0, 1]


def test_loop_variables_in_lambdas_mean_what_they_mean_in_python() -> None:
    mapped = [nessie.array([1, 2]).map(lambda x: x * k) for k in range(3)]          # noqa: B023     taken at the call
    assert [a.tolist() for a in mapped] == [[0, 0], [1, 2], [2, 4]]
    later = [lambda x: x * k for k in range(3)]     # noqa: B023     k is the last one when they are called
    assert [nessie.array([1, 2]).map(f).tolist() for f in later] == [[f(1), f(2)] for f in later] == [[2, 4]] * 3
    bound = [lambda x, k=k: x * k for k in range(3)]
    assert [nessie.array([1, 2]).map(f).tolist() for f in bound] == [[0, 0], [1, 2], [2, 4]]


def times(k: int) -> Callable[[int], int]:
    return lambda x: x * k


def joined(a: Callable[[int], int], b: Callable[[int], int]) -> Callable[[int], int]:
    return lambda x: a(x) + 10 * b(x)


def test_functions_of_one_text_that_are_two_functions() -> None:
    """What is compiled for one function that is called twice is not for two that look alike."""
    two, three = times(2), times(3)
    v = nessie.array([1, 2])
    for body in (joined(two, two), joined(two, three), joined(three, two), joined(two, joined(three, two)),
                 joined(two, joined(two, two)), joined(joined(two, three), three)):
        assert v.map(body).to_numpy().tolist() == [body(1), body(2)]


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor, self.pair = factor, (factor, factor + 1)

    def of(self, a: Any) -> Any:
        return a.map(lambda x: x * self.factor).tolist()

    def of_pair(self, a: Any) -> Any:
        return a.map(lambda x: x * self.pair[1]).tolist()


def test_attributes_of_objects_are_those_at_the_call() -> None:
    """Another object of the class compiles nothing anew, another tuple of constants does; no object is kept."""
    a, first = nessie.array([1, 2]), Scale(3)
    assert first.of(a) == [3, 6] and first.of_pair(a) == [4, 8]
    before, gone = running.COUNTS.compiled, weakref.ref(first)
    assert Scale(5).of(a) == [5, 10] and Scale(3).of_pair(a) == [4, 8] and running.COUNTS.compiled == before
    first.pair = 7, 8
    assert first.of_pair(a) == [8, 16]
    del first
    gc.collect()
    assert gone() is None


FIVE = 5


def by_five(x: int) -> int:
    return x * FIVE


also_by_five = once_more = by_five


def test_a_function_by_two_names() -> None:
    @nessie.host_section
    def both(v):                                                                            # type: ignore[no-untyped-def]
        return also_by_five(v) + once_more(v)

    assert np.asarray(both(nessie.array([1, 2]))).tolist() == [10, 20]
    assert nessie.array([1, 2]).map(lambda x: also_by_five(x) + once_more(x)).to_numpy().tolist() == [10, 20]
