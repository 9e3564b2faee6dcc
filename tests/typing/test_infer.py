"""Type inference: what programs mean to it, what it refuses and how it says so."""
from __future__ import annotations

import json
import re

import pytest
from paths import GOLDEN_FILES, SUPPORT

from nessie import forms
from nessie.base.names import shown_name
from nessie.base.source import IllFormed, NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.text.types_text import show_scheme
from nessie.base.types import BOOL, FLOAT, INT, Fun, Identity, Pair, Seq, Var
from nessie.forms import check_typed
from nessie.library.library import library
from nessie.syntax.parse import parse
from nessie.typing import nodes as typed
from nessie.typing import text as typed_text
from nessie.typing.environment import Environment
from nessie.typing.infer import infer
from nessie.typing.node_types import pattern_type
from nessie.typing.unify import Clash, Unifier, meet

CASES = [json.loads(line) for line in (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]


def inferred(source: str, environment: Environment | None = None) -> tuple[typed.Program, Environment]:
    return infer(parse(Source("test.nesl", source)), environment or library())


def type_of(source: str) -> str:
    """The type of the last form, as NESL prints it."""
    program, environment = inferred(source)
    last = program.definitions[-1]
    if isinstance(last, typed.Variable):
        return show_scheme(pattern_type(last.pattern))
    scheme = environment.global_scheme(last.name)
    assert scheme is not None
    return show_scheme(scheme.type)


def complaint(source: str) -> str:
    with pytest.raises(NessieError) as raised:
        inferred(source)
    return str(raised.value)


def canonical(type_: str) -> str:
    """With variables named in order of appearance, without contexts of `any`."""
    body, _, context = type_.partition("::")
    names: dict[str, str] = {}
    for name in re.findall(r"\b[a-z]\b", body):
        names.setdefault(name, f"v{len(names)}")
    body = re.sub(r"\b[a-z]\b", lambda m: names[m[0]], body).replace(" ", "")
    classes = sorted(f"{names[v]} {c}" for v, c in re.findall(r"(\w+) in (\w+)", context) if v in names and c != "any")
    return f"{body} {classes}"


@pytest.mark.parametrize("case", CASES, ids=[c["source"][:30] for c in CASES])
def test_recorded_types(case: dict[str, str]) -> None:
    program, _ = inferred(case["source"])
    assert canonical(type_of(case["source"])) == canonical(case["type"])
    check_typed(program)
    assert forms.read(forms.TYPED, Source("text", typed_text.show(program))) == program


@pytest.mark.parametrize(("source", "type_"), [
    ("function apply(h,x) = h(x);", "(a -> b, a) -> b :: (a in any; b in any)"),
    ("function apply(h,x) = h(x); apply(x => x*x, 4);", "int"),
    ("function m(h,v) = {h(x): x in v}; k = 3; m(x => x + k, [1,2]);", "[int]"),
    ("function both(v) = max_val(v) + sum(v);", "[a] -> a :: (a in number)"),
    ("let h = (x,y) => x*y in h(3,4);", "int"), ("let h = x => y => x + y in h(1)(2);", "int"),
    ("[negate];", "[a -> a] :: (a in number)"), ("n = negate; (n(1), n(2.5));", "int, float"),
    ("function g(a) : a -> a :: (a in any) = a + 1;", "int -> int"),
    ("function g(a, b := 3, c := 4) = a + b * c; g(1, c := 5);", "int"),
    ("function g(a, b := 3) = a + b; g(1.5, 2.5);", "float"),
    ("datatype box(a) :: (a in any); let box(x) = box(box(1)) in x;", "box(int)"),
    ("function ev(n) : int -> bool; function od(n) = if n == 0 then f else ev(n-1);"
     "function ev(n) = if n == 0 then t else od(n-1); ev(4);", "bool"),
    ("{(a,b) in [(1,2.5)]; k in [t] | k};", "[(int, float)]"), ("2.5^2;", "float"),
    ("a = 3; function g(x) = x + a; a = [1]; (g(1), a);", "int, [int]"), ("let (a,b) = (1,2,3) in b;", "int, int"),
    ("closure(max, 1);", "int -> int"), ("let (x,s) = time(3) in s;", "float"), ("-9223372036854775808;", "int"),
    ("[0:10:2];", "[int]"), ("{* a: a in [1]};", "[int]"), ("let max = 3 in max;", "int"),
    ("function take(v,n) = n; take([1],2.5);", "float"), ("pi;", "float"), ("dist(negate,3)[0](4);", "int"),
    ("{g(a): a in [[1,2],[3]]; g in [sum,sum]};", "[int]"), ("let _ = 1; _ = 2 in 3;", "int"),
])
def test_types(source: str, type_: str) -> None:
    assert type_of(source) == type_
    check_typed(inferred(source)[0])


ERRORS = {
    "sum_of_bools": "function total(v) = sum(v);\ntotal([t,f]);",
    "two_numbers": "1 + 2.0;", "equal_bools": "t == f;", "branches": "if t then 1 else 2.0;",
    "functions_differ": "(if t then sum else max_val)([1]);", "unbound": "lenght([1]);",
    "indexed_function": "sum [1,2];",
    "not_a_function": '"abc"("def");', "elements": "[1,[2]];", "condition": "if 1 then 2 else 3;",
    "filter": "{x: x in [1] | x};", "source": "{x: x in 5};", "pattern": "let (a,b) = 3 in a;",
    "pattern_twice": "{a: a in [1]; a in [2]};", "result": "function g(a) : int -> float = a + 1;",
    "argument": "function g(a) : [int] -> int = a + 1;", "infinite": "function g(a) = a(a);",
    "itself": "function g(a) = g;",
    "protected": "function max(a,b) = a;", "type_variable": "datatype d(a);", "type_of_a_value": "(1, [] [a]);",
    "takes_one": "reduce(x => x, 0, [1, 2]);", "takes_two": "map((x, y) => x, [1, 2]);",
    "no_class": "function g(a) : a -> a :: (a in num) = a;",
    "base_type": "datatype int(float,float);", "underscore": "function _f(a,b) = a + b; _f(1,2.0);",
    "recursive_datatype": "datatype tree([tree]);", "default": "function g(a, b := 3) = a; g(1, c := 2);",
    "assign": "abs(x := 3);",
    "declared": "function g(a) : int -> int;\nfunction g(a) = a + 1.5;",
    "datatypes": "datatype foo(int);\ndatatype bar(int);\neql(foo(1),bar(1));",
    "arity": "datatype box(a) :: (a in any);\n[] box;",
    "scatter": "[1,2,3] <- [(0,5)] ++ [(1,6)];",
    "it": "it + 1;", "class": "sort(\"cab\");", "and": "1.5 and 2.5;",
}
GOLDEN = GOLDEN_FILES / "infer_errors"


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    """What the user is told is in golden/infer_errors."""
    assert f"{ERRORS[name]}\n==>\n{complaint(ERRORS[name])}\n" == (GOLDEN / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize(("text", "count", "takes"), [
    ("reduce(x => x + 1, 0, [1])", 2, 1), ("reduce((x, y, z) => x, 0, [1])", 2, 3), ("scan(abs, 0, [1])", 2, 1),
    ("sort_by((x, y) => x, [1])", 1, 2), ("map(max, [1])", 1, 2), ("{map((x, y) => x, v) : v in [[1]]}", 1, 2),
    ("pad([1], 1, 1, x => x)", 2, 1), ("pad([1], 1, 1, (x, y, z) => x)", 2, 3)])
def test_the_number_of_a_functions_arguments_is_told(text: str, count: int, takes: int) -> None:
    due = f"calls its function with {count} argument{'s' if count > 1 else ''}, and this takes {takes}"
    assert due in complaint(f"{text};").splitlines()[0]


@pytest.mark.parametrize("text", [
    "map(max, [(\"a\", 2)])", "map((x, y) => x + 1, [(\"a\", 2)])", "reduce(x => first(x), 0, [\"a\"])",
    "reduce((x, y) => x, 0, [\"a\"])", "map(x => x + 1.0, [1])", "map(3, [1])", "map(sqrt, [1])",
    "reduce((x, y) => x, (0, 1), [(1, 2, 3)])"])
def test_the_number_of_arguments_is_not_told_where_it_is_right(text: str) -> None:
    assert "calls its function" not in complaint(f"{text};")


def test_all_golden_errors_are_tested() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(ERRORS)


def test_the_environment_given_stays_as_it_is() -> None:
    before = library()
    _, after = inferred("function g(x) = x + 1; a = 3;", before)
    assert before.lookup("g") is None and after.lookup("g") is not None
    assert type_of("g = 3;") == "int"
    assert inferred("g(a);", after)[0].definitions[0].value.type == INT       # type: ignore[union-attr]
    with pytest.raises(NessieError):
        inferred("g(a);", before)


def test_definitions_of_another_type_get_a_name_of_their_own() -> None:
    program, environment = inferred("function g(x) = x + 1; function h(x) = g(x); function g(x) = x + 2;"
                                    "function g(x) = [x]; function sum(v) = #v; sum([1.5]);")
    names = [d.name for d in program.definitions if isinstance(d, typed.Function)]
    assert names == ["g", "h", "g", "g'2", "sum'2"] and [shown_name(n) for n in names] == ["g", "h", "g", "g", "sum"]
    entry = environment.lookup("g")
    assert entry is not None and entry.name == "g'2"
    last = program.definitions[-1]
    assert isinstance(last, typed.Variable) and isinstance(last.value, typed.Apply)
    assert isinstance(last.value.function, typed.Global) and last.value.function.name == "sum'2"


def test_identities_say_which_function_over_what() -> None:
    program, _ = inferred("function mk(x) = let h = y => (x, y) in h; mk(1)(2.5);")
    function = program.definitions[0]
    assert isinstance(function, typed.Function) and isinstance(function.result, Fun)
    a, b = function.variables
    assert isinstance(function.result.identity, Identity)
    assert function.result.identity.types == (a, b) and function.result.identity.captured == (a,)


def test_a_declared_function_must_be_defined() -> None:
    _, environment = inferred("function g(x) : int -> int; g(3);")
    with pytest.raises(NessieError, match="declared, but not defined"):
        environment.function("g")


@pytest.mark.slow
@pytest.mark.sampled(quick=2, ci=2)
@pytest.mark.parametrize("source", [
    "1" + "+1" * 10_000 + ";",
    "let " + "; ".join(f"x{i} = {f'x{i - 1}' if i else 1} + 1" for i in range(5_000)) + " in 5;",
    "abs(" * 5_000 + "1" + ")" * 5_000 + ";", "(" + ",".join("1" * 10_000) + ");", "if t then 1 else " * 5_000 + "2;"],
    ids=["operators", "lets", "calls", "tuple", "ifs"])
def test_deep_programs(source: str) -> None:
    def body() -> None:
        program, _ = inferred(source)
        check_typed(program)
        text = typed_text.show(program)
        assert typed_text.show(forms.read(forms.TYPED, Source("text", text))) == text
    run_deep(body)


# Unification ------------------------------------------------------------------------------------


def test_classes_meet_in_the_smaller() -> None:
    assert meet("ordinal", "number") == "number" and meet("any", "logical") == "logical"
    assert meet("logical", "number") is None and meet("scalar", "logical") == "logical"


def test_unify() -> None:
    unifier = Unifier()
    a, b = unifier.fresh("number"), unifier.fresh()
    unifier.unify(Pair(a, Seq(b)), Pair(b, Seq(INT)))
    assert unifier.resolve(a) == INT
    with pytest.raises(Clash, match="class"):
        unifier.unify(unifier.fresh("number"), BOOL)
    with pytest.raises(Clash, match="mismatch"):
        unifier.unify(Seq(INT), Seq(FLOAT))
    c = unifier.fresh()
    with pytest.raises(Clash, match="infinite"):
        unifier.unify(c, Pair(INT, Seq(c)))


# The validator ----------------------------------------------------------------------------------

ONE, TRUE, X = typed.Const(1, INT), typed.Const(True, BOOL), typed.NamePattern("x", INT)
TYPED = (typed.Const, typed.Name, typed.Global, typed.Apply, typed.Lambda)
NEGATE = typed.Global("negate", (INT,), Fun(INT, INT, Identity("negate", (INT,))))
ILL_FORMED = {
    "every name is bound": typed.Name("nothing", INT),
    "a constant has the type": typed.Const(1, FLOAT),
    "a condition is a bool": typed.If(ONE, ONE, ONE),
    "both branches": typed.If(TRUE, ONE, TRUE),
    "the elements of a sequence": typed.Sequence((TRUE,), Seq(INT)),
    "an argument has its parameter's type": typed.Apply(NEGATE, TRUE, INT),
    "its function's result type": typed.Apply(NEGATE, ONE, BOOL),
    "what is applied is a function": typed.Apply(ONE, ONE, INT),
    "a Global has its scheme's type": typed.Global("negate", (INT,), Fun(INT, BOOL, Identity("negate", (INT,)))),
    "in the classes of its scheme": typed.Global("negate", (BOOL,), Fun(BOOL, BOOL, Identity("negate", (BOOL,)))),
    "one type for each variable": typed.Global("negate", (), Fun(INT, INT, Identity("negate"))),
    "a pattern has the type of its value": typed.Let(typed.NamePattern("x", BOOL), ONE, ONE),
    "a name has the type of its binder": typed.Let(typed.NamePattern("x", INT), ONE, typed.Name("x", BOOL)),
    "a pattern binds a name once": typed.Let(typed.PairPattern(X, X), typed.Pair(ONE, ONE), ONE),
    "a generator's pattern": typed.Each(ONE, (typed.Generator(X, ONE),)),
    "a filter is a bool": typed.Each(ONE, (typed.Generator(X, typed.Sequence((), Seq(INT))),), ONE),
    "a lambda's result": typed.Lambda(X, ONE, (), Fun(INT, BOOL, Identity("it'fn1"))),
    "identity lists": typed.Lambda(X, ONE, (), Fun(INT, INT, Identity("it'fn1", (), (INT,)))),
    "a closure is of a function of two": typed.Closure(NEGATE, ONE, INT),
}


@pytest.mark.parametrize("invariant", ILL_FORMED)
def test_each_invariant_is_named(invariant: str) -> None:
    value = ILL_FORMED[invariant]
    type_ = value.type if isinstance(value, TYPED) else INT
    program = typed.Program((typed.Variable(typed.NamePattern("it", type_), value),))
    with pytest.raises(IllFormed, match=invariant):
        check_typed(program)


def test_functions_are_checked() -> None:
    body = typed.Function("g", (), typed.NamePattern("x", INT), BOOL, ONE)
    with pytest.raises(IllFormed, match="a function's result has the type of its body"):
        check_typed(typed.Program((body,)))
    open_ = typed.Function("g", (), typed.NamePattern("x", Var("a")), INT, ONE)
    with pytest.raises(IllFormed, match="a type variable is declared"):
        check_typed(typed.Program((open_,)))
