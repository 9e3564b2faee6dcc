"""Calls with arguments of the same kinds, so often that they have a plan: they give what the first ones gave."""
from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api.plans import MOST, PATIENCE, Plan
from nessie.cudagen.cpu import device

TEXT = """
function twice(x) = 2 * x + 1;
function half(x) : float -> float = x / 2.0;
function norm(v) = sum({x * x : x in v});
function squares(v) = {x * x : x in v};
function same(v) = v;
function both(v, n) = (v, {x + n : x in v});
function small(n) = if n > 0 then [1, 2, 3] else [n];
function at(v, i) = v[i];
function words(n) = "n is " ++ @n;
function rows(v) = {[0:x] : x in v};
function not_yet(b) = not(b);
function sorted(v) = sort(v);
function totals(vv) : [[float]] -> [float] = {sum(v) : v in vv};
function deep(vvv) : [[[float]]] -> [float] = {sum({sum(v) : v in vv}) : vv in vvv};
function grown(vv) = {{x + 1 : x in v} : v in vv};
function unchanged(vv) : [[int]] -> [[int]] = vv;
function lengths(words) : [[char]] -> [int] = {#w : w in words};
function keyed(ps) : [(int, (float, bool))] -> float = sum({if b then x * float(k) else 0.0 : (k, (x, b)) in ps});
function spaces(text) = count({c == space : c in text});
function code(c) : char -> int = char_code(c);
"""
OFTEN = range(PATIENCE + 5)


@pytest.fixture
def program() -> nessie.Program:
    return nessie.compile(TEXT)


def has_plan(program: nessie.Program, name: str) -> bool:
    return any(isinstance(plan, Plan) for (function, _, _), plan in program._calls.plans.items()
               if function == name)


def often(program: nessie.Program, name: str, *arguments: Any) -> Any:
    """The last result of many calls."""
    for _ in OFTEN:
        found = program[name](*arguments)
    assert has_plan(program, name)
    return found


def test_code_of_many_small_calls_is_optimised(cache_folder: Path, program: nessie.Program,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is the test's own: code that it keeps is optimised already."""
    often(program, "norm", np.array([1, 2]))
    [callers] = [plan.callers for plan in program._calls.plans.values() if isinstance(plan, Plan)]
    [caller] = callers.idle
    assert caller.device.quick
    monkeypatch.setattr(device, "WORTH", 0.0)
    assert program.norm(np.array([1, 2])) == 5
    assert not caller.device.quick


def test_scalars(program: nessie.Program) -> None:
    assert often(program, "twice", 20) == 41
    assert often(program, "half", 3.0) == 1.5 and often(program, "half", 3) == 1.5
    assert often(program, "not_yet", True) is False
    assert isinstance(program.twice(1), int) and isinstance(program.half(1.0), float)


def test_arrays(program: nessie.Program) -> None:
    v = np.arange(100.0)
    assert often(program, "norm", v) == np.sum(v * v)
    assert (often(program, "squares", v) == v * v).all()
    assert program.norm(np.zeros(0)) == 0.0 and len(program.squares(np.zeros(0))) == 0
    large = np.arange(300_000.0)                    # on several threads
    assert (program.squares(large) == large * large).all()
    v.flags.writeable = False
    assert program.norm(v) == np.sum(v * v)
    assert (program.squares(np.arange(100.0)[::2]) == np.arange(100.0)[::2] ** 2).all()         # has no plan
    assert (often(program, "squares", np.arange(5, dtype=np.int32)) == [0, 1, 4, 9, 16]).all()
    assert (often(program, "sorted", np.array([3, 1, 2])) == [1, 2, 3]).all()


def test_results_are_the_callers(program: nessie.Program) -> None:
    """What a call has returned may be written to; no other call sees that."""
    v = np.arange(10.0)
    same = often(program, "same", v)
    assert (same == v).all() and not np.may_share_memory(same, v)
    first, second = often(program, "both", v, 1.0)
    assert (first == v).all() and (second == v + 1).all() and not np.may_share_memory(first, v)
    small = often(program, "small", 1)
    small[0] = 9
    assert program.small(1).tolist() == [1, 2, 3] and program.small(-1).tolist() == [-1]
    squares = program.squares(v)
    assert (program.squares(v + 1) == (v + 1) ** 2).all() and (squares == v * v).all()


def test_variables(program: nessie.Program) -> None:
    """What a program has computed once is given to each call, and stays as it is."""
    program.define("""
        steps = [1.5, 2.5];
        pair = ([1, 2], t);
        function scaled(v) = {x * steps[1] : x in v};
        function kept(n) = if n > 0 then steps else [float(n)];
        function told(n) = let (v, b) = pair in if b then (n, v) else (0, v);""")
    assert often(program, "scaled", np.arange(3.0)).tolist() == [0.0, 2.5, 5.0]
    kept = often(program, "kept", 1)
    kept[0] = 9.0
    assert program.kept(1).tolist() == [1.5, 2.5] == program.steps.tolist() and program.kept(-1).tolist() == [-1.0]
    number, v = often(program, "told", 7)
    assert number == 7 and v.tolist() == [1, 2]
    program.define("steps = [0.0, 4.0];")
    assert program.kept(1).tolist() == [0.0, 4.0]


def test_nested_arguments(program: nessie.Program) -> None:
    nested = nessie.Nested([0, 2, 2, 3], np.array([1.0, 2.0, 3.0]))
    assert often(program, "totals", nested).tolist() == [3.0, 0.0, 3.0]
    assert program.totals(nessie.Nested([0], np.zeros(0))).tolist() == []
    assert program.totals(nessie.Nested([0, 0, 0], np.zeros(0))).tolist() == [0.0, 0.0]
    assert program.totals(nessie.Nested([0, 1], np.array([7], np.int32))).tolist() == [7.0]      # another kind
    again = nessie.Nested([0, 1, 3], nested)
    assert often(program, "deep", again).tolist() == [3.0, 3.0]
    for shape in (3, 4), (0, 4), (3, 0), (5, 1):
        whole = np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
        assert often(program, "totals", whole).tolist() == whole.sum(1).tolist()
    cube = np.arange(24.0).reshape(2, 3, 4)
    assert often(program, "deep", cube).tolist() == cube.sum((1, 2)).tolist()
    assert often(program, "totals", cube[0].T).tolist() == cube[0].sum(0).tolist()               # has no plan
    words = nessie.Nested([0, 2, 5], np.array(list("abcde")))
    assert often(program, "lengths", words).tolist() == [2, 3]


def test_nested_results_are_the_callers(program: nessie.Program) -> None:
    nested = nessie.Nested([0, 2, 2, 3], np.array([1, 2, 3]))
    grown = often(program, "grown", nested)
    assert grown.to_list() == [[2, 3], [], [4]] and program.grown(grown).to_list() == [[3, 4], [], [5]]
    grown.content[0] = 100
    assert program.grown(nested).to_list() == [[2, 3], [], [4]] and nested.to_list() == [[1, 2], [], [3]]
    same = often(program, "unchanged", nested)
    same.content[0] = 100
    assert nested.to_list() == [[1, 2], [], [3]]


def test_offsets_are_checked(program: nessie.Program) -> None:
    nested = nessie.Nested([0, 2, 2, 3], np.array([1.0, 2.0, 3.0]))
    often(program, "totals", nested)
    wrong = nessie.Nested([0, 2], np.array([1.0, 2.0]))
    wrong.offsets = np.array([0, 5])
    with pytest.raises(nessie.NessieError, match="offsets run from 0"):
        program.totals(wrong)
    wrong = nessie.Nested([0, 2], np.array([1.0, 2.0]))
    wrong.content = np.zeros(1)
    with pytest.raises(nessie.NessieError, match="offsets run from 0"):
        program.totals(wrong)
    wrong.offsets = np.array([0.0, 1.0])                # no words of 64 bits: they are converted
    assert program.totals(wrong).tolist() == [0.0]


def test_tuples_and_texts(program: nessie.Program) -> None:
    pairs = nessie.Tuples(np.array([1, 2]), nessie.Tuples(np.array([2.0, 3.0]), np.array([True, False])))
    assert often(program, "keyed", pairs) == 2.0
    assert program.keyed(nessie.Tuples(np.array([], int), nessie.Tuples(np.zeros(0), np.zeros(0, bool)))) == 0.0
    assert often(program, "spaces", "a b c") == 2 and program.spaces("") == 0 and program.spaces("\u4e00 ") == 1
    assert often(program, "code", "a") == 97
    with pytest.raises(nessie.NessieError, match="char"):
        program.code("ab")


def test_lists_run_on_the_same_machines(program: nessie.Program) -> None:
    rows = [[1, 2], [], [3]]
    for number in range(2 * PATIENCE + 5):
        assert program.grown([*rows, [number]]).to_list() == [[2, 3], [], [4], [number + 1]]
        assert program.spaces(["a", " "]) == 1
    (found,) = [f for (name, *_), f in program._calls.typed.items() if name == "grown"]
    assert all(compiled.callers for compiled in found.compiled.values())
    assert {program.at([1, 2], 1) for _ in OFTEN} == {2}
    with pytest.raises(nessie.NessieError, match="the index is 7, the length 2"):
        program.at([1, 2], 7)
    assert program.at([1, 2], 0) == 1


def test_short_lists_of_numbers_have_plans_as_arrays_have(program: nessie.Program) -> None:
    assert often(program, "squares", [1, 2, 3]).tolist() == [1, 4, 9]
    assert program.squares([1.5, 2.0]).tolist() == [2.25, 4.0] == often(program, "squares", [1.5, 2.0]).tolist()
    assert often(program, "at", [True, False], 0) is True and program.at([7, 8], 1) == 8
    mixed = [program.squares(given).tolist() for given in ([], [1, 2.5], [4], list(range(2000)))]
    assert mixed == [[], [1.0, 6.25], [16], [x * x for x in range(2000)]]
    assert program.totals([[1, 2], []]).tolist() == [3.0, 0.0]
    given = [3, 4]
    kept = often(program, "same", given)
    given[0] = 0
    assert kept.tolist() == [3, 4]
    with pytest.raises(nessie.NessieError, match="64 bits"):
        program.squares([2 ** 70])
    with pytest.raises(nessie.NessieError, match="the elements of a list differ"):
        program.squares([1, True])
    with pytest.raises(nessie.NessieError, match="the index is 7, the length 2"):
        program.at([1, 2], 7)


def test_other_results(program: nessie.Program) -> None:
    assert often(program, "words", 5) == "n is 5"
    assert [row.tolist() for row in often(program, "rows", np.array([2, 0, 1]))] == [[0, 1], [], [0]]


def test_failures_are_those_of_first_calls(program: nessie.Program) -> None:
    v = np.arange(5.0)
    with pytest.raises(nessie.NessieError) as first:
        program.at(v, 7)
    assert often(program, "at", v, 2) == 2.0
    for _ in range(3):
        with pytest.raises(nessie.NessieError) as later:
            program.at(v, 7)
        assert str(later.value) == str(first.value) and "the index is 7, the length 5" in str(later.value)
        assert program.at(v, 3) == 3.0
    often(program, "twice", 1)
    with pytest.raises(nessie.NessieError, match="beyond 64 bits"):
        program.twice(1 << 70)
    often(program, "half", 1)
    with pytest.raises(nessie.NessieError, match="beyond what a float holds"):
        program.half(10 ** 400)


CALLING = """
function halved(v, n) : ([float], int) -> [float] = if n == 0 then v else halved({x / 2.0 : x in v}, n - 1);
function depth(v, n) : ([int], int) -> int = if n == 0 then sum(v) else depth({x + 1 : x in v}, n - 1) + 1;
function sorted(v) : [int] -> [int] =
    if #v < 2 then v
    else let p = v[#v / 2] in sorted({x in v | x < p}) ++ {x in v | x == p} ++ sorted({x in v | x > p});
function picked(v, n, i) : ([int], int, int) -> int = if n == 0 then v[i] else picked({x + n : x in v}, n - 1, i);
function for_ever(v) : [int] -> [int] =
    if v[0] < 0 then v else for_ever({rem(sum({rem(x * j, 7) : j in [0:20000]}), 100) : x in v});
"""


def test_functions_that_call_themselves() -> None:
    program, v = nessie.compile(CALLING), np.arange(5)
    assert often(program, "halved", v * 4.0, 2).tolist() == v.tolist()
    assert program.halved(v * 4.0, 2000).tolist() == [0.0] * 5
    assert program.halved(v * 4.0, 1).tolist() == [0, 2, 4, 6, 8]
    assert often(program, "depth", v, 3) == 10 + 5 * 3 + 3
    assert program.depth(v, 1500) == 10 + 5 * 1500 + 1500        # frames need more room
    assert program.depth(v, 3) == 28
    shuffled = np.random.default_rng(1).permutation(300)
    assert often(program, "sorted", shuffled).tolist() == list(range(300))
    assert program.sorted(shuffled[::-1].copy()).tolist() == list(range(300))


def test_failures_of_functions_that_call_themselves() -> None:
    fresh, program, v = nessie.compile(CALLING, depth=900), nessie.compile(CALLING, depth=900), np.arange(5)
    often(program, "depth", v, 3)
    with pytest.raises(nessie.NessieError, match="recursion") as first:
        fresh.depth(v, 1000)
    for _ in range(3):
        with pytest.raises(nessie.NessieError) as later:
            program.depth(v, 1000)
        assert str(later.value) == str(first.value) and program.depth(v, 3) == 28
    often(program, "picked", v, 3, 0)
    with pytest.raises(nessie.NessieError) as first:
        fresh.picked(v, 3, 9)
    for _ in range(3):
        with pytest.raises(nessie.NessieError) as later:
            program.picked(v, 3, 9)
        assert str(later.value) == str(first.value) and "called from here" in str(later.value)
        assert program.picked(v, 3, 1) == 7


def test_memory_of_functions_that_call_themselves() -> None:
    program = nessie.compile(CALLING, memory=5_000_000)
    often(program, "depth", np.arange(5), 3)
    with pytest.raises(nessie.NessieError, match="memory"):
        program.depth(np.arange(1_000_000), 50)
    assert program.depth(np.arange(5), 3) == 28


def test_an_endless_function_is_interrupted() -> None:
    program = nessie.compile(CALLING)
    often(program, "for_ever", np.array([-1, 2]))
    for _ in range(2):
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt, match="for_ever"):
            program.for_ever(np.array([1, 2]))
        timer.join()
        assert program.for_ever(np.array([-1, 2])).tolist() == [-1, 2]


def test_new_definitions_are_seen(program: nessie.Program) -> None:
    assert often(program, "twice", 1) == 3
    program.define("function twice(x) = 3 * x;")
    assert often(program, "twice", 1) == 3 and program.twice(2) == 6


def test_memory_is_limited_and_released() -> None:
    program = nessie.compile(TEXT, memory=10_000_000)
    often(program, "squares", np.arange(100.0))
    with pytest.raises(nessie.NessieError, match="memory"):
        program.squares(np.zeros(10_000_000))
    assert len(program.squares(np.zeros(100_000))) == 100_000
    free = nessie.compile(TEXT)
    often(free, "norm", np.arange(100.0))
    nessie.release_memory()
    assert free._calls.memory.used == 0 and free.norm(np.ones(3)) == 3.0


def test_threads(program: nessie.Program) -> None:
    often(program, "squares", np.arange(100.0))
    wrong: list[int] = []

    def work(number: int) -> None:
        v = np.full(100 + number, float(number))
        for _ in range(200):
            if not (program.squares(v) == v * v).all():
                wrong.append(number)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_narrow_programs_round() -> None:
    program = nessie.compile(TEXT, float=32, int=32)
    assert often(program, "half", 0.2) == float(np.float32(0.2) / np.float32(2))
    often(program, "twice", 5)
    with pytest.raises(nessie.NessieError, match="beyond 32 bits"):
        program.twice(1 << 40)


# Lengths that types tell --------------------------------------------------------------------------

LENGTHS = """
function trmv(rows, x) : ([i < n => [float; i + 1]], [float; n]) -> [float; n]
    = {sum({p * q : p in row; q in take(x, #row)}) : row in rows};
function positive(v, x) : ([float; n], [float; m]) -> [float; m] = {e : e in v | e > 0.0};
function totals(vv) : [[float]] -> [float] = {sum(v) : v in vv};
function squares(v) = {x * x : x in v};
function scaled(v, i) : ([float; n], int) -> [float; n] = {x * float(i) : x in v};
"""


@pytest.fixture
def telling() -> nessie.Program:
    return nessie.compile(LENGTHS)


def triangle(n: int) -> tuple[Any, Any, Any]:
    """A packed triangle, a vector, and their product."""
    square, x = np.tril(np.arange(1.0, n * n + 1).reshape(n, n)), np.arange(n) + 0.5
    return square[np.tril_indices(n)], x, square @ x


def test_vectors_for_triangles(telling: nessie.Program) -> None:
    for n in (2, 7, 1):
        packed, x, product = triangle(n)
        assert np.allclose(often(telling, "trmv", packed, x), product)
        assert np.allclose(telling.trmv(2 * packed, x), 2 * product)
    assert telling.trmv(np.zeros(0), np.zeros(0)).tolist() == []


def test_squares_for_triangles(telling: nessie.Program) -> None:
    _, x, product = triangle(5)
    square = np.tril(np.arange(1.0, 26).reshape(5, 5)) + np.triu(np.full((5, 5), 9.0), 1)
    assert np.allclose(often(telling, "trmv", square, x), product)
    square[0, 0] = 3.0
    assert telling.trmv(square, x)[0] == 1.5


def test_lengths_that_differ_after_a_plan(telling: nessie.Program) -> None:
    packed, x, _ = triangle(3)
    often(telling, "trmv", packed, x)
    with pytest.raises(nessie.NessieError, match=r"argument 1 has 6 elements, .* has 3 for n = 2"):
        telling.trmv(packed, x[:2])
    with pytest.raises(nessie.NessieError, match="argument 1 has 5 elements"):
        telling.trmv(packed[:5], x)


def test_results_are_compared_with_their_lengths_each_time(telling: nessie.Program) -> None:
    two = np.zeros(2)
    assert often(telling, "positive", np.array([1.0, -1.0, 2.0]), two).tolist() == [1.0, 2.0]
    for _ in OFTEN:
        with pytest.raises(nessie.NessieError, match="the result has 3 elements, and 2 are due"):
            telling.positive(np.ones(3), two)
    assert telling.positive(np.array([0.0, 5.0, 6.0]), two).tolist() == [5.0, 6.0]


def test_types_that_are_asked_for(telling: nessie.Program) -> None:
    """Each has plans of its own; types of the same text share them."""
    vector, square = np.arange(6.0), np.arange(4.0).reshape(2, 2)
    for _ in OFTEN:
        assert telling.totals.at("[i < n => [float; i + 1]]")(vector).tolist() == [0.0, 3.0, 12.0]
        assert telling.totals.at("[[float; 2]]")(vector).tolist() == [1.0, 5.0, 9.0]
        assert telling.totals(square).tolist() == [1.0, 5.0]
        assert telling.totals.at("[i < n => [float; i + 1]]")(square).tolist() == [0.0, 5.0]
    plans = [plan for (function, _, _), plan in telling._calls.plans.items() if function == "totals"]
    assert len(plans) == 4 and all(isinstance(plan, Plan) for plan in plans)


def test_what_is_converted_has_no_plan(telling: nessie.Program) -> None:
    _, x, product = triangle(3)
    for given in ([[1.0], [4.0, 5.0], [7.0, 8.0, 9.0]], np.array([1, 4, 5, 7, 8, 9])):
        for _ in OFTEN:
            assert np.allclose(telling.trmv(given, x), product)
    assert not has_plan(telling, "trmv")


def test_few_kinds_are_known_at_once(telling: nessie.Program) -> None:
    squares = telling.squares.at("[float; n]")
    often(telling, "squares", np.ones(3))
    for n in range(2 * MOST):
        assert len(squares(np.ones(n))) == n
        assert len(telling._calls.plans) <= MOST
    assert has_plan(telling, "squares")
    for n in range(3, MOST + 3):
        for _ in range(PATIENCE):
            squares(np.ones(n))
        assert len(telling._calls.plans) <= MOST


def test_ints_beside_lengths_share_a_plan(telling: nessie.Program) -> None:
    for i in range(2 * PATIENCE):
        assert telling.scaled(np.ones(3), i).tolist() == [i] * 3
    assert has_plan(telling, "scaled") and len(telling._calls.plans) == 1
