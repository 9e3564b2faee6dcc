"""Programs whose numbers have 32 bits: all executors agree on them, bit for bit, as on those of 64. And arguments that
are narrower than a program's numbers."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from amounts import examples
from built import execute
from executors import DEPTH, MEMORY, Compiled, Failed, agree, interpreted, narrow, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_folds import fold_programs
from random_programs import RandomProgram, programs

from nessie import driver, forms, pipeline
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.text.places import Places
from nessie.base.values import Flat, Nested, flatten_value, plain_value
from nessie.base.widths import Widths
from nessie.cudagen.host import host
from nessie.lambda_cu.layout import layout_of_value
from nessie.lambda_cu.reference import reference

WIDTHS = (Widths(32, 64), Widths(64, 32), Widths(32, 32))
quick = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))


def compare(random: RandomProgram, executors: tuple[str, ...], widths: Widths, target: str = "cpu") -> None:
    program = Compiled(random.source, widths=widths, target=target)
    arguments = narrow(random.arguments, widths)
    expected = interpreted(program, arguments)
    for executor in executors:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}, {widths}: {found}, not {expected}\n{random}"
        expected = found            # it knows more of a failure than the interpreter


@quick
@given(programs(4), st.sampled_from(WIDTHS))
def test_random_programs(random: RandomProgram, widths: Widths) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"), widths)


@quick
@given(st.integers(1, 3).flatmap(fold_programs), st.sampled_from(WIDTHS))
def test_random_folds(random: RandomProgram, widths: Widths) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"), widths)


@settings(quick, max_examples=examples(6))
@given(programs(3), st.sampled_from(WIDTHS))
def test_random_programs_compiled(random: RandomProgram, widths: Widths) -> None:
    compare(random, ("cpu3 ilp",), widths)


@pytest.mark.slow
@settings(quick, max_examples=examples(6))
@given(programs(3), st.sampled_from(WIDTHS))
def test_random_programs_on_cudasim(random: RandomProgram, widths: Widths) -> None:
    compare(random, ("cudasim ilp",), widths, "cuda")


EXACT = {                       # an expression and what it is for ints of 32 bits, where a is 2^31 - 1 and v [a, 1, -7]
    "a + 1": -2**31, "a * a": 1, "-(-a - 1)": -2**31, "abs(-a - 1)": -2**31, "(-a - 1) / -1": -2**31,
    "sum(v)": 2**31 - 7, "product(v)": 2**31 + 7,
    "plus_scan(v)": [0, 2**31 - 1, -2**31], "max_val([] int)": -2**31, "min_scan(v)": [2**31 - 1, 2**31 - 1, 1],
    "lshift(1, 31)": -2**31, "rshift(-8, 31)": -1, "not(a)": -2**31, "#v": 3, "rank(v)": [2, 1, 0],
    "write_add(v, [(0, 1), (2, 7)])": [-2**31, 1, 0], "{sum(r) : r in [v, v]}": [2**31 - 7] * 2,
    "trunc(-2147483648.5)": -2**31, "floor(2147483647.75)": 2**31 - 1, "a ^ 2": 1, "isqrt(a)": 46340,
    "v <- [(1, a + 2)]": [2**31 - 1, -2**31 + 1, -7], "sort(v)": [-7, 1, 2**31 - 1], "{x in v | x > 0}": [2**31 - 1, 1],
    "mod(-7, 3)": 2, "char_code(`a)": 97, "code_char(#v + 62)": "A", "index(#v)": [0, 1, 2], "max_int == a": True,
}
MANY = ("interpreter", "reference none", "reference ilp", "loops ilp", "cpu3 ilp", "cudasim ilp")


def test_ints_of_32_bits_wrap_everywhere() -> None:
    source, a = f"function main(a, v) = ({', '.join(EXACT)});", 2**31 - 1
    expected = nested([narrow(value, Widths(64, 32)) for value in EXACT.values()])
    for executor in MANY:
        program = Compiled(source, widths=Widths(64, 32), target="cuda" if "cudasim" in executor else "cpu")
        assert agree(outcome(program, executor, (a, [a, 1, -7])), expected), executor


def nested(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else (items[0], nested(items[1:]))


INTS = [2**31 - 1, -2**31, 0, 2**31 - 1, -1, -2**31]
PAIRS_OF_INTS = list(zip(INTS, [*INTS[1:], -2**31], strict=True))
TEXTS = [*map(list, ("b" * 40, "", "b" * 41, "a\U0010ffff", "b" * 40, "\U0010ffff" * 9, "\U0010ffff" * 9 + "a"))]
ROWS = [[2**31 - 1, -2**31], [], [2**31 - 1], [-2**31] * 5, [2**31 - 1, -2**31], [2**31 - 1, -2**31, 0]]


KEYED = {                       # an expression of keys, whose hashes and joined parts need more than 32 bits
    "remove_duplicates(v)": [2**31 - 1, -2**31, 0, -1], "sort_any(p)": sorted(PAIRS_OF_INTS),
    "sort_any(s)": sorted(TEXTS), "sort_any(w)": sorted(ROWS),
    "rank_any(w)": [sorted(range(6), key=lambda i: (ROWS[i], i)).index(i) for i in range(6)],
    "name(s)": [len(TEXTS) - 1 - TEXTS[::-1].index(x) for x in TEXTS],
    "name(p)": [len(INTS) - 1 - PAIRS_OF_INTS[::-1].index(x) for x in PAIRS_OF_INTS],
    "name(w)": [len(ROWS) - 1 - ROWS[::-1].index(x) for x in ROWS],
    "histogram(v)": [(x, INTS.count(x)) for x in dict.fromkeys(INTS)],
    "{(k, max_val(vs), min_val(vs), sum(vs), #vs) : (k,vs) in int_collect({(x, y) : (x, y) in p})}": [
        (k, (max(vs), (min(vs), ((sum(vs) + 2**31) % 2**32 - 2**31, len(vs))))) for k in sorted(set(INTS))
        for vs in [[y for x, y in PAIRS_OF_INTS if x == k]]],
    "{max_val({y : y in vs | y > k}) : (k,vs) in int_collect(p)}": [
        max([y for x, y in PAIRS_OF_INTS if x == k and y > k], default=-2**31) for k in sorted(set(INTS))],
}


def test_keys_of_32_bits_everywhere() -> None:
    source = f"""function main(v, p, s, w) : ([int], [(int,int)], [[char]], [[int]])
        -> ([int], [(int,int)], [[char]], [[int]], [int], [int], [int], [int], [(int,int)],
            [(int,int,int,int,int)], [int]) = ({', '.join(KEYED)});"""
    for executor in MANY:
        program = Compiled(source, widths=Widths(64, 32), target="cuda" if "cudasim" in executor else "cpu")
        found = outcome(program, executor, (INTS, PAIRS_OF_INTS, TEXTS, ROWS))
        assert agree(found, nested([*KEYED.values()])), f"{executor}: {found}"


SINGLES = {                     # an expression of x, which is 0.1, and v, [2^24, 1, 1], and its value, rounded by NumPy
    "x + 0.2": np.float32(0.1) + np.float32(0.2), "x * x": np.float32(0.1) * np.float32(0.1),
    "v[0] + 1.0": np.float32(2**24), "sum(v)": np.float32(2**24 + 2), "sqrt(x)": np.sqrt(np.float32(0.1)),
    "x / 3.0": np.float32(0.1) / np.float32(3.0), "float(16777217)": np.float32(16777217),
    "{y + 1.0 : y in v}": np.float32([2**24, 2, 2]), "plus_scan(v)": np.float32([0, 2**24, 2**24 + 1]),
    "product([x, x, x])": np.float32(float(np.float32(0.1)) ** 3), "1e300": np.float32(np.inf),
    "max(x, 0.0)": np.float32(0.1), "-x": -np.float32(0.1), "sort(v)": np.float32([1, 1, 2**24]),
    "write_add(v, [(0, 1.0), (0, 1.0)])": np.float32([2**24 + 2, 1, 1]), "pi": np.float32(np.pi),
    "{sum(r) : r in [v, [x]]}": np.float32([2**24 + 2, 0.1]), "x == 0.1": True,
    "v <- [(1, x)]": np.float32([2**24, 0.1, 1]),
    "{float(i) : i in [2 ^ 60 + 2 ^ 36 + 1]}": np.float32([float(2**60 + 2**36 + 1)]),
}


def test_floats_of_32_bits_are_rounded_everywhere() -> None:
    source = f"function main(x, v) = ({', '.join(SINGLES)});"
    expected = nested([value if isinstance(value, bool) else value.tolist() for value in SINGLES.values()])
    for executor in MANY:
        program = Compiled(source, widths=Widths(32, 64), target="cuda" if "cudasim" in executor else "cpu")
        found = outcome(program, executor, (float(np.float32(0.1)), [2.0**24, 1.0, 1.0]))
        assert agree(found, expected), f"{executor}: {found}"


FAILING = {"lshift(1, n)": ("Shift count out of range, it must be in 0..31.", 32),
           "trunc(2147483648.0 + 0.0 * float(n))": ("Float out of the range of int in function TRUNC.", 0),
           "floor(float(n) - 2147483648.5)": ("Float out of the range of int in function FLOOR.", 0),
           "round(2147483647.5 + float(n))": ("Float out of the range of int in function ROUND.", 0),
           "{x / (n - 1) : x in [n]}": ("Divide by zero.", 1)}


@pytest.mark.parametrize("expression", FAILING)
def test_checks_of_32_bits(expression: str) -> None:
    message, argument = FAILING[expression]
    for executor in MANY:
        program = Compiled(f"function main(n) = {expression};", widths=Widths(64, 32),
                           target="cuda" if "cudasim" in executor else "cpu")
        found = outcome(program, executor, (argument,))
        assert isinstance(found, Failed) and found.message == message, f"{executor}: {found}"


@settings(quick, max_examples=examples(8))
@given(programs(4), st.sampled_from(WIDTHS))
def test_texts_tell_the_widths(random: RandomProgram, widths: Widths) -> None:
    """Every form's text reads back as the same program, whatever the widths: from mono on it has them."""
    job = pipeline.Job(entry="main", widths=widths)

    def every() -> None:
        passes = [p for p in pipeline.stages(job) if p.output.parse]
        for step in driver.steps(job, forms.TEXT, Source("test", random.source), tuple(passes)):
            form = step.ran.output
            text = form.show(step.program)
            assert form.parse is not None
            if form.name not in ("syntax", "typed"):
                source = Source("text", text)
                assert form.show(form.parse(source, Places(source))) == text
    run_deep(every)


DTYPES = (np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32)


@settings(quick, max_examples=examples(20))
@given(programs(3), st.randoms())
def test_narrower_arrays_give_the_same(random: RandomProgram, chance: Any) -> None:
    """Arguments of narrower arrays are what the same numbers are in wide ones."""
    program = Compiled(random.source)
    types, _ = program.signature
    wide_ones = [flatten_value(value, t) for value, t in zip(narrow(random.arguments, WIDTHS[2]), types, strict=True)]
    narrow_ones = [narrower(value, chance) for value in wide_ones]
    layouts = tuple(map(layout_of_value, types, narrow_ones))
    narrowly = Compiled(random.source, layouts=layouts)
    plain = [plain_value(value, t) for value, t in zip(wide_ones, types, strict=True)]
    expected = interpreted(program, plain)
    for executor in ("reference none", "reference ilp", "loops ilp", *(["cpu3 ilp"] if chance.random() < 0.2 else [])):
        found = run_deep(partial(flat_outcome, narrowly, executor, narrow_ones))
        assert agree(expected, found), f"{executor}: {found}, not {expected}\n{layouts}\n{random}"


PAIRS = {                       # expressions of q, pairs of ints of 16 bits, and their types
    "append(q, q)": "[(int, int)]", "{if a < b then (a, b) else (b, a) : (a, b) in q}": "[(int, int)]",
    "if #q > 1 then q[0] else q[#q - 1]": "(int, int)", "q <- [(0, (1, 2))]": "[(int, int)]",
    "{let (a, b) = q[mod(i, #q)] in (b, a) : i in [0:#q]}": "[(int, int)]",
}


@pytest.mark.parametrize("expression", PAIRS)
def test_pairs_of_narrow_arrays(expression: str) -> None:
    source, value = f"function main(q) : [(int, int)] -> {PAIRS[expression]} = {expression};", [(1, 2), (3, -4)]
    program = Compiled(source)
    type_, = program.signature[0]
    wide = flatten_value(value, type_)
    assert isinstance(wide, Flat)
    narrow_one = Flat(wide.length, tuple([column.astype(np.int16) for column in wide.column]))
    narrowly = Compiled(source, layouts=(layout_of_value(type_, narrow_one),))
    expected = outcome(program, "interpreter", (value,))
    assert not isinstance(expected, Failed)
    for executor in ("reference none", "reference ilp", "loops ilp", "cpu3 ilp"):
        assert agree(expected, flat_outcome(narrowly, executor, [narrow_one])), executor


def flat_outcome(program: Compiled, executor: str, arguments: list[Any]) -> Any:
    where, fuse = executor.split()
    type_ = program.signature[1]
    try:
        if where == "reference":
            limits = reference.EvaluationLimits(depth=DEPTH, memory=MEMORY)
            found = reference.execute(program.executable(fuse), arguments, limits, perform=program.outside.perform)
        else:
            found = execute(program.executable(fuse), arguments, program.device(executor),
                            host.HostLimits(DEPTH, MEMORY), perform=program.outside.perform)
    except NessieError as error:
        return Failed(error.message, tuple(span for span, _ in error.places[:1]))
    return plain_value(found, type_)


def narrower(value: Any, chance: Any) -> Any:
    """The flat value with arrays in some narrower type that holds their elements."""
    match value:
        case Flat(length, column):
            return Flat(length, narrower(column, chance))
        case (first, second):
            return narrower(first, chance), narrower(second, chance)
        case Nested():
            return value.over(narrower(value.content, chance))
        case np.ndarray():
            fitting = [dtype for dtype in (np.float32, *DTYPES) if dtype().dtype.kind in {"f": "f", "i": "iu"}.get(
                value.dtype.kind, "") and value.dtype != np.int32 and np.array_equal(value.astype(dtype), value, True)]
            return value.astype(chance.choice(fitting)) if fitting else value
    return value
