"""The interpreter against what NESL's description says, operator by operator and form by form."""
from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie.base.source import NessieError, Source
from nessie.base.types import INT, Seq
from nessie.base.values import Record
from nessie.interpreter import interpreter
from nessie.interpreter.interpreter import Result, World, call, run
from nessie.interpreter.meanings import MEANINGS, mix, wrap
from nessie.interpreter.meanings_any import DERIVED, FACTOR, text
from nessie.interpreter.random_numbers import element_state, random_below, state_after
from nessie.library.primitives import PRIMITIVES
from nessie.syntax.parse import parse
from nessie.typing import nodes as typed
from nessie.typing.environment import Definitions, Environment
from nessie.typing.infer import infer

MAX, MIN = 2**63 - 1, -2**63
INTERPRETED = {"identity", "_zero_of", "_check", "rand", "rand_seed", "_precision", "_bits", "_digits", "_steps"}
EFFECTS = {row.name for row in PRIMITIVES.values() if row.kind == "effect"}


def results(source: str, world: World | None = None) -> list[Result]:
    """Run a program over the primitives alone; it may use the library's own names."""
    program, _ = infer(parse(Source("test.nesl", source)), Environment(Definitions(), in_library=True))
    return run(program, world)


def it(source: str) -> Any:
    return results(source)[-1].value


def failure(source: str) -> NessieError:
    with pytest.raises(NessieError) as caught:
        results(source)
    return caught.value


def test_every_primitive_has_a_meaning() -> None:
    assert set(MEANINGS) | set(DERIVED) | INTERPRETED | EFFECTS == set(PRIMITIVES)


# Scalars ----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("source", "value"), [
    ("max_int + 1", MIN), ("min_int - 1", MAX), ("max_int * 2", -2), ("min_int / (0 - 1)", MIN), ("abs(min_int)", MIN),
    ("-min_int", MIN), ("-7/2", -3), ("7/(-2)", -3), ("7/2", 3), ("-8/(-2)", 4), ("rem(5,-3)", 2), ("rem(-5,3)", -2),
    ("mod(5,-3)", -1), ("mod(-5,3)", 1), ("mod(-6,3)", 0), ("rem(min_int,-1)", 0), ("mod(min_int,-1)", 0),
    ("6 and 3", 2), ("6 or 3", 7), ("6 xor 3", 5), ("not 0", -1), ("t and f", False), ("t or f", True),
    ("not t", False),
    ("t xor t", False), ("lshift(1,63)", MIN), ("lshift(3,62)", -2**62), ("rshift(-1,63)", -1), ("rshift(5,1)", 2),
    ("1.5 / 0.5", 3.0), ("1e308 * 10.0", math.inf), ("-1e308 * 10.0", -math.inf), ("float(3)", 3.0), ("btoi(t)", 1),
    ("trunc(-2.7)", -2), ("floor(-2.5)", -3), ("ceil(-2.5)", -2), ("round(0.5)", 1), ("round(-0.5)", -1),
    ("round(-1.5)", -2), ("round(2.5)", 3), ("round(0.49999999999999994)", 0),
    ("round(-0.49999999999999994)", 0), ("round(4503599627370497.0)", 2**52 + 1),
    ("char_code(`a)", 97), ("code_char(955)", "λ"), ("max(`a,`b)", "b"), ("`a < `b", True), ("sqrt(2.25)", 1.5),
    ("ln(0.0)", -math.inf), ("exp(1000.0)", math.inf), ("sinh(-1000.0)", -math.inf), ("max(2,3)", 3),
    ("min(2.0,1.0)", 1.0),
    ("-inf < min_val([inf])", True), ("nan == nan", False),
    ("max_int", MAX), ("1 == 1", True), ("1.0 /= 1.0", False), ("one(2.0)", 1.0), ("zero(2)", 0), ("float_num(2)", 2.0),
    ("int_to_any(3,1.0)", 3.0), ("float_to_any(2.5,1)", 3), ("rest((1,2,3))", (2, 3)), ("first((1,2,3))", 1),
])
def test_scalars(source: str, value: Any) -> None:
    assert repr(it(f"{source};")) == repr(value)


@pytest.mark.parametrize("source", ["acos(2.0)", "max(1.0, acos(2.0))", "min(acos(2.0), 1.0)", "sqrt(acos(2.0))",
                                    "max_val([1.0, acos(2.0), 2.0])", "sin(ln(0.0))", "ln(acos(2.0))"])
def test_not_a_number(source: str) -> None:
    assert math.isnan(it(f"{source};"))


@given(st.integers(MIN, MAX), st.integers(MIN, MAX))
def test_division_and_remainders_agree(a: int, b: int) -> None:
    divide, rem, mod = (MEANINGS[name].value for name in ("/", "rem", "mod"))
    if b:
        assert wrap(divide((), (a, b)) * b + rem((), (a, b))) == a
        assert mod((), (a, b)) in (rem((), (a, b)), rem((), (a, b)) + b)
        assert mod((), (a, b)) * b >= 0


@pytest.mark.parametrize(("source", "message"), [
    ("1 / 0", "Divide by zero."), ("1.0 / 0.0", "Divide by zero."), ("rem(1,0)", "Divide by zero in function REM."),
    ("mod(1,0)", "Divide by zero in function MOD."), ("sqrt(-1.0)", "Sqrt of negative number."),
    ("ln(-1.0)", "Ln of negative number."), ("([] int)[0]", "Sequence reference (a[i]) out of bounds."),
    ("[1][-1]", "Sequence reference (a[i]) out of bounds."), ("[1] -> [1]", "Index out of bounds for function ->."),
    ("[1] <- [(1,2)]", "Index out of bounds for function <-."),
    ("partition([1],[2])", "Length mismatch in function PARTITION."),
    ("partition([1],[2,-1])", "Length mismatch in function PARTITION."),
    ("subseq([1],1,0)", "Bounds error for function SUBSEQ."),
    ("[2:1]", "In [s:e:l], e must be >= to s, and l must be positive."),
    ("[1:2:0]", "In [s:e:l], e must be >= to s, and l must be positive."),
    ("{a+b : a in [1]; b in [1,2]}", "Length mismatch in an apply-to-each."),
    ("rand(0)", "Rand only works with positive numbers."), ("error(\"boom\")", "boom"),
    ("lshift(1,64)", "Shift count out of range, it must be in 0..63."),
    ("rshift(1,-1)", "Shift count out of range, it must be in 0..63."),
    ("trunc(1e300)", "Float out of the range of int in function TRUNC."),
    ("round(acos(2.0))", "Float out of the range of int in function ROUND."),
    ("round(9223372036854775808.0)", "Float out of the range of int in function ROUND."),
    ("code_char(1114112)", "Not the code of a character in function CODE_CHAR."),
    ("dist(1,-1)", "Bounds error for function DIST."),
    ("_check(f, \"no good\", 1/0)", "no good"),
])
def test_errors(source: str, message: str) -> None:
    error = failure(f"1;\n {source};")
    assert error.message == message
    assert error.places[0][0].line == 2


def test_errors_in_the_library_are_shown_where_the_user_called_it() -> None:
    library, environment = infer(parse(Source("prelude", "function half(a) = 1/a;", library=True)),
                                 Environment(Definitions(), in_library=True))
    program, _ = infer(parse(Source("user", "function g(a) = half(a) + 1;\n\ng(0);")), environment)
    world = World()
    run(library, world)
    with pytest.raises(NessieError) as caught:
        run(program, world)
    assert [span.source.text[span.start:span.end] for span, _ in caught.value.places] == ["half(a)"]


# Sequences --------------------------------------------------------------------------------------

@pytest.mark.parametrize(("source", "value"), [
    ("#[1,2]", 2), ("dist([1],2)", [[1], [1]]), ("dist(1,0)", []), ("[2:7:2]", [2, 4, 6]), ("[5:5]", []),
    ("sum([] int)", 0), ("sum([] float)", 0.0), ("product([] float)", 1.0), ("max_val([] int)", MIN),
    ("min_val([] int)", MAX), ("max_val([] float)", -math.inf), ("min_val([] float)", math.inf),
    ("any([] bool)", False),
    ("all([] bool)", True), ("all([] int)", -1), ("any([3,6,8])", 15), ("parity([t,t,t])", True),
    ("max_val(\"hello\")", "o"),
    ("min_val([] char)", "\U0010ffff"), ("sum([max_int,1])", MIN),
    ("plus_scan([1,2,3])", [0, 1, 3]), ("max_scan([3,1,4])", [MIN, 3, 3]), ("and_scan([t,f,t])", [True, True, False]),
    ("mult_scan([] int)", []), ("min_scan([2.0])", [math.inf]), ("[10,20] -> [1,1,0]", [20, 20, 10]),
    ("[1,2,3] <- [(0,5),(2,6),(0,7)]", [7, 2, 6]), ("[1] ++ [] int", [1]), ("flatten([[1],[] int,[2,3]])", [1, 2, 3]),
    ("partition([1,2,3],[1,0,2])", [[1], [], [2, 3]]), ("subseq([1,2,3],1,3)", [2, 3]), ("subseq([1],1,1)", []),
    ("_order([3,1,2,1])", [1, 3, 2, 0]), ("_order_down([3,1,2,1])", [0, 2, 1, 3]),
    ("_order([acos(2.0),1.0,ln(0.0)])", [2, 1, 0]),
    ("_order_down([acos(2.0),1.0,2.0])", [2, 1, 0]), ("_label([\"a\",\"b\",\"a\"])", [0, 1, 0]),
    ("_order([-0.0,0.0])", [0, 1]), ("_firsts([3,1,3])", [0, 1, 0]),
    ("_firsts([acos(2.0),-0.0,acos(2.0),0.0])", [0, 1, 2, 1]),
])
def test_sequences(source: str, value: Any) -> None:
    assert repr(it(f"{source};")) == repr(value)


@pytest.mark.parametrize(("source", "value"), [
    ("{10/a : a in [0,1] | a /= 0}", [10]), ("{1/0 : a in [] int}", []), ("{a in [1,2,3] | a > 1}", [2, 3]),
    ("{a*b : a in [1,2]; b in [3,4]}", [3, 8]), ("{(a,b) in [(1,t),(2,f)] | b}", [(1, True)]),
    ("{x + y : (x, _) in [(1,2)]; (y, _) in [(3,4)]}", [4]), ("let a = 1; a = a + 1 in a", 2),
    ("let (a,b) = (1,2,3) in b", (2, 3)),
    ("if 1 == 1 then 5 else 1/0", 5), ("{if a == 0 then 0 else 6/a : a in [0,3]}", [0, 2]),
    ("{{x : x in v} : v in [[1],[] int]}", [[1], []]), ("(x => x + 1)(2)", 3),
    ("let n = 10 in {(x => x + n)(a) : a in [1]}", [11]),
    ("{* a : a in [1,2]}", [1, 2]), ("{`b : a in [1]}", ["b"]), ("first(time(5))", 5),
])
def test_expressions(source: str, value: Any) -> None:
    assert it(f"{source};") == value


def test_strictness() -> None:
    assert failure("let x = 1/0 in 5;").message == "Divide by zero."
    assert failure("1 == 1 or 1/0 == 0;").message == "Divide by zero."


def test_functions_are_values() -> None:
    assert it("function twice(g,x) = g(g(x)); twice(negate,3) + twice((x => x * x),3);") == 84
    assert it("function add(a,b) = a + b; let g = closure(add,5) in {g(x) : x in [1,2]};") == [6, 7]
    assert it("function total(v) = sum(v); total([] float);") == 0.0
    assert it("function totals(v) = {sum(x) : x in v}; totals([[] float]);") == [0.0]


def test_recursion_ends_on_empty_sequences() -> None:
    assert it("function tree(n) : int -> int = n + sum({tree(i) : i in [0:n]}); tree(4);") == 15


def test_datatypes() -> None:
    source = "datatype point(float,float); function x(point(a,b)) = a; "
    assert it(source + "x(point(1.0,2.0));") == 1.0
    assert it(source + "point(1.0,2.0);") == Record("point", (1.0, 2.0))
    assert it(source + "{a : point(a,b) in [point(1.0,2.0)]};") == [1.0]
    assert it(source + "identity(point(1.0,2.0));") == Record("point", (0.0, 0.0))
    assert it(source + "eql(point(1.0,2.0),point(1.0,3.0));") is False


def test_top_level_variables() -> None:
    found = results("a = 3; b = a; (c,d) = (a+1,\"x\"); a = 4; a + b + c;")
    assert [r.value for r in found] == [3, 3, (4, ["x"]), 4, 11]


# Any type ---------------------------------------------------------------------------------------

@pytest.mark.parametrize(("value", "shown"), [
    (5, "5"), (True, "t"), ("a", "`a"), (list("ab"), "[`a, `b]"), ([], "[]"), ((1, 2), "(1, 2)"),
    ((1, (2, 3)), "(1, 2, 3)"),
    ((1, (2, (3, 4))), "(1, 2, (3, 4))"), ((1, (2, (3, (4, 5)))), "(1, 2, (3, 4, 5))"), (((1, 2), 3), "((1, 2), 3)"),
    (Record("point", (1.0, 2.0)), "(1.0, 2.0)"), (0.0, "0.0"), (1 / 3, "0.33333333"), (123456789.123, "1.2345679e+8"),
    (1e7, "1.0e+7"), (9999999.96, "1.0e+7"), (9999999.0, "9999999.0"), (1.5e-7, "1.5e-7"), (0.01, "0.01"),
    (0.00999, "9.99e-3"),
    (-2.5, "-2.5"), (1e300, "1.0e+300"), (math.inf, "inf"), (math.nan, "nan"), ([[1, 2], []], "[[1, 2], []]"),
])
def test_values_as_text(value: Any, shown: str) -> None:
    assert text(value) == shown


def test_limited_text() -> None:
    assert text([1, 2, 3, 4, 5, 6, 7], 3, 5) == "[1, 2, 3, 4, 5, ...]"
    assert text([[[[1]]]], 3, 5) == "[[[...]]]"


@pytest.mark.parametrize(("source", "value"), [
    ("eql(\"ab\",\"ab\")", True), ("eql([[1],[2]],[[1],[2,3]])", False), ("eql((1,t),(1,f))", False),
    ("eql(acos(2.0),acos(2.0))", False), ("eql([acos(2.0)],[acos(2.0)])", False), ("eql(-0.0,0.0)", True),
    ("eql(sin,sin)", True),
    ("identity((3,[1],t,`a,2.5))", (0, ([], (False, ("\0", 0.0))))), ("@(1,\"a\")", list("(1, [`a])")),
    ("_zero_of([] (int,[char]))", (0, [])), ("_code([1]) == _code([1])", True),
])
def test_functions_of_any_type(source: str, value: Any) -> None:
    assert it(f"{source};") == value


# Randomness, cost, depth ------------------------------------------------------------------------

def test_random_numbers_depend_on_the_activation_alone() -> None:
    source = "{{rand(1000000) : b in [0:a]} : a in [0:4]};"
    whole = it(source)
    assert whole == it("1; " + source)
    assert whole == it(source.replace("[0:4]", "[0:5]"))[:4]
    assert len({x for row in whole for x in row}) == 6
    assert it("(rand(1.0), rand(1.0));")[0] != it("(rand(1.0), rand(1.0));")[1]
    assert it("let x = rand_seed(5) in rand(1000000);") != it("rand(1000000);")


def test_the_state_is_that_of_splitmix64() -> None:
    """With the numbers that its author's program prints."""
    world = World(seeded=0)
    results("_draw(t);", world)
    assert [world.draw() for _ in range(2)] == [0x6E789E6AA1B965F4, 0x06C45D188009454F] and mix(0) == 0xE220A8397B1DCDAF


def test_the_state_after_an_apply_to_each() -> None:
    """One step on if an element drew, in its filter, its body, or an apply-to-each in them; else what it was."""
    def after(source: str) -> int:
        world = World(seeded=7)
        results(source, world)
        return world.state
    assert after("{rand(9) : i in [0:5]};") == after("{rand(9) + rand(9) : i in [0:2]};") == after("rand(9);") \
        == after("{i : i in [0:5] | rand(2) == 2};") == after("{{rand(j + 1) : j in [0:i]} : i in [0:3]};") \
        == after("{if i == 1 then rand(9) else i : i in [0:5]};") == state_after(7)
    assert after("{i : i in [0:5]};") == after("{rand(9) : i in [0:0]};") == after("{rand(9) : i in [0:5] | i < 0};") \
        == after("{{rand(9) : j in [0:0]} : i in [0:5]};") == 7
    assert after("let a = rand(9); b = {rand(i) : i in [1:3]} in rand(9);") == state_after(state_after(state_after(7)))


def test_seeds() -> None:
    source = "rand(1000); rand_seed(5); rand(1000); rand(1000); rand_seed(0); rand(1000);"
    first, _, second, third, _, last = [result.value for result in results(source)]
    assert first == last != second == third


@given(st.integers(0, 2**64 - 1), st.integers(1, MAX), st.floats(1e-300, 1e300))
def test_random_numbers_are_below_their_limit(bits: int, n: int, x: float) -> None:
    assert 0 <= random_below(n, bits) < n
    assert 0 <= random_below(x, bits) < x


def test_random_numbers_spread() -> None:
    draws = [random_below(10, mix(element_state(1, i))) for i in range(10_000)]
    assert all(800 < draws.count(d) < 1200 for d in range(10))


def cost(source: str) -> tuple[int, int]:
    last = results(source)[-1]
    return last.work, last.depth


def test_work_adds_up_and_depth_is_the_deepest_element() -> None:
    assert cost("1 + 2 + 3;") == (2, 2)
    assert cost("sum([0:100]);") == (200, 2)
    assert cost("{x + x * x : x in [0:100]};") == (100 + 1 + 100 + 200, 1 + 1 + 2)
    assert cost("{sum([0:n]) : n in [3,5]};") == (2 + 1 + 2 + 16, 1 + 1 + 2)
    assert cost("{if n == 0 then 1 else n * n + n : n in [0,1]};")[1] == 1 + 1 + 1 + 1 + 2
    source = "function down(n) : int -> int = if n == 0 then 0 else down(n - 1);"
    (work, depth), (more, deeper) = cost(source + "down(10);"), cost(source + "down(20);")
    assert more - work == deeper - depth == 40
    assert cost(source + "{down(n) : n in [10,20]};")[1] == deeper + 2


def test_recursion_has_a_limit() -> None:
    source = "function down(n) : int -> int = if n == 0 then 0 else 1 + down(n - 1);\n"
    assert it(source + "down(20000);") == 20000
    world = World(depth_limit=50)
    assert results(source + "down(49);", world)[-1].value == 49
    with pytest.raises(NessieError, match="recursion is deeper than 50 calls") as caught:
        results(source + "down(50);", world)
    assert caught.value.places[0][0].line == 1
    assert results("1 + 1;", world)[-1].value == 2


@pytest.mark.nightly
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python's recursion takes its stack")
def test_a_hundred_thousand_calls_from_deep_within_expressions() -> None:
    source = "function down(n) : int -> int = if n == 0 then 0 else 1+(1+(1+(1+(1+(1+(1+(1+down(n - 1)))))))); "
    world = World(depth_limit=interpreter.MOST_DEPTH)
    assert results(source + "down(99999);", world)[-1].value == 8 * 99999


@pytest.mark.nightly
def test_recursion_beyond_pythons_own_limit_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "FRAMES", 0)
    source = "function down(n) : int -> int = if n == 0 then 0 else 1 + down(n - 1); down(-1);"
    with pytest.raises(NessieError, match="recursion is deeper"):
        results(source, World(depth_limit=10**9))


def test_deep_expressions() -> None:
    exp: typed.Exp = typed.Const(0, INT)
    for i in range(10_000):
        exp = typed.Let(typed.NamePattern(f"x{i}", Seq(INT)), exp, typed.Name(f"x{i}", INT))
    program = typed.Program((typed.Variable(typed.NamePattern("it", INT), exp),))
    assert run(program)[-1].value == 0


def test_calls_from_python() -> None:
    world = World()
    results("function dotp(xs,ys) = sum({x*y : x in xs; y in ys});", world)
    function = world.functions["dotp"]
    result = call(world, "dotp", ([1, 2], [3, 4]), (INT,) * len(function.variables))
    assert result.value == 11
    assert result.work > 4


@given(st.lists(st.integers(), max_size=80))
def test_codes_of_sequences_are_polynomials(value: list[int]) -> None:
    total = sum(x * FACTOR ** i for i, x in enumerate(value)) + len(value)
    assert DERIVED["_code"].value((), value) == wrap(total)
