"""nessie test: which lines of comments are examples, when they hold, and what is told of those that do not."""
from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import ROOT

from nessie.base.source import Source
from nessie.base.text.values_text import show_value
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Data, Fun, Identity, Pair, Seq, Type
from nessie.base.values import Record, flatten_value
from nessie.syntax.examples import examples, without_arrow
from nessie.tool.cli import main
from nessie.tool.commands.expected import NoValue, difference, read_shown

PROGRAMS = sorted((ROOT / "nesl_examples").glob("*.nesl"))


def found(text: str) -> list[tuple[str, str]]:
    """The examples of a program, each as the texts of its two parts."""
    return [(text[e.expression.start:e.expression.end], text[e.expected.start:e.expected.end])
            for e in examples(Source("", text))]


@pytest.mark.parametrize(("text", "parts"), [
    ("% f(2) => 4 %", [("f(2)", "4")]),
    ("% f(2) => 4\n  f(3) =>6 %", [("f(2)", "4"), ("f(3)", "6")]),
    ("% Doubles: f(2) => 4 %", [("f(2)", "4")]),
    ("% Doubles,\n  as in\n\n  f(2) => 4\nor so. %", [("f(2)", "4")]),
    ("% f([1,\n  2]) => [2,\n  4]\n more %", [("f([1,\n  2])", "[2,\n  4]")]),
    ("% f(2)\n  => 4\n %", [("f(2)", "4")]),
    ("% f(2) =>\n  4\n %", [("f(2)", "4")]),
    ("% {g(x => x, y) : y in v} => [1] %", [("{g(x => x, y) : y in v}", "[1]")]),
    ("% {y : y in v} => [1] %", [("{y : y in v}", "[1]")]),
    ("% a function (such as x => x) %", []),
    ("% an (open bracket\n f(1) => 2 %", [("f(1)", "2")]),
    ("% isn't a \"quote\n  f(1) => 2 %", [("f(1)", "2")]),
    ("% of `v`\n  f(1) => 2 %", [("f(1)", "2")]),
    ("% => 2 %", [("", "2")]),
    ("% f(1) =>\n\n f(2) => 3 %", [("f(1)", ""), ("f(2)", "3")]),
    ("g(x => x); x = \"% f(1) => 2 %\"; c = `%; % f(3) => 4 %", [("f(3)", "4")]),
    ("% f(0 => 1\n f(1) => 1 %", [("f(0", "1"), ("f(1)", "1")]),
    ("% f(2) => [4\n f(3) => 9\n f(4) => 99 %", [("f(2)", "[4"), ("f(3)", "9"), ("f(4)", "99")]),
    ("% f(2) => [4\n f(3 => 9 %", [("f(2)", "[4"), ("f(3", "9")]),
    ("% f(2) => [g(x => x),\n  h(x => x)] %", [("f(2)", "[g(x => x),\n  h(x => x)]")]),
    ("% f(x => x,\n  y => y) => 1 %", [("f(x => x,\n  y => y)", "1")]),
    ("% let us see: f(1) => 2 %", [("f(1)", "2")]),
    ("% let x = 1 in f(x) => 2 %", [("let x = 1 in f(x)", "2")]),
    ("% let g = x => x in g(1) => 1 %", [("let g = x => x in g(1)", "1")]),
    ("% let x = 1 => 1 %", [("let x = 1", "1")]),
    ("% we let (x => x) be %", []),
    ("% never closed: f(1) => 2", [])])
def test_examples_are_lines_of_comments(text: str, parts: list[tuple[str, str]]) -> None:
    assert found(text) == parts


@pytest.mark.parametrize(("text", "column"), [
    ("% f(0 => 1\n f(1) => 1 %", 3), ("% f([2) => 4 %", 4), ("% f(2) => [4\n f(3) => 9 %", 10),
    ("% f(2) => [[4],\n [5]\n f(3) => 9 %", 10), ("% f(2) =>\n {4\n f(3) => 9 %", 11), ("% f(g(x => x), 2 => 4 %", 3)])
def test_a_bracket_that_is_not_closed(text: str, column: int) -> None:
    first, *others = examples(Source("", text))
    assert first.unclosed and (first.unclosed.start, first.unclosed.end) == (column, column + 1)
    assert all(other.unclosed is None for other in others)


@pytest.mark.parametrize(("text", "signs"), [
    ("% sq(2) -> 5\n sq(2) = 7\n  Sq(sq([2])) == 9 %", ["->", "=", "=="]), ("% sq([] int) = 0 %", ["="]),
    ("% sq(2) => 4\n sq(2) == 4 => t %", []), ("% sq(n) = n * n %", []), ("% sq(2)[0] = 1, sq(2) = 4 %", []),
    ("% Of sq(2) = 4 %", []), ("% sum(2) = 4 %", []), ("% sq(2) = %", []), ("% sq = 2\n sq\n (2) = 4 %", []),
    ("% sq(2) => [sq(1) == 1,\n  sq(2) == 4] %", []), ("sq(2) = 4;", [])])
def test_calls_that_lack_their_arrow(text: str, signs: list[str]) -> None:
    assert [text[sign.start:sign.end] for sign in without_arrow(Source("", text), {"sq"})] == signs


# Values ---------------------------------------------------------------------------------------------

POINT = Data("point", ())
CONTENT = Pair(FLOAT, Seq(INT))
SCALARS = {INT: st.integers(-2**63, 2**63 - 1), FLOAT: st.floats(), BOOL: st.booleans(),
           CHAR: st.characters(exclude_categories=["Cs"], exclude_characters="%")}
TYPES = st.recursive(st.sampled_from([*SCALARS, POINT]),
                     lambda inner: st.builds(Seq, inner) | st.builds(Pair, inner, inner), max_leaves=5)


def values(type_: Type) -> st.SearchStrategy[object]:
    match type_:
        case Seq(element):
            return st.lists(values(element), max_size=4)
        case Pair(first, second):
            return st.tuples(values(first), values(second))
        case Data():
            return st.builds(Record, st.just("point"), values(CONTENT))
    return SCALARS[type_]


def content(data: Data) -> Type:
    return CONTENT


@given(st.data())
def test_what_is_printed_is_read_as_the_same_value(data: st.DataObject) -> None:
    type_ = data.draw(TYPES)
    value = data.draw(values(type_))
    text = show_value(value, type_, 100, content)
    again = read_shown(text, type_, content)
    assert difference(again, value, type_, content) is None
    assert show_value(again, type_, 100, content) == text


@pytest.mark.parametrize(("text", "type_"), [
    ("1", FLOAT), ("1.0", INT), ("-", INT), ("--1", INT), ("[1", Seq(INT)), ("[1,]", Seq(INT)), ("[1] 2", Seq(INT)),
    ("(1)", Pair(INT, INT)), ("1, 2", Pair(INT, INT)), ("inf", INT), ("- t", BOOL), ("\"a", Seq(CHAR)),
    ("line(1.0, [])", POINT), ("1 + 1", INT), ("", INT), ("fn", Fun(INT, INT, Identity("f", ())))])
def test_what_is_no_value_is_not_read(text: str, type_: Type) -> None:
    with pytest.raises(NoValue):
        read_shown(text, type_, content)


@pytest.mark.parametrize(("type_", "one", "other", "place"), [
    (FLOAT, 1.0, 1.0 + 1e-12, None), (FLOAT, 1.0, 1.0 + 1e-7, ""), (FLOAT, math.nan, math.nan, None),
    (FLOAT, math.inf, math.inf, None), (FLOAT, math.inf, -math.inf, ""), (FLOAT, 0.0, -0.0, None),
    (FLOAT, math.nan, 1.0, ""), (INT, 2**62, 2**62 + 1, ""), (Seq(INT), [1, 2, 3], [1, 5, 4], "[1]"),
    (Seq(INT), [1, 2], [1, 2, 3], "[2]"), (Seq(INT), [], [], None), (Seq(CHAR), [*"ab"], [*"aB"], "[1]"),
    (Seq(Seq(BOOL)), [[True], [True, False]], [[True], [True, True]], "[1][1]"),
    (Seq(Pair(INT, FLOAT)), [(1, 2.0), (3, 4.0)], [(1, 2.0), (3, 5.0)], "[1]"),
    (Seq(Pair(INT, INT)), [(1, 2)], [(0, 2)], "[0]")])
def test_where_values_differ(type_: Type, one: object, other: object, place: str | None) -> None:
    flat = flatten_value(other, type_)
    assert difference(one, other, type_, content) == difference(one, flat, type_, content) == place


# The command ----------------------------------------------------------------------------------------

PROGRAM = """\
% Each element twice.  twice is used like this: twice([1, 2]) => [2, 4]
  twice([] int) => []
  {x : x in twice([0.5])} => {x : x in [1.0]}
  base => 10 %
function twice(v) = {x + x : x in v};
base = 10;
% check(3) => 3 %
function check(n) = n / n * n;
% inverse(0) => error: Divide by zero.
  inverse(0) => error
  inverse(4) => 0.25 %
function inverse(n) = 1.0 / float(check(n));
print_line("not printed");
1 / 0;
"""
FAILING = """\
function half(n) = n / 2;
% half(5) => 3
  {half(n) : n in [0:6]} => [0, 0, 1, 1, 2, 3]
  half(6) => 3.0
  half(6.0) => 3.0
  half(1) => error
  1 / half(1) => error: Length
  1 / half(1) => 0
  halve(2) => 1
  half 2 + => 1
  half => half
  (half(2), 1.0) => (1, 1.5)
  half(8) => 4 %
"""


def nessie(*words: str, status: int) -> None:
    assert main(["test", "--target", "reference", *words]) == status


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in [("good", PROGRAM.replace("{length : length in", "{x : x in")), ("bad", FAILING),
                       ("none", "x = 1;"), ("broken", "% f(1) => 2 %\nfunction f(x) = x + t;")]:
        Path(f"{name}.nesl").write_text(text, "utf-8")


def test_examples_that_hold(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    nessie("good.nesl", status=0)
    out, err = capsys.readouterr()
    assert out == "good.nesl: 8 examples, all hold\n" and err == ""


def test_examples_that_do_not(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    nessie("bad.nesl", status=1)
    out, err = capsys.readouterr()
    assert err == "" and out.endswith("bad.nesl: 12 examples, 11 failed\n")
    told = out.split("failed: ")
    assert told[1] == ("another value came than is expected\n --> bad.nesl:2:3\n  |\n2 | % half(5) => 3\n"
                       "  |   ^^^^^^^\nexpected: 3\ncame:     2\n")
    for number, texts in enumerate([
            ["came:     [0, 0, 1, 1, 2, 2], which differs at [5]"],
            ["types are not the same", "half(6) => 3.0", "of type int"],
            ["half takes int, but gets float", "half(6.0) => 3.0"], ["expected: an error\ncame:     0"],
            ["expected: error: Length\ncame:     error: Divide by zero."], ["Divide by zero.", "1 / half(1) => 0"],
            ["halve is not defined"], ["expected an expression", "hint: a line of a comment with =>"],
            ["functions cannot be compared"], ["expected: (1, 1.5)\ncame:     (1, 1.0)\n"]], 2):
        for text in texts:
            assert text in told[number]


def test_several_files(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    nessie("good.nesl", "none.nesl", "bad.nesl", status=1)
    assert capsys.readouterr().out.endswith("3 files: 20 examples, 11 failed\n")
    nessie("bad.nesl", "broken.nesl", "missing.nesl", status=2)
    out, err = capsys.readouterr()
    assert "broken.nesl: has errors of its own" in out and "broken.nesl:2:" in err and "cannot read missing.nesl" in err


def test_no_examples(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    nessie("none.nesl", status=2)
    assert "there is no example" in capsys.readouterr().err
    nessie(status=2)
    assert "test needs FILE" in capsys.readouterr().err


def test_no_example_sees_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("% {rand(1000) : i in [0:5]} => {rand(1000) : i in [0:5]}\n"
                    "  rand(100000) => rand(100000)\n  eql(rand(100000), rand(100000)) => f\n"
                    "  {x => x}(3) => 3\n it => 3 %")
    nessie(str(path), status=1)
    assert "it is not defined" in capsys.readouterr().out


def test_a_missing_bracket_costs_one_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("% sq(0 => 1\n  sq(1) => 1\n  sq(2) => [4\n  sq(3) => 9\n  sq(4) => 99 %\nfunction sq(n) = n * n;")
    nessie(str(path), status=1)
    told = capsys.readouterr().out.split("failed: ")
    assert told[1].startswith("this bracket is not closed\n") and f"{path}:1:5" in told[1]
    assert told[2].startswith("this bracket is not closed\n") and f"{path}:3:12" in told[2]
    assert "came:     16" in told[3] and "5 examples, 3 failed" in told[3] and len(told) == 4


def test_what_lacks_an_arrow_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("% sq(2) -> 5\n  sq(3) => 9 %\nfunction sq(n) = n * n;")
    nessie(str(path), status=0)
    out, err = capsys.readouterr()
    assert out == f"{path}: 1 example, all hold\n"
    assert err.startswith("warning: no example: => is missing\n") and f"{path}:1:9" in err


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_examples_of_the_example_programs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = len(list(examples(Source(path.name, path.read_text("utf-8")))))
    nessie(str(path), status=0 if count else 2)
    out, err = capsys.readouterr()
    assert "=> is missing" not in err
    assert not count or out == f"{path}: {count} example{'s' if count > 1 else ''}, all hold\n"


def test_most_example_programs_have_examples() -> None:
    assert sum("=> " in path.read_text("utf-8") for path in PROGRAMS) > len(PROGRAMS) // 2
