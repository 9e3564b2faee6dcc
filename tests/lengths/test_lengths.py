"""Types that tell lengths: what they say is checked where a value enters, and known inside. All targets agree."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.source import Source
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse as parse_flat
from nessie.lambda_cu.text.printer import show as show_flat
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_program, parse_type
from nessie.syntax.text import show_type
from nessie.tool.cli import main

TARGETS = ("cpu", "reference", "cudasim")
TEXT_OF = """
function trmv(a, x) = {sum({p * q : p in row; q in take(x, #row)}) : row in a};
function dot(x, y) : ([float; n], [float; n]) -> float = sum({a * b : a in x; b in y});
function mxv(m, x) : ([[float; n]; m], [float; n]) -> [float; m] = {sum({a * b : a in row; b in x}) : row in m};
function sums(m) : [[float]] -> [float] = {sum(row) : row in m};
function doubled(m) : [i < n => [float; i + 1]] -> [i < n => [float; i + 1]] = {{2.0 * x : x in row} : row in m};
function deep(v) = {sum({sum(r) : r in m}) : m in v};
function same(v) = v;
function second(p) : (int, ([float; n], [i < n => [float; n - i]])) -> [float; n] =
  let (k, (x, m)) = p in {a + sum(row) + float(k) : a in x; row in m};
function scaled(x, by := 2.0) : ([float; n], float) -> [float; n] = {a * by : a in x};
"""
TRIANGLE = "[i < n => [float; i + 1]]"
ROWS = np.arange(1.0, 7)


@pytest.fixture(scope="module")
def program() -> nessie.Program:
    return nessie.compile(TEXT_OF)


def fused(entry: str, type_: str | None = None) -> ir.Program:
    written = parse_type(Source("type", type_)) if type_ else None
    own = [form.signature.type.argument for form in parse_program(Source("p", TEXT_OF)).forms
           if getattr(form, "name", "") == entry and form.signature]
    job = Job(entry=entry, argument=written, lengths=written or own[0])
    return compile_program(job, TEXT, Source("p", TEXT_OF), pass_named("fuse"))


def is_simple(found: ir.Program, kernels: int = 1) -> bool:
    """Is the program so many kernels without checks, which read no offsets?"""
    arrays = [p.type.base for kernel in found.kernels for p in kernel.params if isinstance(p.type, ir.Array)]
    return not found.sites and set(arrays) == {"float"} and len(found.kernels) == kernels


def refused(call: Any) -> str:
    with pytest.raises(nessie.NessieError) as error:
        call()
    return str(error.value)


# What is compiled -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("entry", "type_"), [
    ("trmv", f"({TRIANGLE}, [float; n])"), ("dot", None), ("mxv", None), ("sums", "[uniform [float]]"),
    ("sums", "[[float; 3]; n]"), ("sums", "[i < n => [float; 2 * i]]"), ("second", None),
    ("deep", "[i < n => [j < i + 1 => [float; j + 1]]]")])
def test_no_offsets_and_no_checks(entry: str, type_: str | None) -> None:
    found = fused(entry, type_)
    assert is_simple(found, 2 if entry == "deep" else 1)
    assert parse_flat(Source("p", show_flat(found))) == found


def test_without_lengths_there_are_both() -> None:
    assert not is_simple(fused("trmv", "([[float]], [float])"))
    assert not is_simple(fused("trmv", f"({TRIANGLE}, [float])"))         # of x is nothing known


# What is computed -----------------------------------------------------------------------------------

@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_packed_triangles(program: nessie.Program, target: str, n: int) -> None:
    full = np.tril(np.arange(1.0, n * n + 1).reshape(n, n))
    packed, x = full[np.tril_indices(n)], np.arange(1.0, n + 1)
    function = program.trmv.at(f"({TRIANGLE}, [float; n])")
    rows = [full[i, :i + 1].tolist() for i in range(n)]
    nested = nessie.Nested(np.cumsum([0, *range(1, n + 1)]), packed)
    for given in (packed, full + np.triu(np.full((n, n), 9.0), 1), nested, *([rows] if n else [])):
        assert function(given, x, target=target).tolist() == (full @ x).tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_each_form(program: nessie.Program, target: str) -> None:
    def call(name: str, *arguments: Any) -> Any:
        found = program[name](*arguments, target=target)
        return found.tolist() if isinstance(found, np.ndarray) else found
    matrix, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    assert call("dot", x, x) == 14.0
    assert call("mxv", matrix, x) == call("mxv", matrix.tolist(), x.tolist()) == [8.0, 26.0]
    assert call("mxv", np.zeros((0, 3)), x) == []
    assert call("second", (2, (x, [[1.0, 2.0, 3.0], [4.0, 5.0], [6.0]]))) == [9.0, 13.0, 11.0]
    assert call("scaled", [1.0, 2.0]) == [2.0, 4.0]
    assert program.scaled([1.0, 2.0], by=3.0, target=target).tolist() == [3.0, 6.0]
    assert call("doubled", ROWS).to_list() == [[2.0], [4.0, 6.0], [8.0, 10.0, 12.0]]
    uniform = program.sums.at("[uniform [float]]")
    assert uniform([[1.0, 2.0], [3.0, 4.0]], target=target).tolist() == [3.0, 7.0]
    assert uniform(np.zeros((3, 0)), target=target).tolist() == [0.0, 0.0, 0.0]
    tetra = program.deep.at("[i < n => [j < i + 1 => [float; j + 1]]]")
    assert tetra([[[1.0]], [[2.0], [3.0, 4.0]]], target=target).tolist() == [1.0, 9.0]


@pytest.mark.parametrize("length", ["i + 1", "i", "n - i", "i / 2", "rem(i, 3)", "min(i + 1, 2)", "max(0, i - 1)",
                                    "2 ^ i", "i ^ 2", "i * i / 2 + 1", "min(i, b)"])
def test_formulas(program: nessie.Program, length: str) -> None:
    """Rows are as long as a loop says, however their starts are found."""
    n, b = 5, 2
    text = length.replace("/", "//").replace("^", "**")
    due = [eval(text, {"i": i, "n": n, "b": b, "rem": lambda x, y: x % y, "min": min, "max": max}) for i in range(n)]
    function = nessie.compile("function sums(m, x, y) : ([[float]], [float], [float]) -> [float] = {sum(r) : r in m};")
    at = function.sums.at(f"([i < n => [float; {length}]], [float; n], [float; b])")
    content = np.arange(1.0, sum(due) + 1)
    wanted = [part.sum() for part in np.split(content, np.cumsum(due)[:-1])]
    for target in TARGETS[:2]:
        assert at(content, np.zeros(n), np.zeros(b), target=target).tolist() == wanted


def test_a_triangle_of_a_square_is_not_copied(program: nessie.Program) -> None:
    taken = program._taken("same", [np.zeros((5, 5))], asked=parse_type(Source("type", TRIANGLE)))
    assert taken.copied == 0 and taken.values[0].column.content is taken.shared[0]


# What is wrong --------------------------------------------------------------------------------------

def test_errors_have_their_places(program: nessie.Program) -> None:
    triangle = program.same.at(TRIANGLE)
    assert "has 12 elements, and [i < n => [float; i + 1]] has 10 for n = 4 and 15 for n = 5\n --> type:1:1" in \
        refused(lambda: triangle(np.zeros(12)))
    assert "row 1 has length 1, and 2 is due" in refused(lambda: triangle([[1.0], [2.0]]))
    assert "row 1 has length 3, and 2 is due" not in refused(lambda: triangle(np.zeros((2, 3))))
    assert "row 0 has length 2, row 1 has 1" in refused(lambda: program.sums.at("[uniform [float]]")([[1, 2], [3]]))
    assert "rows are [[float]]" in refused(lambda: triangle([[1.0], [2.0]]))
    assert "rows are [[(int, bool)]]" in refused(
        lambda: program.same.at("[i < n => [(int, bool); i + 1]]")([[(1, True)], [(2, True)]]))
    pairs = program.same.at("[i < n => [[int; 2]; i + 1]]")
    assert "rows are [[[int]]]" in refused(lambda: pairs([[[1, 2]], [[3, 4]]]))
    assert "[[int]], without uniform" in refused(lambda: program.same.at("[uniform [int]]")([[1, 2], [3]]))
    assert "a length is -1, for i = 2" in refused(lambda: program.same.at("[i < n => [float; 1 - i]]")(np.zeros(3)))
    assert "nothing says what k is" in refused(lambda: program.same.at("[float; k + 1]"))
    assert "argument 2 has 1 element, and 2 are due\n --> program:3:" in refused(lambda: program.dot([1, 2], [3]))
    assert "and the type is [float]" in refused(lambda: program.sums.at("[float; n]")([1.0]))
    assert "leaves the ints" in refused(lambda: program.same.at("[[float; n * n * n]; n]")(np.zeros((3_000_000, 0))))


def test_a_type_that_is_asked_for_replaces_the_declared_one(program: nessie.Program) -> None:
    assert "row 1 has length 1, and 2 is due" in refused(lambda: program.doubled([[1.0], [2.0]]))
    assert program.doubled.at("[[float]]")([[1.0], [2.0]]).to_list() == [[2.0], [4.0]]
    assert program.doubled.at("[i < n => [float; 1]]")([[1.0], [2.0]]).to_list() == [[2.0], [4.0]]


def test_no_type_is_told(program: nessie.Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected a type" in refused(lambda: program.doubled.at(""))
    (tmp_path / "p.nesl").write_text(TEXT_OF)
    assert main(["run", str(tmp_path / "p.nesl"), "-e", "dot", "[1.0]", "[2.0]", "-t", ""]) == 1
    assert "expected a type" in capsys.readouterr().err


@pytest.mark.parametrize(("type_", "said"), [
    ("([i < k => [int; 2 ^ i]], int)", True), ("([int; k], int)", True), ("([i < n => [int; 2 ^ i]], int)", False),
    ("([k < n => [int; 2 ^ k]], int)", False), ("([int; k], [int])", False)])
def test_a_length_with_the_name_of_an_int(type_: str, said: bool, tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.nesl").write_text(f"function given(v, k) : {type_} -> int = #v;")
    assert main(["run", str(tmp_path / "p.nesl")]) == 0
    told = capsys.readouterr().err
    assert ("warning: the length k has the name of the int k" in told) == said == bool(told)


def test_a_function_that_is_defined_anew_tells_no_more_lengths() -> None:
    once = "function total(v) : [int; 3] -> int = sum(v);"
    for again in ("function total(v) : [int] -> int = sum(v) + 1;", "function total(v) = sum(v) + 1;"):
        assert nessie.compile(f"{once}\n{again}").total([1, 2]) == 4
        with pytest.raises(nessie.NessieError, match="has 2 elements, and 3 are due"):
            nessie.compile(f"{again}\n{once}").total([1, 2])


def test_a_result_is_checked() -> None:
    short = nessie.compile("function first(x) : [float; n] -> [float; n] = take(x, 1);").first
    assert short([1.0]).tolist() == [1.0]
    assert "the result has 1 element, and 2 are due" in refused(lambda: short([1.0, 2.0]))


@pytest.mark.parametrize("text", ["[float; n]", "[i < n => [float; i + 1]]", "[uniform [float]]",
                                  "[uniform [uniform [float]]]", "[[float; m]; n]",
                                  "([float; n], [[int; n - 1]; 2 * n])",
                                  "[i < n => [j < i => [float; min(i, j) ^ 2]]]"])
def test_types_are_printed_as_they_are_read(text: str) -> None:
    written = parse_type(Source("type", text))
    assert parse_type(Source("type", show_type(written))) == written and show_type(written) == text


# Files ----------------------------------------------------------------------------------------------

def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text(TEXT_OF)
    np.save("a.npy", ROWS)
    np.save("x.npy", [1.0, 10.0, 100.0])
    np.save("m.npy", np.arange(9.0).reshape(3, 3))
    type_ = ["-t", f"({TRIANGLE}, [float; n])"]
    for target in TARGETS:
        assert main(["run", "p.nesl", "-e", "trmv", "@a.npy", "@x.npy", *type_, "--target", target]) == 0
        assert main(["run", "p.nesl", "-e", "trmv", "@m.npy", "@x.npy", *type_, "--target", target]) == 0
    assert capsys.readouterr().out == "[1.0, 32.0, 654.0]\n[0.0, 43.0, 876.0]\n" * 3
    assert main(["run", "p.nesl", "-e", "doubled", "@a.npy", "-o", "two.npz"]) == 0
    stored = np.load("two.npz")
    assert stored["offsets"].tolist() == [0, 1, 3, 6] and stored["content"].tolist() == (2 * ROWS).tolist()
    assert main(["run", "p.nesl", "-e", "doubled", "@two.npz", "-o", "four.npz"]) == 0
    assert np.load("four.npz")["content"].tolist() == (4 * ROWS).tolist()
    assert main(["run", "p.nesl", "-e", "doubled", "@a.npy", "-o", "two.npy"]) == 1
    said = capsys.readouterr().err
    assert ".npz" in said and "flatten(rows)" in said
    for view in (["explain"], ["graph"], ["compile", "--emit", "fused"], ["inspect", "-o", "page.html"]):
        assert main([view[0], "p.nesl", "-e", "trmv", *type_, *view[1:]]) == 0
    assert main(["explain", "p.nesl", "-e", "trmv", "@a.npy", "@x.npy", *type_]) == 0
    assert "closed" in capsys.readouterr().out


def test_views_are_of_the_type(program: nessie.Program) -> None:
    function = program.trmv.at(f"({TRIANGLE}, [float; n])")
    for kernels in (function.kernels(), function.kernels(ROWS, np.ones(3)), program.dot.kernels()):
        assert len(kernels) == 1 and "fail" not in kernels.text and "offsets" not in kernels.text


def test_a_vector_is_no_rows_of_unknown_lengths(program: nessie.Program) -> None:
    refusal = refused(lambda: program.sums.at("[uniform [float]]")(ROWS))
    assert "argument 1 is [float], and [uniform [float]] is due" in refusal or "sums takes [[float]]" in refusal
    assert "nothing says what m is: argument 1 is a vector" in refused(lambda: program.sums.at("[[float; m]; n]")(ROWS))


@pytest.mark.parametrize(("type_", "given", "said"), [
    ("[float]", "[1, 2]", "argument 1 is [int], and [float] is due"),
    ("[float; n]", "[1, 2]", "argument 1 is [int], and [float; n] is due"),
    ("[bool]", "[1.5]", "argument 1 is [float], and [bool] is due"),
    ("([int], int)", "[1]", "argument 1 is [int], and ([int], int) is due"),
])
def test_what_is_asked_for_is_compared_with_what_is_given(type_: str, given: str, said: str, tmp_path: Path,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "same.nesl").write_text("function same(v) = v;")
    assert main(["run", str(tmp_path / "same.nesl"), "-e", "same", "-t", type_, given]) == 1
    error = capsys.readouterr().err
    assert said in error and ("with a point, a number is a float" in error) == ("[float" in type_)


def test_lists_that_mix_types_are_told_by_their_argument(program: nessie.Program) -> None:
    with pytest.raises(nessie.NessieError, match="argument 1"):
        program.doubled([[1.0], [2.0, "a"]])
