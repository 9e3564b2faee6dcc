"""Types of expressions and of what SOACs bind."""
from __future__ import annotations

import pytest

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import thunk
from nessie.lambda_cu.typing import Scope, are_constants, bound_types, check_constant, type_of

SQUARE = ir.ScalarFunction("square", (ir.Param("x", "float"),), ("float",), ir.Op("*", (ir.Var("x"), ir.Var("x"))))
SCOPE = Scope({"n": "int", "k": "int", "xs": ir.Array("float", "n"), "offs": ir.Array("int", "k", 1), "b": "bool"},
              {"square": SQUARE})
i, s, j = ir.Var("i"), ir.Var("s"), ir.Var("j")
X = ir.Read("xs", i)
ZERO, NONE = ir.Const(0.0, "float"), ir.Const(0, "int")
PLUS = thunk(("x", "y"), ir.Op("+", (ir.Var("x"), ir.Var("y"))))
FLAT, ROWS = ir.Flat("n"), ir.Irregular("k", "offs", "n")
ALL = thunk(("i",), ir.Const(True, "bool"))
AT, AT_ROW = thunk(("i",), X), thunk(("s", "j", "i"), X)
ONE_EACH = ir.Binomial(0, (1,))


@pytest.mark.parametrize("exp, types", [
    (ir.Const("c", "char"), ("char",)),
    (ir.Op("<", (ir.Var("n"), NONE)), ("bool",)),
    (ir.Op("float", (ir.Read("offs", ir.Var("n")),)), ("float",)),
    (ir.If(ir.Var("b"), ir.Read("xs", NONE), ir.Fail("s1", "float")), ("float",)),
    (ir.Let(("a", "b1"), ir.Tuple((NONE, ZERO)), ir.Tuple((ir.Var("b1"), ir.Var("a")))), ("float", "int")),
    (ir.CallScalar("square", (ZERO,)), ("float",)),
])
def test_expressions(exp: ir.Exp, types: tuple[str, ...]) -> None:
    names = dict(SCOPE.names)
    assert type_of(exp, SCOPE) == types and SCOPE.names == names


@pytest.mark.parametrize("exp, message", [
    (ir.Const(1, "float"), "1 is no constant of the type float"),
    (ir.Const(2 ** 63, "int"), "outside the ints"),
    (ir.Op("+", (NONE, ZERO)), r"operator \+ does not apply to \(int, float\)"),
    (ir.Op("plus", (NONE,)), "plus is no operator"),
    (ir.Read("xs", ZERO), "index of xs is not an int"),
    (ir.Read("n", NONE), "n is a scalar"),
    (ir.Var("xs"), "xs is an array"),
    (ir.Var("who"), "who is not in scope"),
    (ir.If(NONE, NONE, NONE), "condition of an if is not a bool"),
    (ir.If(ir.Var("b"), NONE, ZERO), "branches of an if have the types int and float"),
    (ir.Let(("a", "c"), NONE, NONE), "binds a value of 1 components"),
    (ir.Op("neg", (ir.Tuple((NONE, NONE)),)), "a tuple stands where a scalar is needed"),
    (ir.CallScalar("square", (NONE,)), "square takes float, but gets int"),
])
def test_what_has_no_type(exp: ir.Exp, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        type_of(exp, SCOPE)


PAIR = thunk(("i",), ir.Tuple((X, i)))


@pytest.mark.parametrize("names, soac, types", [
    (("ys", "is"), ir.Map(PAIR, FLAT), (ir.Array("float", "n"), ir.Array("int", "n"))),
    (("t",), ir.Reduce(AT, (ZERO,), PLUS, FLAT), ("float",)),
    (("ts",), ir.Reduce(AT_ROW, (ZERO,), PLUS, ROWS), (ir.Array("float", "k"),)),
    (("ts",), ir.Scan(AT_ROW, (ZERO,), PLUS, ROWS), (ir.Array("float", "n"),)),
    (("ts",), ir.Scan(AT, (ZERO,), PLUS, FLAT, True), (ir.Array("float", "n", 1),)),
    (("c", "ys"), ir.Filter(AT, ALL, FLAT), ("int", ir.Array("float", "c"))),
    (("c", "ys", "o"), ir.Filter(AT_ROW, thunk(("s", "j", "i"), ir.Var("b")), ROWS),
     ("int", ir.Array("float", "c"), ir.Array("int", "k", 1))),
    (("t", "f", "a", "b", "p"), ir.Partition(AT, ALL, FLAT),
     ("int", "int", ir.Array("float", "t"), ir.Array("float", "f"), ir.Array("int", "n"))),
    (("ys",), ir.Permute(AT, thunk(("i",), i), FLAT, 7, (ZERO,)), (ir.Array("float", 7),)),
    (("a", "c"), ir.Once(thunk((), ir.Tuple((NONE, ZERO)))), ("int", "float")),
    (("o",), ir.Order(AT_ROW, ROWS), (ir.Array("int", "n"),)),
    (("ys",), ir.Order(AT, FLAT, values=True), (ir.Array("float", "n"),)),
    (("o",), ir.Order(AT, FLAT, firsts=True), (ir.Array("int", "n"),)),
    (("ys",), ir.Map(thunk(("s", "j", "i"), j), ir.Uniform("k", 2, "n")), (ir.Array("int", "n"),)),
])
def test_what_soacs_bind(names: tuple[str, ...], soac: ir.Soac, types: tuple[ir.Type, ...]) -> None:
    assert bound_types(ir.Bind(names, soac), SCOPE) == types


@pytest.mark.parametrize("soac, message", [
    (ir.Map(AT, ROWS), "3 are needed"),
    (ir.Map(AT, ir.Flat("b")), "size b is not an int"),
    (ir.Map(AT, ir.Flat(-1)), "size -1 is negative"),
    (ir.Map(AT_ROW, ir.Irregular("n", "offs", "n")), r"offs is not \[int; n\+1\]"),
    (ir.Map(AT_ROW, ir.Closed("k", (), "n")), "has no term"),
    (ir.Map(AT_ROW, ir.Closed("k", (ir.Binomial(0, ()),), "n")), "has no coefficients"),
    (ir.Map(AT_ROW, ir.Closed("k", (ir.Binomial(0, (1, "b")),), "n")), "size b is not an int"),
    (ir.Map(AT_ROW, ir.Closed("k", (ir.Binomial(-1, (1,)),), "n")), "size -1 is negative"),
    (ir.Map(AT_ROW, ir.Closed("k", (ir.Floor(0, 1, -1, 2),), "n")), "size -1 is negative"),
    (ir.Map(AT_ROW, ir.Closed("k", (ir.Floor(0, 1, 0, 1),), "n")), "divided by 1"),
    (ir.Map(AT_ROW, ir.Nested(ir.Flat("k"), (ONE_EACH,), (ONE_EACH,), "n")), "rows of a nested space are not uniform"),
    (ir.Map(AT_ROW, ir.Nested(ir.Closed("k", (ir.Binomial(0, (1, 1, 1)),), "n"), (ONE_EACH,), (ONE_EACH,), "n")),
     "rows of a nested space are not uniform"),
    (ir.Map(AT_ROW, ir.Nested(ir.Uniform("k", 1, "k"), (), (ONE_EACH,), "n")), "has no term"),
    (ir.Map(AT_ROW, ir.Nested(ir.Uniform("k", 1, "k"), (ir.Binomial("k", (1,)),), (ONE_EACH,), "n")), "no polynomials"),
    (ir.Map(AT_ROW, ir.Nested(ir.Uniform("k", 1, "b"), (ONE_EACH,), (ONE_EACH,), "n")), "size b is not an int"),
    (ir.Reduce(AT, (NONE,), PLUS, FLAT), "gives float, but the identity is int"),
    (ir.Reduce(AT, (ZERO,), thunk(("x", "y"), ir.Var("b")), FLAT), "operator takes float twice, but gives bool"),
    (ir.Scan(AT_ROW, (ZERO,), PLUS, ROWS, True), "only a flat SCAN has its total"),
    (ir.Filter(AT, AT, FLAT), "predicate does not give a bool"),
    (ir.Permute(AT, AT, FLAT, "n", (ZERO,)), "index to write to is not an int"),
    (ir.Permute(AT, thunk(("i",), i), FLAT, "n", (NONE,)), "where int are before"),
    (ir.Permute(AT, thunk(("i",), i), FLAT, 7, (ir.Var("xs"),)), "an array of 7 elements"),
    (ir.Permute(AT, thunk(("i",), i), FLAT, "n", (ir.Var("n"),)), "an array of n elements"),
    (ir.ReduceByIndex(AT, thunk(("i",), i), (ZERO,), thunk(("x", "y"), NONE), FLAT, "n", (ZERO,)),
     "the operator takes"),
    (ir.ReduceByIndex(AT, thunk(("i",), i), (NONE,), PLUS, FLAT, "n", (ZERO,)), "the identity is int"),
    (ir.Permute(AT, thunk(("i",), i), FLAT, "n", (ZERO,), "first"), "first is no mode"),
    (ir.Order(PAIR, FLAT), "ORDER has one key"),
    (ir.Order(AT, FLAT, descending=True, firsts=True), "in no order"),
    (ir.Order(AT, FLAT, values=True, firsts=True), "in no order"),
])
def test_soacs_that_have_no_type(soac: ir.Soac, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        bound_types(ir.Bind(("a", "b"), soac), SCOPE)


@pytest.mark.parametrize("type_", ["int", "float", "bool", "char", "site"])
@pytest.mark.parametrize("value", [0, -2**63, 2**63, -2**63 - 1, 0.5, True, "c", "", "cc", None])
def test_many_constants_are_checked_as_each_is(value: object, type_: str) -> None:
    usual = {"int": 7, "float": 0.0, "bool": False, "char": "x", "site": 0}[type_]
    try:
        check_constant(ir.Const(value, type_))                  # type: ignore[arg-type]
        good = True
    except IllFormed:
        good = False
    assert are_constants([usual, value, usual], type_) == good
    assert are_constants([], type_) == (type_ != "site")
