"""The parser: what NESL's text means as a tree, what is said of text that is no NESL, and that printing undoes it."""
from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT
from processes import finished

from nessie.base.source import IllFormed, NessieError, Source, Span
from nessie.base.system.deep import run_deep
from nessie.syntax import check as syntax_check
from nessie.syntax import nodes as syntax
from nessie.syntax import parser
from nessie.syntax import text as syntax_text
from nessie.syntax.grammar import build_tables
from nessie.syntax.grammar import signature as grammar_signature
from nessie.syntax.grammar import tables as parser_tables


def parse(text: str) -> syntax.Program:
    return parser.parse_program(Source("test", text))


def expression(text: str) -> syntax.Exp:
    return parser.parse_expression(Source("test", text))


def error(text: str) -> NessieError:
    with pytest.raises(NessieError) as caught:
        parse(text)
    return caught.value


def names(*texts: str) -> list[syntax.Exp]:
    return [syntax.Name(text) for text in texts]


def test_the_tables_are_up_to_date_and_the_grammar_has_no_conflict() -> None:
    tables, complaints = build_tables.build()
    assert complaints == []
    assert build_tables.TABLES.read_text() == tables
    assert grammar_signature.signature() == parser_tables.SIGNATURE


def test_parsing_does_not_import_ply() -> None:
    code = ("import sys; from nessie.base.source import Source; from nessie.syntax.parse import parse;"
            "parse(Source('x', '1 + 2;')); sys.exit(any(m.startswith('ply') for m in sys.modules))")
    assert finished([sys.executable, "-c", code], cwd=ROOT).returncode == 0


# Each text means the same as the one with all its parentheses.
SAME = [
    ("1 + 2 * 3", "1 + (2 * 3)"), ("10 - 3 - 2", "(10 - 3) - 2"), ("2 ^ 3 ^ 2", "(2 ^ 3) ^ 2"),
    ("-2 ^ 2", "(-2) ^ 2"), ("-7 / 2", "(-7) / 2"), ("3 * -4", "3 * (-4)"), ("3--1", "3 - (-1)"),
    ("a ++ b -> i", "a ++ (b -> i)"), ("d <- a ++ b", "(d <- a) ++ b"), ("a -> b -> c", "a -> (b -> c)"),
    ("a -> b <- c", "(a -> b) <- c"), ("d <- p -> i", "d <- (p -> i)"),
    ("#v - 1", "(#v) - 1"), ("#a[0]", "#(a[0])"), ("#[1] ++ [2]", "(#[1]) ++ [2]"), ("@5 ++ s", "(@5) ++ s"),
    ("not p and q", "not(p) and q"), ("negate 3 + 4", "negate(3) + 4"), ("g h x", "(g(h))(x)"),
    ("abs #v", "abs(#v)"), ("g h #v[0] + 1", "(g(h)(#(v[0]))) + 1"), ("abs -3", "(abs) - 3"),
    ("sum [1, 2]", "sum[(1, 2)]"), ("sum {x in v}", "sum({x in v})"), ('g "s"', 'g("s")'), ("g `a", "g(`a)"),
    ("p or q xor r", "(p or q) xor r"), ("p or q and r", "p or (q and r)"), ("a < b and c", "(a < b) and c"),
    ("1, 2 + 3, 4", "(1, ((2 + 3), 4))"), ("(1, (2, 3))", "(1, 2, 3)"), ("(a, b), c", "((a, b), c)"),
    ("(if c then 1 else 2, 5)", "(if c then 1 else (2, 5))"), ("[let a = 1 in a, 2]", "[(let a = 1 in (a, 2))]"),
    ("[(let a = 1 in a), 2]", "[(let a = 1 in a), 2]"), ("g(x => x, 2)", "g((x => x), 2)"),
    ("1 + if c then 1 else 2 + 3", "1 + (if c then 1 else (2 + 3))"), ("x => y => z", "x => (y => z)"),
    ("-if c then 1 else 2 + 3", "-(if c then 1 else (2 + 3))"), ("a, x => b", "a, (x => b)"),
    ("if p then if q then 1 else 2 else 3", "if p then (if q then 1 else 2) else 3"),
    ("let a = 3; b = a; in b", "let a = 3; b = a in b"), ("let a, b = 1, 2 in a", "let (a, b) = (1, 2) in a"),
    ("IF Yes THEN 1E3 ELSE 5.", "if yes then 1000.0 else 5.0"), ("2 + 3 % a; b % * 4", "2 + 3 * 4"),
    ("x nand y", "(x) nand (y)"), ("s || 5 * 2", "(s || 5) * 2"), ("g(1, b := 2 + 3)", "g(1, b := (2 + 3))"),
    ("#[] int", "#([] int)"), ("v -> [] int", "v -> ([] int)"), ("[] box(int)", "([] box(int))"), ("007", "7"),
    ("a<-1", "a <- 1"), ("a[i][j]", "(a[i])[j]"), ("8 / 4 * 2", "(8 / 4) * 2"),
    ("{x: x in v|c}", "{(x) : x in v | (c)}"),
]


@pytest.mark.parametrize(("text", "meaning"), SAME)
def test_precedence(text: str, meaning: str) -> None:
    assert expression(text) == expression(meaning)


def test_literals() -> None:
    found = [expression(text) for text in ("1", ".5", "1.5e-3", "1e3", "t", "F")]
    numbers = [syntax.Number(value) for value in (1, 0.5, 0.0015, 1000.0)]
    assert found == [*numbers, syntax.Bool(True), syntax.Bool(False)]
    assert [expression(text) for text in ("` ", "``", "`%", "`\n", "`;")] == [syntax.Char(c) for c in " `%\n;"]
    assert expression(r'"a\"b\\c\nd%"') == syntax.String('a"b\\cnd%')
    assert isinstance(expression("1e3").value, float)  # type: ignore[union-attr]
    assert expression("-9223372036854775808") == syntax.Unary("-", syntax.Number(-2 ** 63))


def test_each_and_ranges() -> None:
    x, v, w = names("x", "v", "w")
    pattern = syntax.NamePattern("x")
    assert expression("{* x in v}") == syntax.Each(None, (syntax.Generator(pattern, v),), None, True)
    assert expression("{x + w : x in v; w | w}") == syntax.Each(
        syntax.Binary("+", x, w),
        (syntax.Generator(pattern, v), syntax.Generator(syntax.NamePattern("w"), None)), w)
    assert expression("[x:v:w]") == syntax.Range(x, v, w)
    assert expression("[x:v]") == syntax.Range(x, v, None)


def test_top_level_forms() -> None:
    x = syntax.NamePattern("x")
    one = syntax.Number(1)
    int_, any_a = syntax.TypeName("int"), (syntax.Context("a", "any"),)
    forms = parse('''function g(x, y := 1) : (int, int) -> [a] :: a in any = 1;  function h x "doc" = 1 $
        function k(x) : int -> int; datatype box(a) :: a in any $ datatype alias int; datatype pt(int, a) :: (a in any);
        x = 1; x |= 1; x &= 1, mem := 1; 1; set arg_check off; ;; function point(g(x)) = 1;''').forms
    arrow = syntax.TypeFun(syntax.TypePair(int_, int_), syntax.TypeSeq(syntax.TypeName("a")))
    assert list(forms) == [
        syntax.FunctionDef("g", syntax.PairPattern(x, syntax.NamePattern("y", one)), syntax.Signature(arrow, any_a),
                           None, one),
        syntax.FunctionDef("h", x, None, "doc", one),
        syntax.FunctionDef("k", x, syntax.Signature(syntax.TypeFun(int_, int_)), None, None),
        syntax.DatatypeDef("box", syntax.TypeName("a"), any_a), syntax.DatatypeDef("alias", int_, ()),
        syntax.DatatypeDef("pt", syntax.TypePair(int_, syntax.TypeName("a")), any_a),
        syntax.Assign(x, one), syntax.FileVariable(x, one),
        syntax.Background("x", one, (syntax.Default("mem", one),)), syntax.Evaluate(one),
        syntax.Command("set", "arg_check off"),
        syntax.FunctionDef("point", syntax.DataPattern("g", x), None, None, one)]


def test_command_words_are_names_elsewhere_and_commands_are_raw_text() -> None:
    set_ = syntax.Name("set")
    assert parse("1 + set;").forms == (syntax.Evaluate(syntax.Binary("+", syntax.Number(1), set_)),)
    assert parse("set = 3;").forms == (syntax.Assign(syntax.NamePattern("set"), syntax.Number(3)),)
    assert parse('load "a;b" % ; % . / x; ? ; 1;').forms == (
        syntax.Command("load", '"a;b" % ; % . / x'), syntax.Command("?", ""), syntax.Evaluate(syntax.Number(1)))


def test_patterns_of_parameters() -> None:
    function, = parse("function g(x, f, x) = x;").forms
    assert isinstance(function, syntax.FunctionDef)
    x, wild = syntax.NamePattern("x"), syntax.NamePattern("_")
    assert function.parameter == syntax.PairPattern(wild, syntax.PairPattern(wild, x))


def test_a_bad_form_is_reported_and_reading_goes_on() -> None:
    forms = list(parser.parse_forms(Source("test", 'a = 1; b = ; (c; 2x; "d" + $ [1) ; {x y = 1; g(3) $')))
    assert [type(form).__name__ for form in forms] == ["Assign", *["NessieError"] * 6, "Evaluate"]


ERRORS = [
    ("1 +;", "found `;`", "expected an expression", ""),
    ("(1;", "found `;`", "this bracket is not closed", ""),
    ("sum([1, 2);", "found `)`", "this bracket is not closed", "closed by ]"),
    ("a[1:3];", "found `:`", "", "no slices"),
    ("sort [] int;", "found `]`", "", "sort([] int)"),
    ("if a = b then 1 else 2;", "found `=`", "`then`", "== compares"),
    ("a = 1\nb = 2;", "found `=`", "expected `;`", "; missing at the end of the line before"),
    ("a = 1\nfunction g(x) = x;", "found `function`", "", "each form ends with ;"),
    ("a = 1", "found the end of the text", "expected `;`", "each form ends with ;"),
    ("let a = 1; b = 2;", "found the end of the text", "`in`", "a let ends with `in`"),
    ("g();", "found `)`", "expected an expression", "no ()"),
    ("function g(x) : int = x;", "has an arrow", "no arrow", ""),
    ("datatype b(a) :: a in any;", "found the end of the text", "", "ends at $"),
    ("datatype u;", "found `;`", "expected a type", ""),
    ("function f(x) = x;", "found `f`", "expected a name", "t and f are constants"),
    ("f = 3;", "f is the constant false", "a name is needed here", ""),
    ("let (a, a) = v in a;", "binds a twice", "bound here", ""),
    ("let [a, b] = v in a;", "cannot be bound", "not a pattern", "by indexing"),
    ("let a + 1 = v in a;", "cannot be bound", "not a pattern", "a pattern is a name"),
    ("{a + 1};", "`in` and a sequence", "only a name may stand alone", "{x in v}"),
    ("x := 3;", "gives an argument by name", "", "set by `=`"),
    ("1 % a;", "comment is never closed", "", "mod(a, b)"),
    ('"abc;', "string is never closed", "", ""),
    ("2x;", "cannot begin with a digit", "", ""),
    ("a.b;", "'.' has no meaning here", "", ""),
    ("a\u2032;", "cannot stand in a name", "", ""), ("\u0663 + 1;", "cannot begin a name", "", ""),
    ("function g(x, y := z) = x;", "a default argument is a constant", "this is not one", "such as 5"),
    ("99999999999999999999;", "larger than", "", "a float has a point"),
    ("9223372036854775808;", "larger than", "", ""),
    ("closure(g);", "closure needs", "only one is given", ""),
    ("1 := 2;", "before `:=` must be a name", "not a name", ""),
    ("set x", "has no end", "", "end it with ;"),
]


@pytest.mark.parametrize(("text", "message", "label", "hint"), ERRORS)
def test_errors_say_what_was_found_and_what_to_do(text: str, message: str, label: str, hint: str) -> None:
    found = error(text)
    assert message in found.message
    assert label in str(found)
    assert hint in found.hint
    assert found.places[0][0].line >= 1


def test_an_error_points_at_its_place() -> None:
    assert str(error("a = 1;\nsum([1, 2);")) == """\
error: syntax error: found `)`
 --> test:2:10
  |
2 | sum([1, 2);
  |          ^ expected `]`, `,` or an operator
 --> test:2:5
  |
2 | sum([1, 2);
  |     ^ this bracket is not closed
hint: the innermost open bracket is closed by ]"""


def test_one_expression_or_type_alone() -> None:
    assert expression("1") == expression("1;") == syntax.Number(1)
    assert expression("get(x)") == syntax.Apply(*names("get", "x"))
    for text in ("", ";", "1; 2", "a = 1", "1 +"):
        with pytest.raises(NessieError):
            expression(text)
    pair = syntax.TypePair(syntax.TypeSeq(syntax.TypeName("int")), syntax.TypeName("float"))
    assert parser.parse_type(Source("t", "([int], float)")) == parser.parse_type(Source("t", "[int], float")) == pair
    with pytest.raises(NessieError):
        parser.parse_type(Source("t", "[int"))
    with pytest.raises(NessieError, match="more text than one type"):
        parser.parse_type(Source("t", "int; float"))


# Spans ------------------------------------------------------------------------------------------

PROGRAM = '''function g(p(x), y := 1) : (int, a) -> [a] :: (a in any) =
  let (a, b) = (1, 2.5); c = {x + y : x in v; y | x > 0} in
  if a == b then h => closure(h, x) else time(g[0])(`c, "s", [] [int], [1:2], [3, 4], #x, t);'''


def nodes(node: Any) -> list[Any]:
    if isinstance(node, tuple):
        return [found for item in node for found in nodes(item)]
    if not is_dataclass(node) or isinstance(node, Span):
        return []
    return [node] + [found for field in fields(node) for found in nodes(getattr(node, field.name))]


def test_every_node_has_the_span_of_its_text() -> None:
    for node in nodes(parse(PROGRAM)):
        if not isinstance(node, syntax.Program | syntax.Binding | syntax.Generator):
            assert node.span is not None, node
            text = PROGRAM[node.span.start:node.span.end]
            if isinstance(node, syntax.Binary | syntax.If | syntax.Apply):
                assert expression(text) == node
    (form,) = parse("1 + (2 * 3);").forms
    assert isinstance(form, syntax.Evaluate) and isinstance(form.value, syntax.Binary)
    span = form.value.right.span
    assert span is not None and (span.start, span.end) == (4, 11)


# Printing ---------------------------------------------------------------------------------------

NAME = st.sampled_from(["a", "b", "v", "x_1", "set", "get", "point", "_"])
NAMED = st.builds(syntax.Name, NAME)
NUMBER = st.builds(syntax.Number, st.integers(0, 2 ** 63 - 1) | st.floats(0, allow_nan=False))
CONSTANT = st.one_of(
    NUMBER, st.builds(syntax.Bool, st.booleans()), st.builds(syntax.Char, st.characters(codec="utf-8")),
    st.builds(syntax.String, st.text()))
LITERAL = NAMED | CONSTANT
TYPE: st.SearchStrategy[Any] = st.recursive(
    st.builds(syntax.TypeName, st.sampled_from(["int", "float", "a"])),
    lambda t: st.builds(syntax.TypeSeq, t) | st.builds(syntax.TypePair, t, t) | st.builds(syntax.TypeFun, t, t)
    | st.builds(syntax.TypeName, st.just("box"), st.tuples(t) | st.tuples(t, t)), max_leaves=4)


def distinct(pattern: syntax.Pattern) -> bool:
    bound = [name.name for name in syntax_check.names(pattern) if name.name != "_"]
    return len(bound) == len(set(bound))


PATTERN: st.SearchStrategy[Any] = st.recursive(
    st.builds(syntax.NamePattern, NAME),
    lambda p: st.builds(syntax.PairPattern, p, p) | st.builds(syntax.DataPattern, st.sampled_from(["point", "set"]), p),
    max_leaves=3).filter(distinct)


def larger(e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    op = st.sampled_from(sorted(syntax_text.POWER))
    generators = st.lists(st.builds(syntax.Generator, PATTERN, e)
                          | st.builds(syntax.Generator, st.builds(syntax.NamePattern, NAME), st.none()), min_size=1,
                          max_size=2).map(tuple)
    bindings = st.lists(st.builds(syntax.Binding, PATTERN, e), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(syntax.Binary, op, e, e), st.builds(syntax.Unary, st.sampled_from("#@-"), e),
        st.builds(syntax.Pair, e, e), st.builds(syntax.Apply, e, e), st.builds(syntax.Index, e, e),
        st.builds(syntax.If, e, e, e), st.builds(syntax.Let, bindings, e), st.builds(syntax.Lambda, PATTERN, e),
        st.builds(syntax.Sequence, st.lists(e, min_size=1, max_size=3).map(tuple)), st.builds(syntax.Empty, TYPE),
        st.builds(syntax.Range, e, e, st.none() | e), st.builds(syntax.Time, e), st.builds(syntax.Closure, e, e),
        st.builds(syntax.Each, st.none() | e, generators, st.none() | e, st.booleans()),
        st.builds(syntax.Apply, e, st.builds(syntax.Pair, e, st.builds(syntax.Default, NAME, e))))


EXPRESSION = st.recursive(LITERAL, larger, max_leaves=12)
CONTEXTS = st.lists(st.builds(syntax.Context, NAME, st.sampled_from(["any", "number"])), max_size=2).map(tuple)
SIGNATURE = st.builds(syntax.Signature, st.builds(syntax.TypeFun, TYPE, TYPE), CONTEXTS)
PARAMETER = PATTERN | st.builds(syntax.PairPattern, st.builds(syntax.NamePattern, st.just("p")),
                                st.builds(syntax.NamePattern, st.just("q"),
                                          CONSTANT | st.builds(syntax.Unary, st.just("-"), NUMBER)))
FORM = st.one_of(
    st.builds(syntax.FunctionDef, NAME, PARAMETER, st.none() | SIGNATURE, st.none() | st.text(), EXPRESSION),
    st.builds(syntax.FunctionDef, NAME, PARAMETER, SIGNATURE, st.none(), st.none()),
    st.builds(syntax.DatatypeDef, NAME, TYPE, CONTEXTS), st.builds(syntax.Assign, PATTERN, EXPRESSION),
    st.builds(syntax.FileVariable, st.builds(syntax.NamePattern, st.just("x")), EXPRESSION),
    st.builds(syntax.Background, st.just("x"), EXPRESSION,
              st.lists(st.builds(syntax.Default, NAME, EXPRESSION), max_size=2).map(tuple)),
    st.builds(syntax.Command, st.sampled_from(["set", "load", "?"]), st.sampled_from(["", "a b", '"x;y"'])),
    st.builds(syntax.Evaluate, EXPRESSION))


def test_what_begins_with_a_commands_word_is_printed_in_parentheses() -> None:
    for text in ("(help) + 1;", "(set)(1);", "(help) == 1;", "help = 1;", "(help, 2);", "-help;", "(set)(x) = 1;"):
        program = parse(text)
        assert not any(isinstance(form, syntax.Command) for form in program.forms)
        assert syntax_text.show(program) == text + "\n"


@settings(max_examples=examples(150))
@given(st.lists(FORM, max_size=3))
def test_what_is_printed_parses_back_to_the_same_tree(forms: list[syntax.TopLevel]) -> None:
    program = syntax.Program(tuple(forms))
    syntax_check.check(program)
    text = syntax_text.show(program)
    assert syntax_text.parse(text) == program, text


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(["(", ")", "[", "]", "{", "}", "let", "in", "if", "then", "else", "=", ",", ";", ":",
                                 "a", "1", "+", "-", "->", "|", "function", "datatype", "::", "$", "\n", "`x", '"',
                                 "%", ".", "set", "t"]), max_size=20))
def test_any_text_parses_or_is_refused_with_a_place(words: list[str]) -> None:
    for form in parser.parse_forms(Source("test", " ".join(words))):
        if isinstance(form, NessieError):
            assert form.places and "error" in str(form)


def test_layout_has_few_parentheses_and_breaks_long_lines() -> None:
    text = "a + b * c - (d - e) ^ 2, if p then (1, 2) else #v[i + 1]"
    assert syntax_text.show_expression(expression(text)) == "a + b * c - (d - e) ^ 2, (if p then (1, 2) else #v[i + 1])"
    program = parse("function qsort(a) = if #a < 2 then a else let pivot = a[#a/2]; lesser = {e in a| e < pivot};"
                    "equal = {e in a| e == pivot}; greater = {e in a| e > pivot};"
                    "result = {qsort(v): v in [lesser, greater]} in result[0] ++ equal ++ result[1];")
    assert syntax_text.show(program) == """\
function qsort(a) =
  if #a < 2 then a
  else let pivot = a[#a / 2];
           lesser = {e in a | e < pivot};
           equal = {e in a | e == pivot};
           greater = {e in a | e > pivot};
           result = {qsort(v) : v in [lesser, greater]}
       in result[0] ++ equal ++ result[1];
"""


DEEP = ["+".join(["x"] * 10_000), "->".join(["x"] * 10_000), ",".join(["x"] * 10_000),
        "let " + "; ".join(f"a{i} = {i}" for i in range(5_000)) + " in a1",
        "".join(f"let a{i} = {i} in " for i in range(5_000)) + "a1",
        "".join(f"if a{i} then {i} else " for i in range(5_000)) + "a1",
        "(" * 10_000 + "x" + ")" * 10_000, "-" * 10_000 + "x", "g(" * 5_000 + "x" + ")" * 5_000,
        "[" * 5_000 + "x" + "]" * 5_000, "x" + "[0]" * 10_000, "x => " * 5_000 + "x"]


@pytest.mark.sampled(quick=3, ci=3)
@pytest.mark.parametrize("text", DEEP, ids=lambda text: text[:12])
def test_deep_trees_parse_and_print(text: str) -> None:
    def round_trip() -> bool:
        tree = expression(text)
        syntax_check.check_expression(tree)
        return syntax_text.show_expression(expression(syntax_text.show_expression(tree))) == \
            syntax_text.show_expression(tree)

    assert run_deep(round_trip)


# The validator ----------------------------------------------------------------------------------

X = syntax.NamePattern("x")
ONE = syntax.Number(1)
BROKEN = [
    ("a name is one in lower case", syntax.Evaluate(syntax.Name("Up"))),
    ("a name is one in lower case", syntax.Evaluate(syntax.Name("then"))),
    ("an operator is one of the language", syntax.Evaluate(syntax.Binary("%", ONE, ONE))),
    ("an operator is one of the language", syntax.Evaluate(syntax.Unary("+", ONE))),
    ("a let has bindings", syntax.Evaluate(syntax.Let((), ONE))),
    ("a sequence literal has elements", syntax.Evaluate(syntax.Sequence(()))),
    ("an apply-to-each has generators", syntax.Evaluate(syntax.Each(ONE, (), None))),
    ("only a name stands for its own source", syntax.Evaluate(
        syntax.Each(ONE, (syntax.Generator(syntax.PairPattern(X, syntax.NamePattern("y")), None),), None))),
    ("a pattern binds each name once", syntax.Assign(syntax.PairPattern(X, X), ONE)),
    ("only a function's parameters have defaults", syntax.Assign(syntax.NamePattern("x", ONE), ONE)),
    ("a default is a constant", syntax.FunctionDef("g", syntax.NamePattern("x", syntax.Name("y")), None, None, ONE)),
    ("a forward declaration has a signature", syntax.FunctionDef("g", X, None, None, None)),
    ("a function's signature has an arrow",
     syntax.FunctionDef("g", X, syntax.Signature(syntax.TypeName("int")), None, ONE)),
]


@pytest.mark.parametrize(("invariant", "form"), BROKEN)
def test_the_validator_names_the_broken_invariant(invariant: str, form: syntax.TopLevel) -> None:
    with pytest.raises(IllFormed, match=invariant):
        syntax_check.check(syntax.Program((form,)))
