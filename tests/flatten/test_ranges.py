"""Range analysis: what it says of an expression is so, for every value of the names; and it keeps checks that can
fail."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from amounts import examples
from executors import Compiled, Failed, same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nessie.flatten.ranges.proofs import assumptions, by_numbers, doubtful, holds
from nessie.flatten.ranges.ranges import ANY, SIZE, Note, Range, Ranges, exactly, index_below
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import map_children, subexpressions
from nessie.lambda_cu.spaces import polynomials
from nessie.lambda_cu.spaces.polynomials import Polynomial, add, name, number
from nessie.lambda_cu.text.printer_expressions import show_exp

BITS = 2 ** 64
INTS = -2 ** 63, 2 ** 63 - 1
KNOWN = {"n": SIZE, "m": exactly(name("n")), "i": index_below(name("n")), "k": ANY}
ELEMENTS = {"rows": index_below(name("n")), "sizes": SIZE, "any": ANY}          # of arrays


def wrap(value: int) -> int:
    return (value + BITS // 2) % BITS - BITS // 2


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass(frozen=True)
class Place:
    """What the names are, let-bound ones within expressions, too (None: it has no value); the elements of arrays; what
    names stand for that are bound around; and what is noted of expressions."""
    names: dict[str, Any]
    elements: dict[str, list[int]]
    definitions: dict[str, ir.Exp]
    notes: dict[ir.Exp, Note]


def evaluate(exp: ir.Exp, at: Place) -> Any:
    """The expression's value, or None where it divides by zero or shifts too far."""
    match exp:
        case ir.Const(value):
            return value
        case ir.Var(named):
            return at.names[named]
        case ir.Let(_, value, body):
            return None if evaluate(value, at) is None else evaluate(body, at)
        case ir.Read(array, index):
            position = evaluate(index, at)
            return None if position is None else at.elements[array][position % len(at.elements[array])]
        case ir.Fail():
            return 0
        case ir.If(condition, then, orelse):
            test = evaluate(condition, at)
            return None if test is None else evaluate(then if test else orelse, at)
        case ir.Op(op, arguments):
            found = [evaluate(a, at) for a in arguments]
            return None if None in found else apply(op, found)
    raise TypeError(exp)


def apply(op: str, x: list[Any]) -> Any:
    if (op in ("/", "rem", "mod") and x[1] == 0) or (op == "rshift" and not 0 <= x[1] <= 63):
        return None
    match op:
        case "+":
            return wrap(x[0] + x[1])
        case "-":
            return wrap(x[0] - x[1])
        case "*":
            return wrap(x[0] * x[1])
        case "/":
            return wrap(truncated(x[0], x[1]))
        case "rem":
            return x[0] - x[1] * truncated(x[0], x[1])
        case "mod":
            return x[0] % x[1]
        case "rshift":
            return x[0] >> x[1]
        case "neg":
            return wrap(-x[0])
        case "abs":
            return wrap(abs(x[0]))
        case "float":
            return float(x[0])
        case "min" | "max":
            return min(x) if op == "min" else max(x)
        case "not":
            return not x[0]
        case "and" | "or":
            return all(x) if op == "and" else any(x)
    return {"<": x[0] < x[1], "<=": x[0] <= x[1], ">": x[0] > x[1], ">=": x[0] >= x[1], "==": x[0] == x[1],
            "/=": x[0] != x[1]}[op]


def operation(names: list[str], *arguments: st.SearchStrategy[ir.Exp]) -> st.SearchStrategy[ir.Exp]:
    return st.builds(ir.Op, st.sampled_from(names), st.tuples(*arguments))


constants = st.one_of(st.integers(-3, 9), st.sampled_from([2 ** 47, 2 ** 62, -2 ** 63, 2 ** 63 - 1])).map(
    lambda value: ir.Const(value, "int"))
names = st.sampled_from(["n", "m", "i", "i", "k", "x", "y", "here", "here"]).map(ir.Var)
COMPARISONS = ["<", "<=", ">", ">=", "==", "/="]
ints = st.recursive(st.one_of(names, constants), lambda inner: st.one_of(
    operation(["+", "-", "+", "-", "*", "/", "rem", "mod", "min", "max", "rshift"], inner, inner),
    operation(["neg", "abs"], inner),
    st.builds(ir.Read, st.sampled_from(list(ELEMENTS)), inner),
    st.builds(ir.Let, st.just(("here",)), inner, inner),
    st.builds(ir.If, operation(COMPARISONS, inner, inner), inner, st.one_of(inner, st.just(ir.Fail("site", "int"))))),
    max_leaves=6)
floats = st.sampled_from([-0.0, 0.0, 1.0, -2.0, 0.5, 2.0 ** 24, 2.0 ** 63, float("inf"), float("nan")]).map(
    lambda value: ir.Const(value, "float"))
compared = st.one_of(operation(COMPARISONS, ints, ints), operation(COMPARISONS, operation(["float"], ints), floats))
tests = st.recursive(st.one_of(compared, st.just(ir.Var("test"))), lambda inner: st.one_of(
    operation(["and", "or"], inner, inner), operation(["not"], inner)), max_leaves=3)
near = st.integers(0, 3)


@st.composite
def placed(draw: st.DrawFn, *expressions: st.SearchStrategy[ir.Exp]) -> tuple[Any, ...]:
    """Expressions, and a place where they might stand."""
    n = draw(st.one_of(st.integers(1, 9), st.integers(1, 2 ** 48)))
    i = draw(st.one_of(st.integers(0, min(n, 9) - 1), st.integers(0, n - 1), st.just(n - 1)))
    k = draw(st.one_of(st.integers(-9, 9), st.integers(*INTS)))
    elements = {"rows": st.integers(0, n - 1), "sizes": st.integers(0, 2 ** 48), "any": st.integers(*INTS)}
    at = Place({"n": n, "m": n, "i": i, "k": k}, {array: draw(st.lists(elements[array], min_size=1, max_size=3))
                                                  for array in ELEMENTS}, {}, {})
    scope = {"here": ir.Var("i"), "x": ir.Var("k"), "y": ir.Var("n"), "test": ir.Const(True, "bool")}
    for named, written in (("x", ints), ("y", ints), ("test", tests)):
        at.definitions[named] = bound_once(draw(written), scope, at)
        at.names[named] = evaluate(at.definitions[named], at)
        scope.pop(named)
    found = [bound_once(draw(written), scope, at) for written in expressions]
    for part in dict.fromkeys(part for exp in (*found, *at.definitions.values()) for part in subexpressions(exp)):
        if isinstance(part, ir.Op | ir.Read) and draw(st.integers(0, 3)) == 0:
            value = evaluate(part, at)
            if isinstance(value, int) and not isinstance(value, bool):
                at.notes[part] = draw(notes(value, n))
    return *found, at


def bound_once(exp: ir.Exp, scope: dict[str, ir.Exp], at: Place) -> ir.Exp:
    """The expression with names of its own for what its lets bind, which `at` then knows."""
    match exp:
        case ir.Var(named):
            return scope.get(named, exp)
        case ir.Let((named,), value, body):
            value = bound_once(value, scope, at)
            fresh = f"{named}{len(at.names)}"
            at.names[fresh] = evaluate(value, at)
            return ir.Let((fresh,), value, bound_once(body, {**scope, named: ir.Var(fresh)}, at))
    return map_children(exp, lambda part: bound_once(part, scope, at))


@st.composite
def notes(draw: st.DrawFn, value: int, n: int) -> Note:
    """Something that is so of what has this value: numbers, or a bound by n."""
    low, high = max(value - draw(near), INTS[0]), min(value + draw(near), INTS[1])
    bound = add(name("n"), number(value - n))
    known = draw(st.sampled_from([Range(low, high), Range(above=(add(bound, number(high - value)),)),
                                  Range(below=(add(bound, number(low - value)),))]))
    return lambda: known


def ranges(at: Place, given: ir.Exp | None = None) -> Ranges:
    assumed: tuple[Polynomial, ...] = ()
    found = Ranges(lambda named: at.definitions.get(named) or KNOWN.get(named), at.notes.get, ELEMENTS.get,
                   lambda: assumed, {})
    assumed = () if given is None else assumptions(found, given)
    return found


def values(found: Ranges, at: Place) -> dict[str, int] | None:
    """Of all names that polynomials mention; None where an expression that goes by a name has no value."""
    named = {name: evaluate(part, at) for part, name in found.numbers.items()}
    return None if None in named.values() else {**at.names, **named}


many = settings(max_examples=examples(400), suppress_health_check=list(HealthCheck))


@many
@given(placed(ints))
def test_values_lie_where_it_says(case: tuple[ir.Exp, Place]) -> None:
    exp, at = case
    value, interval = evaluate(exp, at), ranges(at).interval(exp)
    if value is not None:
        assert interval is None or interval[0] <= value <= interval[1], show_exp(exp)


def rational(bound: polynomials.Polynomial, names: Mapping[str, int]) -> Fraction:
    """A bound may be a part of a whole number: i/2 is at most half of i."""
    whole = polynomials.Polynomial(bound.terms)
    return Fraction(polynomials.value(whole, names), bound.divisor)


@many
@given(placed(ints))
def test_forms_and_bounds_hold(case: tuple[ir.Exp, Place]) -> None:
    exp, at = case
    found, value = ranges(at), evaluate(exp, at)
    form = found.form(exp)
    if value is None or (everything := values(found, at)) is None:
        return
    assert polynomials.value(form, everything) == value
    for factor in list(found.numbers.values()):
        known = found.of_factor(factor)
        if (everything := values(found, at)) is not None:
            least = max([rational(bound, everything) for bound in known.below], default=INTS[0])
            most = min([rational(bound, everything) for bound in known.above], default=INTS[1])
            assert least <= everything[factor] <= most, show_exp(exp)


@many
@given(placed(tests, tests))
def test_what_is_proved_holds(case: tuple[ir.Exp, ir.Exp, Place]) -> None:
    """Also where another condition holds around it."""
    condition, around, at = case
    value = evaluate(condition, at)
    if value is None:
        return
    assert value or not holds(ranges(at), condition), show_exp(condition)
    assert by_numbers(ranges(at), condition) in (None, value)
    if (outside := evaluate(around, at)) is not None:
        given_ = around if outside else ir.Op("not", (around,))
        assert value or not holds(ranges(at, given_), condition), f"{show_exp(condition)} where {show_exp(given_)}"
    rest = doubtful(ranges(at), condition)
    assert evaluate(rest, at) in (None, value)


@many
@given(placed(tests))
def test_what_is_assumed_of_a_test_holds(case: tuple[ir.Exp, Place]) -> None:
    """In its branches."""
    condition, at = case
    value, found = evaluate(condition, at), ranges(at)
    if value is not None:
        for assumed in assumptions(found, condition, value):
            if (everything := values(found, at)) is not None:
                assert polynomials.value(assumed, everything) >= 0, f"{show_exp(condition)} is {value}"


# Programs -----------------------------------------------------------------------------------------

NEVER = {               # the expression that computes for v, one that cannot fail
    "all of v": "{v[i] : i in [0:#v]}",
    "index": "{v[i] : i in index(#v)}",
    "backwards": "{v[#v - 1 - i] : i in [0:#v]}",
    "half": "{v[i / 2] : i in [0:#v]}",
    "remainder": "{v[rem(i, 3)] : i in [0:#v]}",
    "mod": "{v[mod(i, 3)] : i in [0:#v]}",
    "the lesser": "{v[min(i, 5)] : i in [0:#v]}",
    "the greater": "{v[max(i - 5, 0)] : i in [0:#v]}",
    "a triangle": "{sum({v[j] : j in [0:i+1]}) : i in [0:#v]}",
    "differences": "{sum({v[i - j] : j in [0:i+1]}) : i in [0:#v]}",
    "divisors": "{v[i] / (i + 1) : i in [0:#v]}",
    "divisors as floats": "{if 1.0 / float(max(x, 1)) > 0.3 then 1 else 0 : x in v}",
    "inside a test": "{if i > 0 and i + 1 < #v then v[i - 1] + v[i + 1] else 0 : i in [0:#v]}",
    "after a let": "let n = #v in {let k = n - i in v[k - 1] : i in [0:n]}",
    "rows": "{{r[j] : j in [0:#r]} : r in [v, v]}",
    "two deep": "{{v[i] * v[j] : j in [0:#v]} : i in [0:#v]}",
    "taken": "{sum(take(v, i)) : i in [0:#v]}",
    "survivors": "{v[i] : i in {i in [0:#v] | rem(i, 2) == 0}}",
    "computed of survivors": "{v[i - 1] : i in {i + 1 : i in [0:#v] | v[i] > 5}}",
    "gathered by survivors": "let is = {i in [0:#v] | v[i] > 5} in {x + y : x in v -> is; y in v -> is}",
    "survivors from the end": "{v[#v - 1 - i] : i in {#v - 1 - i : i in [0:#v] | v[i] > 5}}",
    "survivors of survivors": "{v[i] : i in {i in {i in [0:#v] | v[i] > 5} | rem(i, 2) == 0}}",
}
SOMETIMES = {           # one that fails for some v
    "one too far": "{v[i + 1] : i in [0:#v]}",
    "one too few": "{v[i - 1] : i in [0:#v]}",
    "from the end": "{v[#v - i] : i in [0:#v]}",
    "another's length": "{v[i] : i in [0:#v + 1]}",
    "a constant": "{v[2] : i in [0:#v]}",
    "a product": "{v[i * i] : i in [0:#v]}",
    "a sum that wraps": "{v[i + 9223372036854775807 + 1] : i in [0:#v]}",
    "a product that wraps": "{v[(i * 4294967296 * 4294967296) - 1] : i in [0:#v]}",
    "remainders of what is negative": "{v[rem(i - 1, 2)] : i in [0:#v]}",
    "the divisor": "{v[i] / i : i in [0:#v]}",
    "the divisor as a float": "{if 1.0 / float(max(x, 0)) > 0.3 then 1 else 0 : x in v}",
    "the other branch": "{if i > 0 then v[0] else v[i - 1] : i in [0:#v]}",
    "after the test": "{(if i > 0 then v[i - 1] else 0) + v[i - 1] : i in [0:#v]}",
    "a triangle too large": "{sum({v[j] : j in [0:i+2]}) : i in [0:#v]}",
    "a length that is read": "{v[x] : x in v}",
    "taken": "{sum(take(v, i + 2)) : i in [0:#v]}",
    "rows": "{{r[j] : j in [0:#v]} : r in [v, drop(v, 1)]}",
    "survivors": "{v[i] : i in {i + 1 : i in [0:#v] | rem(i, 2) == 0}}",
    "survivors of more": "{v[i] : i in {i in [0:#v + 1] | rem(i, 2) == 1}}",
    "survivors that are read": "{v[x] : x in {x in v | x > 0}}",
    "gathered by survivors": "v -> {i in [0:#v + 2] | i > 1}",
}


def compiled(body: str, nested: bool) -> Compiled:
    return Compiled(f"function main(v) : [int] -> [{'[int]' if nested else 'int'}] = {body};")


def checks(program: Compiled) -> list[str]:
    """What can fail but for lack of numbers."""
    return [site.message for site in program.flat.sites if "more elements" not in site.message]


@pytest.mark.parametrize("name", NEVER)
def test_checks_that_cannot_fail_are_gone(name: str) -> None:
    program = compiled(NEVER[name], name in ("rows", "two deep"))
    assert checks(program) == []
    same_everywhere(program, ([],), ([7],), ([5, 6, 7, 8],))


@pytest.mark.parametrize("name", SOMETIMES)
def test_checks_that_can_fail_stay(name: str) -> None:
    """Mutants of the programs above: each has a check left, and fails with the interpreter's message."""
    program = compiled(SOMETIMES[name], name == "rows")
    assert checks(program)
    found = same_everywhere(program, ([4],), ([7, 9],), ([2, 1, 0],))
    assert any(isinstance(result, Failed) for result in found)


@pytest.mark.parametrize("body", [
    "let n = v[0]; a = {x + 1 : x in v}; b = [0:n]; c = {x + v[min(n, #v - 1)] : x in v} in (a, #b, c)",
    "let n = v[0]; a = {x + 1 : x in v}; b = dist(1, n); c = {if n < #v then v[n] else 0 : x in v} in (a, #b, c)",
    "let n = v[0]; a = {x + 1 : x in v}; b = {#[0:n] : x in v}; c = {if n < #v then v[n] else 0 : x in v}"
    " in (a, sum(b), c)",
])
def test_what_a_check_shows_holds_only_after_it(body: str) -> None:
    """The last kernel shares its walk with the first, so it may run before the host has checked n."""
    program = Compiled(f"function main(v) : [int] -> ([int], int, [int]) = {body};")
    found = same_everywhere(program, ([-10 ** 13, 5],), ([1, 7],), ([-1],))
    assert [isinstance(result, Failed) for result in found] == [True, False, True]


@pytest.mark.parametrize("then,other", [
    ("sum([0:r])", "sum({2 * k : k in [0:r]})"), ("sum(dist(1, r))", "sum(dist(2, r))"),
    ("sum(subseq(v, 0, r))", "sum([0:r])"), ("sum([0:r])", "sum({2 * k : k in take(v, r)})"),
    ("let m = r in sum([0:m])", "sum({sum(p) : p in bottop([0:r])})"),
    ("sum({a + b : a in v; b in [0:r]}) + sum([0:r])", "sum({2 * k : k in [0:r]})"),       # r is found equal to #v
    ("sum({a + b : a in v; b in [0:r]}) + sum([0:r]) + sum(dist(1, #v))", "sum({v[k] : k in [0:r]})")])
@pytest.mark.parametrize("test", ["v[0] < 1", "r >= 0", "r < 0"])
def test_what_one_branch_checks_is_not_known_in_the_other(test: str, then: str, other: str) -> None:
    program = Compiled(f"function main(v, r) : ([int], int) -> int = if {test} then {then} else {other};")
    for r in (-2, 0, 2):
        same(program, [1, 7], r)
        same(program, [0, 7], r)


@pytest.mark.parametrize("terms", [3, 6, 12])
def test_proofs_end_soon(terms: int) -> None:
    """How many polynomials are tried is bounded, so that the text is there at once."""
    total = " + ".join(f"min(min(#v, #v + {k}), i + {k})" for k in range(terms))
    program = compiled(f"{{v[{total}] : i in [0:#v]}}", False)
    assert checks(program)
    same_everywhere(program, ([],), ([1, 2],))


def same_everywhere(program: Compiled, *arguments: tuple[Any, ...]) -> list[Any]:
    return [same(program, *given_) for given_ in arguments]
