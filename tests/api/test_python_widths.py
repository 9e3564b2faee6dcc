"""Programs of 32-bit numbers from Python, and narrower arrays."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api.plans import PATIENCE

TEXT = """function scaled(v) = {x * 0.5 : x in v}; function total(v) = sum(v); function same(v) = v;
function squares(v) : [int] -> [int] = {i * i : i in v}; function rows(m) = {sum(r) : r in m};
function picked(v, w) : ([float], [int]) -> [float] = w_of(v, w); function next(i) = i + 1;
""".replace("w_of(v, w)", "v -> w")
TARGETS = ("cpu", "reference", "cudasim")


def test_results_have_the_program_s_numbers() -> None:
    program = nessie.compile(TEXT, float=32, int=32)
    given = np.array([0.1, 0.2], np.float32)
    for target in TARGETS:
        found = program.scaled(given, target=target)
        assert found.dtype == np.float32 and np.array_equal(found, given * np.float32(0.5))
        assert program.squares([70000, 3], target=target).tolist() == [70000 ** 2 - 2 ** 32, 9]
        assert program.squares(np.array([5], np.int8), target=target).dtype == np.int32
        assert program.total([16777216.0, 1.0, 1.0], target=target) == 16777218.0
    assert program.next(2 ** 31 - 1) == -2 ** 31
    assert program.same(0.1) == float(np.float32(0.1))


@pytest.mark.parametrize("dtype", ["float32", "int32", "int16", "int8", "uint8", "uint16", "uint32"])
def test_narrower_arrays_are_read_where_they_lie(dtype: str) -> None:
    program = nessie.compile(TEXT)
    array = np.array([3, 1, 2], dtype)
    name, expected = ("scaled", [1.5, 0.5, 1.0]) if dtype == "float32" else ("squares", [9, 1, 4])
    for target in TARGETS:
        found = program[name](array, target=target)
        assert found.tolist() == expected and found.dtype.itemsize == 8
        assert program.rows(array.reshape(3, 1), target=target).tolist() == [3, 1, 2]
        assert program.same(array, target=target).dtype.itemsize == 8
    assert not program[name].explain(array).conversions


def test_positions_may_be_narrow_too() -> None:
    program = nessie.compile(TEXT)
    v, at = np.array([0.5, 1.5, 2.5], np.float32), np.array([2, 0], np.uint8)
    for target in TARGETS:
        assert program.picked(v, at, target=target).tolist() == [2.5, 0.5]


WRONG: dict[str, Any] = {
    "argument 1: there are integers beyond 32 bits": lambda p: p.squares(np.array([2 ** 31])),
    "argument 1: there are integers beyond 32 bits ": lambda p: p.squares([2 ** 31]),
    "argument 1: 2147483648 is beyond 32 bits": lambda p: p.next(2 ** 31),
    "float is 32 or 64, not 16": lambda p: nessie.compile("", float=16),        # type: ignore[arg-type]
    "int is 32 or 64, not True": lambda p: nessie.compile("", int=True),        # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit(message: str) -> None:
    program = nessie.compile(TEXT, int=32)
    with pytest.raises(nessie.NessieError) as error:
        WRONG[message](program)
    assert error.value.message == message.strip()


# Texts, of which a character has a byte where all are below 256 ------------------------------------

TEXTS = """
function same(v) : [char] -> [char] = v;
function lines(vs) : [[char]] -> [[char]] = vs;
function back(v) : [char] -> [char] = reverse(v);
function after(v) : [char] -> [char] = {code_char(char_code(c) + 1) : c in v};
function late(v) : [char] -> [char] = {c in v | c > `c};
function at(v, i) : ([char], int) -> char = v[i];
function ordered(v) : [char] -> [char] = sort_any(v);
function by_letters(vs) : [[char]] -> [[char]] = sort_any(vs);
function words(v) : [char] -> [[char]] = wordify(v);
function join(v, w) : ([char], [char]) -> [char] = v ++ w;
function numbered(v) : [char] -> [(char, int)] = {(c, i) : c in v; i in [0:#v]};
function how_many(v) : [char] -> [([char], int)] = histogram(wordify(v));
function alike(v, w) : ([char], [char]) -> bool = eql(v, w);
function firsts(vs) : [[char]] -> [char] = {if #v > 0 then v[0] else `- : v in vs};
function either(b, v, w) : (bool, [char], [char]) -> [char] = if b then v else w;
function over(v, w) : ([char], [char]) -> [char] = v <- {(i, c) : i in [0:#w]; c in w};
function turned(v) : [char] -> [char] =
    if #v < 2 then v else let m = #v / 2 in turned(drop(v, m)) ++ turned(take(v, m));
function all(vs) : [[char]] -> [char] = flatten(vs);
function halves(v) : [char] -> [[char]] = partition(v, [1, #v - 1]);
"""
SAME_TEXTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("same", ("abc",), "abc"), ("same", ("",), ""), ("same", ("\U0001f600a",), "\U0001f600a"),
    ("back", ("\xe9t\xff",), "\xfft\xe9"), ("back", ("\udcffa",), "a\udcff"), ("after", ("ab\xff",), "bc\u0100"),
    ("late", ("abcdef",), "def"), ("at", ("x\xffz", 1), "\xff"),
    ("ordered", ("hello \xff world",), "  dehllloorw\xff"), ("words", ("to be  or",), ["to", "be", "or"]),
    ("join", ("ab", "c\u20ac"), "abc\u20ac"), ("join", ("\u20ac", "ab"), "\u20acab"),
    ("join", ("ab", "cd"), "abcd"), ("numbered", ("x\xff",), [("x", 0), ("\xff", 1)]),
    ("how_many", ("a b a",), [("a", 2), ("b", 1)]), ("alike", ("ab", "ab"), True),
    ("alike", ("ab", "a\u20ac"), False), ("lines", (["ab", "", "c"],), ["ab", "", "c"]),
    ("by_letters", (["pear", "\xff", "fig", ""],), ["", "fig", "pear", "\xff"]),
    ("firsts", (["ab", "", "\xff"],), "a-\xff"), ("either", (True, "ab", "\u20ac"), "ab"),
    ("either", (False, "ab", "\u20ac"), "\u20ac"), ("over", ("abcd", "xy"), "xycd"),
    ("over", ("abcd", "\u20acy"), "\u20acycd"), ("turned", ("abcdefg",), "gfedcba"),
    ("all", (["ab", "c", ""],), "abc"), ("halves", ("abc",), ["a", "bc"]),
]


@pytest.fixture(scope="module")
def texts() -> nessie.Program:
    return nessie.compile(TEXTS)


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize(("name", "given", "expected"), SAME_TEXTS)
def test_texts_are_the_same_in_bytes(texts: nessie.Program, name: str, given: tuple[Any, ...], expected: Any) -> None:
    for target in TARGETS:
        found = texts[name](*given, target=target)
        assert (found if isinstance(found, str | bool) else list(map(plain, found))) == expected


def plain(element: Any) -> Any:
    return tuple(element) if isinstance(element, tuple) else str(element)


def test_texts_that_need_more_than_bytes_come_later_or_first() -> None:
    """A plan is for texts of one width; others go another way."""
    for first, second in ("abc\xff", "a\u20ac"), ("a\u20ac", "abc\xff"):
        program = nessie.compile(TEXTS)
        for _ in range(2 * PATIENCE):
            assert program.back(first) == first[::-1]
        for _ in range(2 * PATIENCE):
            assert [program.back(text) for text in (second, first, "")] == [second[::-1], first[::-1], ""]


def test_kernels_of_texts_read_bytes(texts: nessie.Program) -> None:
    assert "[char8; " in str(texts.late.kernels("abc")) and "[char; " in str(texts.late.kernels("\u20ac"))
