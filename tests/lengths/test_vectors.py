"""Vectors stand for rows of any number of levels, if their type tells how long each is; wrong types are told."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.source import Source
from nessie.lengths.layouts import check
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

TARGETS = ("cpu", "reference", "cudasim")
TETRA = "[i < n => [j < i + 1 => [int; j + 1]]]"
FOUR = "[i < n => [j < i + 1 => [k < i + j => [int; max(0, k - j)]]]]"
TEXT = """
function same(m) = m;
function deep(v) = {sum({sum(r) : r in m}) : m in v};
function declared(v) : [i < n => [j < i + 1 => [int; j + 1]]] -> [int; n] = {sum({sum(r) : r in m}) : m in v};
function sums(m, x) : ([[int; k]; n], [int; k]) -> [int; n] = {sum({a * b : a in r; b in x}) : r in m};
"""
Length = Callable[..., int]


@pytest.fixture(scope="module")
def program() -> nessie.Program:
    return nessie.compile(TEXT)


def nested(numbers: Any, count: int, *inner: Length, at: tuple[int, ...] = ()) -> Any:
    """Rows of these lengths, by loops. `inner`: the length at each level below, by the positions."""
    if not inner:
        return [next(numbers) for _ in range(count)]
    return [nested(numbers, inner[0](*at, i), *inner[1:], at=(*at, i)) for i in range(count)]


def size_of(value: Any) -> int:
    return sum(map(size_of, value)) if isinstance(value, list) else 1


LEVELS: dict[str, tuple[Length, ...]] = {
    "[i < n => [int; i + 1]]": (lambda i: i + 1,),
    "[i < n => [int; 2]]": (lambda i: 2,),
    "[[int; 3]; n]": (lambda i: 3,),
    "[[[int; 2]; 3]; n]": (lambda i: 3, lambda i, j: 2),
    TETRA: (lambda i: i + 1, lambda i, j: j + 1),
    "[i < n => [j < i => [int; i - j]]]": (lambda i: i, lambda i, j: i - j),
    "[i < n => [[int; 2]; i + 1]]": (lambda i: i + 1, lambda i, j: 2),
    "[i < n => [j < 2 ^ i => [int; min(i, j)]]]": (lambda i: 2 ** i, lambda i, j: min(i, j)),
    FOUR: (lambda i: i + 1, lambda i, j: i + j, lambda i, j, k: max(0, k - j)),
}


@pytest.mark.parametrize("type_", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_each_level_is_cut(program: nessie.Program, type_: str, target: str) -> None:
    same, seen = program.same.at(type_), set[int]()
    for n in range(5):
        rows = nested(itertools.count(), n, *LEVELS[type_])
        content = np.arange(size_of(rows))
        if content.size not in seen:            # of several numbers of rows it is the least
            assert same(content, target=target).to_list() == rows
        seen.add(content.size)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_may_miss_some_levels_only(program: nessie.Program, target: str) -> None:
    """Given are the innermost rows, one after another, and the place of one that is too long is told."""
    rows = [[0], [1], [2, 3], [4], [5, 6], [7, 8, 9]]
    assert program.same.at(TETRA)(rows, target=target).to_list() == [[[0]], [[1], [2, 3]], [[4], [5, 6], [7, 8, 9]]]
    ragged = nessie.Nested(np.array([0, 1, 2, 4]), np.arange(4))
    assert program.declared(ragged, target=target).tolist() == [0, 6]
    assert program.declared(np.arange(10), target=target).tolist() == [0, 6, 39]
    with pytest.raises(nessie.NessieError, match="row 1 has length 2, and 1 is due"):
        program.declared([[0], [1, 2], [3]], target=target)


def test_another_argument_may_tell_the_length(program: nessie.Program) -> None:
    assert program.sums(np.arange(6), [1, 10, 100]).tolist() == [210, 543]
    assert program.sums(np.zeros(0, int), [1, 10, 100]).tolist() == []
    with pytest.raises(nessie.NessieError, match=r"has 7 elements, and .* has 6 for n = 2 and 9 for n = 3"):
        program.sums(np.arange(7), [1, 10, 100])


@pytest.mark.parametrize(("type_", "size", "said"), [
    (TETRA, 5, "has 4 for n = 2 and 10 for n = 3"),
    ("[[int; 0]; n]", 3, "has 0, whatever n is"),
    ("[[int; 2 ^ 47]; 4]", 0, "has 562949953421312 for the number of rows = 4"),
    ("[[int; 2 ^ 60]; 16]", 0, "has 18446744073709551616 for the number of rows = 16"),       # 2^64 is no 0
    ("[i < n => [j < 2 ^ i => [int; i + 2 - i]]]", 15, "has 14 for n = 3 and 30 for n = 4"),
    ("[i < n => [int; 5 - i]]", 16, "a length is -1, for i = 6"),
    ("[i < n => [int; n * n * n * n * n * n * n]]", 5, "has 1 for n = 1 and 256 for n = 2"),
])
def test_vectors_of_the_wrong_size(program: nessie.Program, type_: str, size: int, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said.replace("^", r"\^")):
        program.same.at(type_)(np.arange(size))


def test_the_number_of_rows_is_found_before_a_length_is_negative(program: nessie.Program) -> None:
    assert program.same.at("[i < n => [int; 5 - i]]")(np.arange(14)).to_list() == \
        [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11], [12, 13]]


@pytest.mark.parametrize("type_", ["[float; n]", TETRA, "(int, [i < n => [int; i + 1]])", "[[int]; n]"])
def test_what_is_of_another_type_is_told(program: nessie.Program, type_: str, capsys: pytest.CaptureFixture[str],
                                         tmp_path: Path) -> None:
    """A function of any type takes it as well: silence would be the worst answer."""
    (tmp_path / "p.nesl").write_text(TEXT)
    given = "(1, [1, 2, 3])" if type_.startswith("(") else "[t]" if "float" not in type_ else "[1, 2]"
    assert main(["run", str(tmp_path / "p.nesl"), "-e", "same", given, "-t", type_]) == 1
    assert " is due" in capsys.readouterr().err


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text(TEXT)
    np.save("a.npy", np.arange(10))
    np.savez("b.npz", offsets=np.array([0, 1, 2, 4]), content=np.arange(4))
    Path("c.json").write_text("[0, 1, 2, 3]")
    for target in TARGETS:
        for path, said in (("a.npy", "[[[0]], [[1], [2, 3]], [[4], [5, 6], [7, 8, 9]]]"),
                           ("b.npz", "[[[0]], [[1], [2, 3]]]"), ("c.json", "[[[0]], [[1], [2, 3]]]")):
            assert main(["run", "p.nesl", "-e", "same", f"@{path}", "-t", TETRA, "--target", target]) == 0
            assert capsys.readouterr().out.strip() == said
            assert main(["run", "p.nesl", "-e", "declared", f"@{path}", "--target", target]) == 0
            assert capsys.readouterr().out.startswith("[0, 6")


# Types that are wrong -----------------------------------------------------------------------------

@pytest.mark.parametrize(("type_", "said"), [
    ("[i < n => [float; j]]", "nothing says what j is\n --> type:1:19"),
    ("[i < n => [j < i + 1 => [float; k]]]", "nothing says what k is"),
    ("[i < n => [i < 3 => float]]", "the position i has the name of one around it\n --> type:1:11"),
    ("[n < n => [float; n + 1]]", "the position n has the name of the length of a sequence"),
    ("([i < n => [float; i]], [float; i])", "the position i has the name of the length of a sequence"),
    ("[float; -1]", "a length is not negative\n --> type:1:9"),
    ("[float; 1.5]", "a length is a whole number\n --> type:1:9"),
    ("[float; foo(n)]", "this is no formula of a length\n --> type:1:9"),
    ("[float; sqrt(n, 2)]", "this is no formula of a length"),
    ("[float; n / m]", "what divides in a length is a number above 0\n --> type:1:13"),
    ("[i < n => [float; i / 0]]", "what divides in a length is a number above 0"),
    ("[i < n => [float; 4 ^ i]]", "a power in a length is of 2, or by a number up to 8\n --> type:1:19"),
    ("[i < n => [float; 4 ^ (i + 1)]]", "hint: write 2 ^ (2 * (i + 1))"),
    ("[i < n => [float; 1 + 3 ^ i]]", "hint: such as 2 ^ i, 2 ^ (2 * i), i ^ 2"),
    ("[i < n => [float; i ^ 9]]", "a power in a length is of 2, or by a number up to 8"),
    ("[float; n > 2]", "          ^ expected `]` or an operator\nhint: a length"),
    ("[float; n, 3]", "hint: a length is made of"),
    ("[float; ]", "expected a length"),
    ("[i < n => [float; i + 1]", "expected `]`\n"),
    ("[[float; n]; m", "expected `]` or an operator\n"),
])
def test_types_that_are_wrong(program: nessie.Program, type_: str, said: str) -> None:
    with pytest.raises(nessie.NessieError) as error:
        program.same.at(type_)
    assert said in str(error.value) and "`->`" not in str(error.value)


@pytest.mark.parametrize("type_", [
    "[i < n => [float; 2 ^ (2 * i)]]",
    "[float; n]", "[[float; m]; n]", "[i < n => [[float; m]; i + 1]]", "([float; n], [float; -n + 2 * n])",
    "([i < n => [float; i]], [i < m => [float; m - i]])", "[i < n => [j < i => [int; j]]]",
    "([i < n => [float; k]], [float; k])"])
def test_types_that_are_right(type_: str) -> None:
    check(parse_type(Source("type", type_)))
