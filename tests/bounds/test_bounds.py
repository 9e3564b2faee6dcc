"""Bounds of work and depth, beside what the interpreter counts: of library functions, of random programs, of all
programs of the tests, and of what is easily taken for less.
"""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from amounts import NIGHTLY, PROFILE, examples
from hypothesis import HealthCheck, given, settings
from library_calls import DEFINITIONS, FUNCTIONS, Call, calls
from paths import EXAMPLES, SUPPORT
from random_programs import RandomProgram, programs

from nessie.base.source import InternalError, NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.types import INT, Base, Pair, Seq, Type
from nessie.base.values import Record
from nessie.bounds.counting import Bounds, Counting, Endless, bounds
from nessie.bounds.formulas import shown, value
from nessie.interpreter import interpreter
from nessie.library.library import library
from nessie.session.checking import check
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment

# pi takes long
PATHS = [path for path in sorted(EXAMPLES.glob("*.nesl")) if path.stem != "pi" or PROFILE == NIGHTLY]
CASES = [json.loads(line)["source"] for line in (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]


def defined(text: str) -> tuple[Environment, interpreter.World, typed.Function]:
    """What a program defines, a world in which it runs, and its last function."""
    checked = check(Source("test", text))
    assert not checked.errors, checked.errors
    world = interpreter.World(library().library)
    for good in checked.good:
        if good.definition is not None:
            interpreter.define(world, good.definition)
    last = [good.definition for good in checked.good if isinstance(good.definition, typed.Function)][-1]
    return checked.environment, world, last


def measured(pattern: typed.Pattern, argument: Any) -> dict[str, int]:
    """The sizes of an argument, by the names that bounds call them."""
    found: dict[str, int] = {}

    def part(name: str, type_: Type, values: list[Any]) -> None:
        match type_:
            case Base("int"):
                found[f"|{name}|"] = max(map(abs, values), default=0)
            case Seq(element):
                found[f"#{name}"] = max(map(len, values), default=0)
                part(f"{name}[i]", element, [x for row in values for x in row])
            case Pair(first, second):
                part(f"{name}.1", first, [x for x, _ in values])
                part(f"{name}.2", second, [x for _, x in values])

    match pattern:
        case typed.NamePattern(name, type_):
            part(name, type_, [argument])
        case typed.PairPattern(first, second):
            found |= measured(first, argument[0]) | measured(second, argument[1])
        case typed.DataPattern(_, _, inside):
            found |= measured(inside, argument.content if isinstance(argument, Record) else argument)
    return found


def check_holds(found: Bounds, ran: interpreter.Result, sizes: dict[str, int], of: Any) -> None:
    for bound, counted, what in ((found.work, ran.work, "work"), (found.depth, ran.depth, "depth")):
        if bound is not None:
            most = value(bound, sizes.__getitem__)
            assert counted <= most, f"{what} {counted}, and {shown(bound)} = {most} was to bound it: {of}"


def holds(text: str, argument: Any) -> Bounds | None:
    """Compare the last function's bounds with a call of it; None where that fails."""
    environment, world, function = defined(text)
    found = run_deep(lambda: bounds(environment, function))
    try:
        ran = interpreter.call(world, function.name, argument, (INT,) * len(function.variables))
    except NessieError:
        return None
    check_holds(found, ran, measured(function.parameter, argument), (text, argument))
    return found


def of_function(text: str) -> tuple[str, str]:
    environment, _, function = defined(text)
    found = run_deep(lambda: bounds(environment, function))
    return shown(found.work), shown(found.depth)


@pytest.mark.parametrize("text, work, depth", [
    ("function twice(v) = {x * 2 : x in v};", "2*#v + 2", "3"),
    ("function dotp(v, w) = sum({x * y : x in v; y in w});", "3*#v + 3", "4"),
    ("function mxv(m, v) = {sum({x * y : x in r; y in v}) : r in m};", "3*#m*#m[i] + 3*#m + 2", "5"),
    ("function upto(n) = {i * i : i in [0:n]};", "3*|n| + 3", "4"),
    ("function either(v) = if #v > 1000 then v else v ++ v;", "2*#v + 5", "5"),
    ("function down(n) = if n == 0 then 0 else down(n - 1);", "unknown", "unknown"),
    ("function shown_as(v) = string(v);", "unknown", "unknown"),
    ("function of(g, x) : (int -> int, int) -> int = g(x);", "unknown", "unknown"),
    ("function apart(v) = let (a, b) = (v, 3) in dist(b, #a);", "#v + 3", "3"),
    ("function mapped(v) = {g(x) : x in v; g in [(y => y + 1)]};", "3*#v + 3", "5"),
    ("function later(v) = let g = (y => y + 1) in {g(x) : x in v};", "3*#v + 2", "4")])
def test_formulas(text: str, work: str, depth: str) -> None:
    found = of_function(text)
    assert (found[0], found[1]) == (work, depth)


@pytest.mark.parametrize("text, argument", [
    ("function g(k, n) = dist(0, mod(k, n));", (-1, 1000)),
    ("function g(k, n) = dist(0, rem(k, n));", (999, 1000)),
    ("function g(n) = dist(0, 0 - n);", -50),
    ("function g(n) = dist(0, n * n);", -9),
    ("function g(n) = dist(0, n / -1);", -70),
    ("function g(n) = dist(0, abs(n));", -70),
    ("function g(v) = [0:write_add([0], {(0, x) : x in v})[0]];", [5] * 30),
    ("function g(v) = [0:write_max([0], {(0, x) : x in v})[0]];", [3, 90, 4]),
    ("function g(v) = [0:sum(v)];", [9] * 20),
    ("function g(v) = {dist(0, s) : s in plus_scan(v)};", [9] * 20),
    ("function g(v) = let w = v <- {(0, x) : x in [100]} in dist(1, w[0]);", [1, 2]),
    ("function g(m) = {sum(r) : r in m};", [[1] * 40, [], [2]]),
    ("function g(m) = flatten(m);", [[1] * 40, [], [2] * 3]),
    ("function g(v) = {dist(0, #r) : r in partition(v, [#v, 0])};", [1] * 30),
    ("function g(v) = {v -> [0:x] : x in v};", [4, 1, 2, 3]),
    ("function g(v) = dist(0, max_val(v) - min_val(v));", [-40, 3]),
    ("function g(n) = if n > 0 then dist(1, n) else dist(2, 1 - n);", -30),
    ("function g(n) = [-20:n];", 3),
    ("function g(n) = let k = if n > 2 then 100 else 1 in dist(0, k);", 5),
    ("function g(v) = {x in v | x > 100};", [1] * 30)])
def test_what_is_easily_taken_for_less(text: str, argument: Any) -> None:
    found = holds(text, argument)
    assert found is not None and found.depth is not None


@pytest.mark.sampled(quick=6, ci=3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_library_functions(name: str) -> None:
    for call in calls(name):
        try_call(call)


def try_call(call: Call) -> None:
    text = DEFINITIONS.replace("TYPE", call.type) + f"function main(x) = let x = typed(x) in {call.text};"

    @settings(max_examples=examples(8), suppress_health_check=list(HealthCheck), deadline=None)
    @given(call.values)
    def tried(x: Any) -> None:
        holds(text, x)

    tried()


@settings(max_examples=examples(120), suppress_health_check=list(HealthCheck), deadline=None)
@given(programs())
def test_random_programs(program: RandomProgram) -> None:
    argument = program.arguments[-1]
    for one in program.arguments[-2::-1]:
        argument = one, argument
    holds(program.source, argument)


def expressions(text: str) -> Iterable[tuple[Environment, interpreter.World, typed.Exp]]:
    """Each bare expression of a program, with what is defined before it."""
    checked = check(Source("test", text))
    world = interpreter.World(library().library)
    for good in checked.good:
        if isinstance(good.form, syntax.Evaluate) and isinstance(good.definition, typed.Variable):
            yield checked.environment, world, good.definition.value
        elif good.definition is not None:
            interpreter.define(world, good.definition)


def bounds_of_value(environment: Environment, exp: typed.Exp) -> Bounds:
    """The bounds of an expression of the top level."""
    counting = Counting(environment)
    try:
        counting.value(exp, {})
    except Endless:
        return Bounds(None, None)
    return Bounds(counting.work, counting.depth)


def test_all_programs_of_the_tests() -> None:
    """An expression has no sizes: its bounds are numbers, unless it uses variables of the top level."""
    seen: Counter[str] = Counter()
    for text in [*CASES, *[path.read_text("utf-8") for path in PATHS]]:
        try:
            found = list(expressions(text))
        except NessieError:
            continue
        for environment, world, exp in found:
            told = run_deep(partial(bounds_of_value, environment, exp))
            variable = typed.Variable(typed.NamePattern("it", Base("int")), exp)
            try:
                (ran,) = interpreter.run(typed.Program((variable,)), world)
            except (NessieError, InternalError):        # it fails, or reads and prints
                continue
            if told.work is None or any(told.work.keys() - {()}) or any((told.depth or {}).keys() - {()}):
                seen["unknown or of variables"] += 1
                continue
            check_holds(told, ran, {}, text)
            seen["known"] += 1
    assert seen["known"] > 100, seen
