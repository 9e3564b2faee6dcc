"""Functions that run per element and read sequences: every executor agrees, and none of them is lifted."""
from __future__ import annotations

from random import Random

import pytest
from amounts import examples
from executors import EXECUTORS, Compiled, Failed, agree, assert_all_agree, assert_the_gpu_agrees, outcome, same
from reading_cases import CASES, compiled

from nessie.lambda_cu import nodes as ir


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    assert_all_agree(compiled(name), CASES[name][-1], name.startswith("a failure"))


@pytest.mark.parametrize("name", CASES)
def test_the_gpu_agrees(name: str) -> None:
    assert_the_gpu_agrees(compiled(name, "cuda"), CASES[name][-1])


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lifted(name: str) -> None:
    program = compiled(name).flat
    assert program.scalar_functions and len(program.functions) == 1


def test_calls_with_the_same_payloads_share_a_version() -> None:
    def count(name: str) -> int:
        return len(compiled(name).flat.scalar_functions)

    assert count("one version for two") == 1
    assert count("a search for each") == 1
    assert count("either of two as a result") == 2          # it goes on with the two the other way round


def test_what_a_call_reads_is_made_before() -> None:
    """No schedule puts what makes the array into the kernel whose call reads it."""
    for name in ("in what is made just before", "in what survives just before"):
        for kernel in compiled(name).executable("ilp").kernels:
            made = {result for bind in kernel.binds for result in bind.names}
            read = {array for bind in kernel.binds for array in arrays_of(bind.soac)}
            assert not made & read


def arrays_of(soac: ir.Soac) -> list[str]:
    from nessie.lambda_cu.scope import passed, soac_expressions
    return [array for exp in soac_expressions(soac) for array in passed(exp)]


# What loops know of their ints --------------------------------------------------------------------

LOOP = """
function go(k, v, w, a, b, s) : (int, [int], [int], int, int, int) -> int =
  if {end} then {result}
  else let s = s + {read} in {step};
function main(xs, v, w) : ([int], [int], [int]) -> [int] = {{go(9, v, w, {start}, {other}, 0) : x in xs}};
"""


def random_loop(random: Random) -> str:
    """A program whose function goes through sequences, and sometimes beyond them: its ints move by random steps."""
    def term(depth: int, names: str = "a a b b #v #w k") -> str:
        if depth == 0 or random.random() < 0.3:
            return random.choice([*names.split(), *names.split(), "0", "1", "2"])
        one, other = term(depth - 1, names), term(depth - 1, names)
        return random.choice([f"({one} + 1)", f"({one} - 1)", f"(({one} + {other}) / 2)", f"min({one}, {other})",
                              f"max({one}, {other})", f"({one} + {other})", f"({one} - {other})", f"rem({one}, 3)"])

    def test() -> str:
        return f"{term(1)} {random.choice(['<', '<=', '>', '>=', '=='])} {random.choice(['#v', '#w', term(1)])}"

    def call() -> str:
        passed = random.choice(["v, w", "v, w", "v, w", "v, w", "w, v", "drop(v, min(1, #v)), w"])
        return f"go({random.choice(['k - 1', 'k - 1', 'k - 3'])}, {passed}, {term(2)}, {term(2)}, s)"

    def read() -> str:
        at = f"{random.choice('vw')}[{term(2)}]"
        return random.choice([at, f"(if {test()} then {at} else {term(1)})"])

    choice = f"if {test()} then {call()} else {call()}"
    step = random.choice([call(), choice, choice, f"{call()} + {call()}",
                          f"let p = {call()} in if p < #v then p + v[p] else {term(1)}",
                          f"let p = {call()}; q = go(k - 4, v, w, p, {term(1)}, s) in p + q + {read()}"])
    return LOOP.format(end=random.choice(["k < 1", f"k < 1 or {test()}", f"k < 1 or {test()}"]),
                       result=random.choice(["s", term(1), "a", "a + s", f"(if {test()} then v[{term(1)}] else s)"]),
                       read=read(), step=step, start=term(1, "x #v #w 0 0"), other=term(1, "x #v #w 0 0"))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_random_loops(seed: int) -> None:
    random = Random(seed)
    program = Compiled(random_loop(random))
    for _ in range(3):
        v, w = ([random.randint(-9, 9) for _ in range(random.choice([0, 1, 2, 5]))] for _ in range(2))
        for xs in ([random.randint(-1, 6)], [random.randint(0, 3) for _ in range(4)]):
            expected = outcome(program, "interpreter", (xs, v, w))
            for executor in ("reference ilp", "cpu3 ilp"):
                found = outcome(program, executor, (xs, v, w))
                assert agree(expected, found), f"{executor}: {found}, not {expected}, for {xs}, {v}, {w}"


KNOWS = {
    "binary search": ("function go(v, x, a, b) = if a >= b then a else let m = (a + b) / 2 in "
                      "if v[m] < x then go(v, x, m + 1, b) else go(v, x, a, m);", "go(v, x, 0, #v)"),
    "every element, upwards": ("function go(v, i, s) = if i == #v then s else go(v, i + 1, s + v[i]);", "go(v, 0, x)"),
    "every element, downwards": ("function go(v, i, s) = if i < 0 then s else go(v, i - 1, s + v[i]);",
                                 "go(v, #v - 1, x)"),
    "a merge": ("function go(v, w, i, j, s) = if i >= #v or j >= #w then s else "
                "if v[i] < w[j] then go(v, w, i + 1, j, s) else go(v, w, i, j + 1, s + 1);", "go(v, v, 0, 0, x)"),
    "what a search finds": ("function g(v, x, a, b) = if a >= b then a else let m = (a + b) / 2 in "
                            "if v[m] < x then g(v, x, m + 1, b) else g(v, x, a, m);"
                            "function go(v, x) = let p = g(v, x, 0, #v) in if p < #v then v[p] else x;", "go(v, x)"),
}


@pytest.mark.parametrize("name", KNOWS)
def test_loops_within_their_sequences_have_no_checks(name: str) -> None:
    text, call = KNOWS[name]
    program = Compiled(f"{text} function main(xs, v) : ([int], [int]) -> [int] = {{{call} : x in xs}};")
    assert program.flat.scalar_functions and not program.flat.sites
    for xs, v in ([3, 0, 9], [1, 3, 5, 7]), ([2], []), ([], [1]):
        expected = outcome(program, "interpreter", (xs, v))
        assert [outcome(program, executor, (xs, v)) for executor in EXECUTORS[1:]] == [expected] * len(EXECUTORS[1:])


SEVERAL = """
function go(k, v, w, a, s) : (int, [int], [int], int, int) -> int = if k < 1 then s
  else let p = go(k - 1, w, v, 0, s); q = go(k - 1, w, v, a - 3, s) in p + q + (if a < #v then v[a] else 0);
function main(xs, v, w) : ([int], [int], [int]) -> [int] = {go(x, v, w, 0, 0) : x in xs};
"""


def test_versions_that_call_one_another_know_nothing() -> None:
    program = Compiled(SEVERAL)
    for k, fails in (1, False), (2, True):
        expected = outcome(program, "interpreter", ([k], [1, 2, 3], [10, 20]))
        assert isinstance(expected, Failed) == fails
        assert all([agree(expected, outcome(program, executor, ([k], [1, 2, 3], [10, 20]))) for executor in EXECUTORS])


def test_versions_of_permuted_sequences_are_made_soon() -> None:
    """Each is made a few times, not as many times as there are versions around it."""
    program = Compiled("""
        function go(k, u, v, w, z, a, b, s) : (int, [int], [int], [int], [int], int, int, int) -> int = if k < 1 then s
          else let p = go(k - 1, v, w, z, u, a - 1, b, 0); q = go(k - 1, v, u, w, z, a, b - 1, 0)
               in p + q + (if a >= 0 and a < #u then u[a] else b);
        function main(xs, u, v) : ([int], [int], [int]) -> [int] = {go(3, u, v, v ++ u, u ++ v, x, x, 0) : x in xs};""")
    assert len(program.flat.scalar_functions) == 24
    same(program, [3, 0, 1], [1, 2], [3])


def test_loops_that_leave_their_sequences_are_told() -> None:
    program = Compiled("function go(v, i) = if v[i] == 0 then i else go(v, i + 1);"
                       "function main(v, at) : ([int], [int]) -> [int] = {go(v, i) : i in at};")
    assert [outcome(program, executor, ([2, 0], [0, 1])) for executor in EXECUTORS] == [[1, 1]] * len(EXECUTORS)
    for v, at in ([2, 1], [0]), ([], [0]), ([0], [-1]):
        assert all([isinstance(outcome(program, executor, (v, at)), Failed) for executor in EXECUTORS])
