"""mono: text and back, the validator's invariants, and the table of operators."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie.base.source import IllFormed, NessieError
from nessie.base.system.deep import run_deep
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Base, Fun, Identity, Pair, Seq, Type, Var
from nessie.lambda_cu.ops import NARROWING, OPS
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.node_types import fits, primitive_type, type_of
from nessie.mono.text import parse, show, show_exp

NORM = """\
function norm (xs : [float]) : ([float], int) =
  let s : float = `reduce_+`(xs) in
  let n : int = length(xs) in
  (
    if s == 0.0 then
      check(n > 0, "no element", xs)
    else
      {y / s : y : float in xs; z : float in xs | z > 0.0},
    pick((1, 'a'), [] int, t))

function pick (p : (int, char), v : [int], b : bool) : int =
  if b then (error("stop") : int) else first(p) + -3

entry norm
"""


def body(exp: mono.Exp, *parameters: mono.Parameter) -> mono.Program:
    return mono.Program((mono.Function("main", parameters, type_of(exp), exp),), "main")


def number(value: int) -> mono.Const:
    return mono.Const(value, INT)


def test_text_reads_as_written() -> None:
    program = parse(NORM)
    check(program)
    assert show(program) == NORM
    assert parse(show(program)) == program


def test_layout_breaks_long_expressions() -> None:
    exp: mono.Exp = number(1)
    for _ in range(60):
        exp = mono.Prim("+", (exp, number(1000)), INT)
    text = show(body(exp))
    assert max(map(len, text.splitlines())) <= 200
    assert parse(text) == body(exp)


def test_errors_in_text_have_places() -> None:
    with pytest.raises(NessieError, match="q is not in scope") as error:
        parse("function g (x : int) : int = q\nentry g")
    assert error.value.places[0][0].line == 1
    with pytest.raises(NessieError, match="there is no function h"):
        parse("function g (x : int) : int = h(x)\nentry g")
    with pytest.raises(NessieError, match="does not take such arguments"):
        parse("function g (x : int) : int = x + 1.0\nentry g")


# Round trips ------------------------------------------------------------------------------------

SCALARS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-2 ** 63, 2 ** 63 - 1), FLOAT: st.floats(allow_nan=False), BOOL: st.booleans(),
    CHAR: st.characters(codec="utf-8")}
TYPES = st.recursive(st.sampled_from([INT, FLOAT, BOOL, CHAR]),
                     lambda inner: st.builds(Seq, inner) | st.builds(Pair, inner, inner), max_leaves=4)


@st.composite
def expressions(draw: st.DrawFn, type_: Type, scope: dict[str, Type], depth: int) -> mono.Exp:
    """A well-formed expression of the type; names are unique because they count."""
    def some(wanted: Type, more: dict[str, Type] | None = None) -> mono.Exp:
        return draw(expressions(wanted, {**scope, **(more or {})}, depth - 1))

    variables = [name for name, bound in scope.items() if bound == type_]
    if variables and draw(st.booleans()):
        return mono.Var(draw(st.sampled_from(variables)), type_)
    form = draw(st.integers(0, 6)) if depth else 0
    fresh = draw(st.uuids()).hex
    if form == 1:
        return mono.If(some(BOOL), some(type_), some(type_))
    if form == 2:
        bound = draw(TYPES)
        return mono.Let("x" + fresh, some(bound), some(type_, {"x" + fresh: bound}))
    if form == 3:
        other = draw(TYPES)
        return draw(st.sampled_from([mono.First(mono.Pair(some(type_), some(other))),
                                     mono.Second(mono.Pair(some(other), some(type_)))]))
    if form == 4:
        return mono.Prim("elt", (some(Seq(type_)), some(INT)), type_)
    if form == 5:
        return mono.Prim("error", (some(STRING),), type_)
    match type_:
        case Pair(first, second):
            return mono.Pair(some(first), some(second)) if depth else mono.Pair(
                draw(expressions(first, scope, 0)), draw(expressions(second, scope, 0)))
        case Seq(element) if depth and form == 6:
            inner = draw(TYPES)
            condition = some(BOOL, {"y" + fresh: inner}) if draw(st.booleans()) else None
            generator = mono.Generator("y" + fresh, some(Seq(inner)))
            return mono.Each(some(element, {"y" + fresh: inner}), (generator,), condition)
        case Seq(element):
            if type_ == STRING and draw(st.booleans()):
                return mono.String(draw(st.text(max_size=5)))
            length = draw(st.integers(0, 2))
            return mono.Literal(tuple(draw(expressions(element, scope, 0)) for _ in range(length)), type_)
    if depth and form == 6 and type_ == INT:
        return mono.Prim(draw(st.sampled_from(["+", "rem", "max", "lshift"])), (some(INT), some(INT)), INT)
    return mono.Const(draw(SCALARS[type_]), type_)


@given(st.data())
@settings(max_examples=examples(150))
def test_round_trip(data: st.DataObject) -> None:
    scope: dict[str, Type] = {"a": Seq(FLOAT), "let": INT}
    type_ = data.draw(TYPES)
    exp = data.draw(expressions(type_, scope, 3))
    program = body(exp, *(mono.Parameter(name, bound) for name, bound in scope.items()))
    check(program)
    assert parse(show(program)) == program


@pytest.mark.slow
def test_deep_trees() -> None:
    exp: mono.Exp = mono.Var("x", INT)
    for _ in range(3_000):
        exp = mono.Prim("+", (exp, number(1)), INT)
    for i in range(3_000):
        exp = mono.Let(f"y{i}", number(i), exp)
    program = body(exp, mono.Parameter("x", INT))

    def work() -> bool:
        check(program)
        return show(parse(show(program))) == show(program)
    assert run_deep(work)


# Invariants: one broken, and named ------------------------------------------------------------

X = mono.Var("x", INT)
XS = mono.Var("xs", Seq(INT))
PARAMETERS = (mono.Parameter("x", INT), mono.Parameter("xs", Seq(INT)))
POLYMORPHIC = mono.Literal((), Seq(Var("a")))
FUNCTION = mono.Parameter("g", Fun(INT, INT, Identity("sin")))

BROKEN: list[tuple[str, mono.Exp]] = [
    ("types are monomorphic and first order", mono.Prim("error", (mono.String(""),), Var("a"))),
    ("a literal has a sequence type", POLYMORPHIC),
    ("bound once in the program: x", mono.Let("x", X, X)),
    ("bound once in the program: y", mono.Pair(mono.Let("y", X, X), mono.Let("y", X, X))),
    ("bound once in the program: x", mono.Each(X, (mono.Generator("x", XS),))),
    ("every variable is in scope: y", mono.Pair(mono.Let("y", X, X), mono.Var("y", INT))),
    ("every variable is in scope: y", mono.Each(X, (mono.Generator("y", XS), mono.Generator("z", mono.Literal(
        (mono.Var("y", INT),), Seq(INT)))))),
    ("used at the type of its binder", mono.Var("x", FLOAT)),
    ("a constant is a value of its type", mono.Const(True, INT)),
    ("a constant is a value of its type", mono.Const(1, FLOAT)),
    ("a constant is a value of its type", mono.Const("ab", CHAR)),
    ("a constant is a value of its type", mono.Const(2 ** 63, INT)),
    ("a condition is int, where bool is due", mono.If(X, X, X)),
    ("the other branch", mono.If(mono.Const(True, BOOL), X, XS)),
    ("a projection is of a pair", mono.First(X)),
    ("a projection is of a pair", mono.Second(X)),
    ("has a generator", mono.Each(X, ())),
    ("source of a generator is a sequence", mono.Each(X, (mono.Generator("y", X),))),
    ("a filter is int, where bool is due", mono.Each(X, (mono.Generator("y", XS),), X)),
    ("primitives are rows of their table: sum", mono.Prim("sum", (XS,), INT)),
    ("used at types it has: elt", mono.Prim("elt", (X, XS), INT)),
    ("used at types it has: +", mono.Prim("+", (X, X), FLOAT)),
    ("used at types it has: +", mono.Prim("+", (X,), INT)),
    ("used at types it has: reduce_and of \\(\\[float\\]\\)",
     mono.Prim("reduce_and", (mono.Literal((), Seq(FLOAT)),), FLOAT)),
    ("message of a check is a literal", mono.Prim("check", (
        mono.Const(True, BOOL), mono.Literal((), STRING), X), INT)),
    ("calls name functions of the program: g", mono.Call("g", (), INT)),
    ("one argument per parameter", mono.Call("main", (X,), INT)),
    ("argument xs of main", mono.Call("main", (X, X), INT)),
    ("a call of main", mono.Call("main", (X, XS), FLOAT)),
    ("an element of a literal", mono.Literal((X, XS), Seq(INT))),
]


@pytest.mark.parametrize(("invariant", "exp"), BROKEN)
def test_invariant(invariant: str, exp: mono.Exp) -> None:
    main = mono.Function("main", PARAMETERS, INT, exp)
    with pytest.raises(IllFormed, match=invariant):
        check(mono.Program((main,), "main"))


@pytest.mark.parametrize("name", sorted(IN_MONO))
def test_every_primitive_refuses_wrong_types(name: str) -> None:
    wrong = mono.Prim(name, (mono.Pair(X, X), mono.Pair(X, X)), INT)
    with pytest.raises(IllFormed, match="used at types it has"):
        check(mono.Program((mono.Function("main", PARAMETERS, INT, wrong),), "main"))


def test_invariants_of_programs() -> None:
    main = mono.Function("main", PARAMETERS, INT, X)
    for invariant, functions, entry in (
            ("the entry is a function", (main,), "other"),
            ("a function is defined once: main", (main, main), "main"),
            ("the name of a primitive: max", (replace(main, name="max"),), "max"),
            ("the body of main is int, where float is due", (replace(main, result=FLOAT),), "main"),
            ("types are monomorphic and first order: result of main", (replace(main, result=Var("a")),), "main"),
            ("types are monomorphic and first order: g", (replace(main, parameters=(*PARAMETERS, FUNCTION)),), "main"),
            ("main takes and gives one row where all takes and gives all", (replace(main, row_of="all"),), "main"),
            ("main takes and gives one row where main takes and gives all", (replace(main, row_of="main"),), "main"),
            ("every binder is bound once in the program: x", (main, replace(main, name="twin")), "main")):
        with pytest.raises(IllFormed, match=invariant):
            check(mono.Program(functions, entry))


def test_failing_expression_is_shown() -> None:
    with pytest.raises(IllFormed, match="first\\(x\\)"):
        check(mono.Program((mono.Function("main", PARAMETERS, INT, mono.First(X)),), "main"))
    assert show_exp(mono.Prim("+", (X, X), INT)) == "x + x"


def test_operators_are_those_of_lambda_cu() -> None:
    scalars = {row.target for row in IN_MONO.values() if row.kind == "scalar"}
    assert scalars == {*OPS, "resized"}.difference(NARROWING)
    for name in set(OPS).difference(NARROWING):
        row = OPS[name]
        for operand in (INT, FLOAT, BOOL, CHAR):
            result = Base(row.result) if row.result else operand
            assert primitive_type(name, (operand,) * row.arity) == (result if operand.name in row.types else None), name
            assert primitive_type(name, (operand,) * (row.arity + 1)) is None


def test_every_primitive_has_its_type_from_its_row() -> None:
    xs, pairs, text = Seq(FLOAT), Seq(Pair(INT, FLOAT)), STRING
    for name, arguments, result in (
            ("length", (pairs,), INT), ("elt", (pairs, INT), Pair(INT, FLOAT)), ("dist", (Pair(INT, BOOL), INT), Seq(
                Pair(INT, BOOL))), ("write", (xs, pairs), xs), ("write", (xs, Seq(Pair(INT, INT))), None),
            ("reduce_+", (xs,), FLOAT), ("reduce_+", (Seq(BOOL),), None), ("scan_and", (Seq(BOOL),), Seq(BOOL)),
            ("flatten", (Seq(xs),), xs), ("partition", (xs, Seq(INT)), Seq(xs)), ("order", (xs,), Seq(INT)),
            ("check", (BOOL, text, pairs), pairs), ("_draw", (BOOL,), INT), ("print_string", (text,), BOOL),
            ("error", (text,), None), ("elt", (Seq(Pair(INT, INT)), INT, INT), None)):
        assert primitive_type(name, arguments) == result, name
    assert fits("error", (text,), xs) and fits("elt", (xs, INT), FLOAT) and not fits("elt", (xs, INT), INT)
