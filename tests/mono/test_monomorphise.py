"""Monomorphisation: what it makes, and that it means the same."""
from __future__ import annotations

from typing import Any

import pytest
from mono_interpreter import Stopped, run

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.types import BOOL, FLOAT, INT, Pair, Seq, Type
from nessie.base.values import Record
from nessie.interpreter.interpreter import World
from nessie.interpreter.interpreter import run as interpret
from nessie.library.library import library
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.copies.copies import Monomorphised, monomorphic, monomorphic_expression
from nessie.mono.passes.inline import inline
from nessie.mono.text import parse as parse_mono
from nessie.mono.text import show
from nessie.mono.walk import called, expressions
from nessie.syntax.parse import parse
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment
from nessie.typing.infer import infer


def environment_of(source: str) -> tuple[typed.Program, Environment]:
    return infer(parse(Source("test.nesl", source)), library())


def main(source: str, argument: Type | None = None) -> Monomorphised:
    """The program of the function main, checked."""
    made = monomorphic(environment_of(source)[1], "main", argument)
    check(made.program)
    return made


def text(source: str, argument: Type | None = None) -> str:
    return show(main(source, argument).program)


def calls(program: mono.Program) -> set[str]:
    return {name for f in program.functions for name in called(f.body)}


# What it makes --------------------------------------------------------------------------------------

def test_parameters_are_split_and_tuples_never_made() -> None:
    assert text("function g(a, (b, c)) = a + b * c; function main(x, y) = g(x, (y, x + 1));") == """\
function g (a : int, b : int, c : int) : int =
  a + (b * c)

function main (x : int, y : int) : int =
  g(x, y, x + 1)

entry main
"""


def test_tuple_that_is_no_literal_is_bound_once() -> None:
    assert text("function g(a, (b, c)) = a + b * c; function h(x) = (x, x); function main(x) = g(x / 2, h(x));") == """\
function h (x_1 : int) : (int, int) =
  (x_1, x_1)

function g (a_1 : int, b : int, c : int) : int =
  a_1 + (b * c)

function main (x : int) : int =
  let a : int = x / 2 in
  let b_c : (int, int) = h(x) in
  g(a, first(b_c), second(b_c))

entry main
"""


def test_one_copy_per_type() -> None:
    made = main("function twice(x) = x + x; function main(a, b) = (twice(a + 0) + twice(3), twice(b * 1.0));")
    assert [f.name for f in made.program.functions] == ["twice", "twice_1", "main"]
    assert calls(made.program) == {"twice", "twice_1"}


def test_functions_are_specialised_away() -> None:
    assert text("function apply(g, x) = g(x); function add(a, b) = a + b; function main(x, y) ="
                " (apply(negate, x + 0), apply((z => z + y), x), apply(closure(add, y), x));") == """\
function apply (x_3 : int) : int =
  neg(x_3)

function main_fn1 (y_1 : int, z : int) : int =
  z + y_1

function apply_1 (g_1 : int, x_2 : int) : int =
  main_fn1(g_1, x_2)

function add (a : int, b : int) : int =
  a + b

function apply_2 (g : int, x_1 : int) : int =
  add(g, x_1)

function main (x : int, y : int) : (int, int, int) =
  (apply(x + 0), apply_1(y, x), apply_2(y, x))

entry main
"""


def test_datatypes_are_their_content() -> None:
    assert text("datatype point(int, float);"
                "function main(point(x, y), ps) = {point(x + a, y) : point(a, b) in ps};") == """\
function main (x : int, y : float, ps : [(int, float)]) : [(int, float)] =
  {(x + first(a_b), y) : a_b : (int, float) in ps}

entry main
"""


def test_wildcards_and_shadowing_get_names_of_their_own() -> None:
    made = main("function main(x, _) = let _ = x / 0; x = x + 1; (x, _) = (x * 2, 3) in {x : x in [x]; _ in [1]};"
                " main(1, t);", Pair(INT, BOOL))
    assert made.parameters == (INT, BOOL)
    with pytest.raises(Stopped, match="Divide by zero"):
        run(made.program, 1, True)


def test_variables_of_the_top_level_become_parameters() -> None:
    made = main("k = 10; pair = (1.5, t); g = x => x + k; function h(n) = if n == 0 then k else h(n - 1);"
                "function main(v) = let (a, _) = pair in ({g(x) : x in v}, h(3), a);")
    assert [v.name for v in made.variables] == ["g", "k", "pair"]
    assert made.parameters == (Seq(INT),)
    assert run(made.program, [1, 2], 10, 7, (1.5, True)) == ([11, 12], (7, 1.5))
    assert [p.name for p in next(f for f in made.program.functions if f.name == "h").parameters] == ["n", "k"]


def test_expression_as_entry() -> None:
    definitions, environment = environment_of("function g(x) = x * 2; b = 4; g(b) + 1;")
    it = definitions.definitions[-1]
    assert isinstance(it, typed.Variable)
    made = monomorphic_expression(environment, it.value, INT)
    check(made.program)
    assert (made.parameters, [v.name for v in made.variables], run(made.program, 4)) == ((), ["b"], 9)


def test_function_values_in_structures() -> None:
    source = ("function main(x) = let fs = [negate, negate]; p = (abs, x + 0); (g, y) = p"
              " in ({h(x) : h in fs}, g(y), #fs);")
    assert run(main(source).program, -3) == ([3, 3], (3, 2))


def test_effects_of_nothing_stay_in_order() -> None:
    source = ("function say(s) = let _ = print_string(s) in negate;"
              "function main(x) = let (g, y) = (say(\"a\"), print_string(\"b\")); h = say(\"c\") in"
              " (h(g(x)), (if x > 0 then say(\"d\") else say(\"e\"))(x), rest((print_string(\"f\"), say(\"g\")))(x));")
    printed: list[str] = []
    assert run(main(source).program, 2, printed=printed) == (2, (-2, -2))
    assert "".join(printed) == "abcdfg"


def test_entry_at_types() -> None:
    source = "function main(a, b) = {x + b : x in a};"
    made = main(source, Pair(Seq(FLOAT), FLOAT))
    assert made.result == Seq(FLOAT)
    with pytest.raises(NessieError, match="main takes \\[a\\], a :: \\(a in number\\): the type of the argument"):
        main(source)
    for wrong in (Pair(Seq(INT), FLOAT), INT, Pair(Seq(BOOL), BOOL)):
        with pytest.raises(NessieError, match="main takes"):
            main(source, wrong)


def test_polymorphic_recursion_without_end_is_an_error() -> None:
    for larger in ("[x]", "(x, x)"):
        source = (f"function g(x) : a -> int :: (a in any); function h(x) = g({larger}); function g(x) = h(x);"
                  "function main(n) = g(n + 1);")
        with pytest.raises(NessieError, match="is called at ever larger types, without end"):
            main(source)


def test_a_circle_that_grows_is_shown_by_its_calls() -> None:
    """By way of a function that passes its argument on, and one that is no part of the circle."""
    source = ("function g(x) : a -> int :: (a in any); function pass(x) = g(x); function other(x) = #[x];"
              "function h(x) = other(x) + pass([x]); function g(x) = h(x); function main(n) = g(n + 1);")
    with pytest.raises(NessieError, match="pass is called at ever larger types, without end") as caught:
        main(source)
    assert [(span.source.text[span.start:span.end], label) for span, label in caught.value.places] == [
        ("pass([x])", "the type grows here"), ("g(x)", ""), ("h(x)", "")]


ENDING = {
    "one after another": "function pair(x) = (x, 1); function main(n) = let a0 = n; "
                         + "; ".join(f"a{i} = pair(a{i - 1})" for i in range(1, 305)) + " in #[a304] + n;",
    "a circle that exchanges types": "function g(x, y, n) : (a, b, int) -> int :: (a in any; b in any);"
        "function h(x, y, n) = if n == 0 then #[x] else g(y, x, n - 1);"
        "function g(x, y, n) : (a, b, int) -> int :: (a in any; b in any) = h(y, x, n) + #[y];"
        "function main(n) = g(n + 0, [(n, 2.0)], 5);",
    "a circle that begins anew": "function g(x, n) : (a, int) -> int :: (a in any);"
        "function h(x, n) = if n == 0 then #[x] else g([(n, n)], n - 1);"
        "function g(x, n) : (a, int) -> int :: (a in any) = h([[x]], n); function main(n) = g(n + 0, 3);",
    "a larger type outside of the circle": "function size(x) = #[x]; function g(x, n) : (a, int) -> int :: (a in any);"
        "function h(x, n) = if n == 0 then size([x]) else g(x, n - 1) + size(([x], x));"
        "function g(x, n) : (a, int) -> int :: (a in any) = h(x, n) + size([x]); function main(n) = g(n + 0, 3);",
}


@pytest.mark.parametrize("name", ENDING)
def test_types_that_end_have_their_functions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie.mono.copies.copies.MANY", 2)
    run_deep(lambda: main(ENDING[name]))


def test_so_many_types_are_told() -> None:
    names = "abcdeghijk"
    source = "function a(x) = 1; " + "".join(f"function {g}(x) = {f}([x]) + {f}((x, 1)) + {f}((1, x)); "
                                             for f, g in zip(names, names[1:]))
    with pytest.raises(NessieError, match=r"needs more than 5,000 functions at different types: [\d,]+ of them are "
                                          r"\w, the last at .*\n(.*\n)*hint: a function is compiled for each type"):
        main(source + "function main(n) = k(n + 0);")
    main(source + "function main(n) = e(n + 0);")


def test_so_large_types_are_told() -> None:
    names = "abcdegh"
    source = "function a(x) = 1; " + "".join(f"function {g}(x) = {f}((x, x, x, x, x, x)); "
                                             for f, g in zip(names, names[1:]))
    with pytest.raises(NessieError, match=r"[ab] is called at types with more than 30,000 parts"):
        main(source + "function main(n) = h(n + 0);")


def test_types_that_the_top_level_leaves_open_are_no_functions_own() -> None:
    """The variables a and b of the top level are not those of g."""
    definitions, environment = environment_of("function g(v) = g(v); (g([1]), g([2.5]));")
    last = definitions.definitions[-1]
    assert isinstance(last, typed.Variable) and isinstance(last.pattern, typed.NamePattern)
    check(monomorphic_expression(environment, last.value, last.pattern.type).program)


@pytest.mark.parametrize("pair", ["({0}, {0})", "twice({0}, {0})"])
def test_types_that_double_in_a_function_are_bounded(pair: str) -> None:
    doubled = "; ".join(f"a{i} = {pair.format(f'a{i - 1}')}" for i in range(1, 9))
    source = f"""datatype twice(a, a) :: (a in any); function g(a0) = let {doubled} in 1;
                 function main(n) = g(({', '.join(['(n + 1)'] * 200)}));"""
    with pytest.raises(NessieError, match="a type in this function, as it is called, has more than 30,000 parts"):
        main(source)


def test_time_is_the_clock_before_and_after() -> None:
    program = main("""function main(x) = let _ = print_string("a"); (v,s) = time(let _ = print_line(@x) in x + 1);
                                             (g,r) = time(sin) in (v, s, r, g(0.0));""").program
    assert run(program, 3) == (4, (1.0, (0.0, 0.0)))


def test_deep_trees() -> None:
    lets = "; ".join(f"x{i + 1} = x{i} + 1" for i in range(3_000))
    sums = " + ".join(["x0"] * 3_000)
    nested = "negate(" * 3_000 + "x0" + ")" * 3_000

    source = f"function main(x0) = (let {lets} in x3000) + ({sums}) + {nested};"

    def work() -> int:
        made = monomorphic(environment_of(source)[1], "main")
        check(made.program)
        check(inline(made.program))
        return sum(1 for _ in expressions(made.program.functions[-1].body))
    assert run_deep(work) > 15_000


# What it means --------------------------------------------------------------------------------------

PROGRAMS = [
    "function q(s) = if #s < 2 then s else let p = s[#s/2]; l = {e in s | e < p}; e = {e in s | e == p};"
    " g = {e in s | e > p}; r = {q(v) : v in [l, g]} in r[0] ++ e ++ r[1]; q([3,1,4,1,5,9,2,6]);",
    "datatype point(float, float); function add(point(a,b), point(c,d)) = point(a+c, b+d);"
    " {add(p, point(1.0, 2.0)) : p in [point(0.5, 0.25)]};",
    "function compose(g, h) = x => g(h(x)); compose((x => x + 1), (x => x * 2))(5);",
    "function fold(g, z, v) = if #v == 0 then z else fold(g, g(z, v[0]), drop(v, 1)); fold(max, 0, [3, 9, 2]);",
    "n = 3; k = x => x * n; {k(i) : i in [0:n]};",
    "let a = 1; b = 2; g = x => x + a + b in g(3);",
    "let a = 1; b = 2.5; c = [7, 8] in {((x, y) => (x + a, b, c[y]))(z, 1 - z) : z in [0, 1]};",
    "let a = 1; b = abs; c = (2, `c); g = x => y => (x + y + a, b(-x), c) in {g(i)(j) : i in [3, 4]; j in [5, 6]};",
    "eql([(1, \"a\"), (2, \"b\")], [(1, \"a\"), (2, \"b\")]);",
    "@[(1, 2.5, t), (3, 4.0, f)];",
    "remove_duplicates([\"a\", \"b\", \"a\"]);",
    "{sum(v) : v in [[1,2],[3],[] int] | #v > 0};",
    "sort([3.5, 1.0, 2.0]); it[0];",
    "let p = (1, 2, 3); (a, b) = p; (c, d) = b in (d, c, a);",
    "transpose([[1,2],[3,4]]);",
    "2^10;",
    "\"ab\" || 5;",
    "hash(\"abc\", 100) == hash(\"abc\", 100);",
    "any({e > 3 : e in [1,2,3]}) or all([] bool);",
    "kth_smallest([5, 3, 9, 1], 2);",
    "wordify(\"the quick brown fox\");",
    "identity((1, [\"x\"], 2.5));",
    "let (g, y) = identity((x => x + 1, 1.5)) in (g(3), y);",
    "datatype box(a) :: (a in any); function un(box(h)) = h; "
    "let k = [4]; g = un(identity(box(x => x + k[0]))) in g(3);",
    "scan((a => let (x, y) = a in x + y), 0, [1, 2, 3, 4]);",
    "search_table([1, 5], create_table([(1, `a), (2, `b)]));",
    "function ev(n) : int -> bool; function od(n) = if n == 0 then f else ev(n - 1);"
    " function ev(n) = if n == 0 then t else od(n - 1); (ev(10), od(7));",
]


def erased(value: Any) -> Any:
    match value:
        case Record(_, content):
            return erased(content)
        case tuple() | list():
            return type(value)(map(erased, value))
    return value


@pytest.mark.parametrize("source", PROGRAMS)
def test_same_value_as_the_interpreter(source: str) -> None:
    definitions, environment = environment_of(source)
    world = World()
    for known in (environment.library, environment.program):
        world.functions.update(known.functions)
        world.datatypes.update(known.datatypes)
    expected = interpret(definitions, world)[-1]
    last = definitions.definitions[-1]
    assert isinstance(last, typed.Variable) and isinstance(last.pattern, typed.NamePattern)
    made = monomorphic_expression(environment, last.value, last.pattern.type)
    earlier = {v.name: world.variables[v.name] for v in made.variables}
    if any(callable(v) or type(v).__name__.endswith("Value") for v in earlier.values()):
        earlier = dict.fromkeys(earlier, world.variables["n"])          # the lambda k captured n
    for program in (made.program, inline(made.program)):
        check(program)
        assert parse_mono(show(program)) == program
        assert run(program, *map(erased, earlier.values())) == erased(expected.value)
