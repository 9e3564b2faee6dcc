"""How many elements rows of told lengths have: closed sums and sums in blocks give what loops give."""
from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from amounts import examples
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import nessie
from nessie.base.source import Source
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.lengths import vectors
from nessie.lengths.formulas import Beyond, value
from nessie.lengths.sums import NoSum, closed_sum
from nessie.lengths.told import Told
from nessie.lengths.vectors import levels_of, sum_in_blocks
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

TEXT = """
function sums(m) : [[float]] -> [float] = {sum(row) : row in m};
function size(a, x) : ([i < n => [float; i / 5999999]], [float; n]) -> int = sum({#row : row in a});
"""


def levels(text: str) -> list[syntax.TypeSeq]:
    return levels_of(parse_type(Source("type", text)), 9)


class TooManyRows(Exception):
    """Rows are more than a loop in Python is for."""


def looped(rows: list[syntax.TypeSeq], numbers: dict[str, int], count: int, most: int = 20_000) -> int | None:
    """How many elements there are, row by row; None if a length is negative. TooManyRows than `most`."""
    if len(rows) == 1:
        return count
    if count > most:
        raise TooManyRows
    total = 0
    for at in range(count):
        here = {**numbers, rows[0].index: at}
        length = int(value(rows[1].length, here))       # type: ignore[arg-type]
        inside = looped(rows[1:], here, length, most // count) if length >= 0 else None
        if inside is None:
            return None
        total += inside
    return total


def formulas(names: tuple[str, ...], depth: int) -> st.SearchStrategy[str]:
    leaves = st.sampled_from([*names, *names, "n", "3", "7"])
    if depth == 0:
        return leaves
    inner = formulas(names, depth - 1)
    small = st.integers(1, 6)
    return st.one_of(leaves, st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
                     st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
                     st.builds("({} / {})".format, inner, small),
                     st.builds("({} ^ {})".format, inner, st.integers(0, 3)),
                     st.builds("{}({}, {})".format, st.sampled_from(["rem", "mod"]), inner, small),
                     st.builds("(2 ^ min({}, 4))".format, inner))


@st.composite
def types(draw: st.DrawFn) -> str:
    names, text = ("i", "j", "k")[:draw(st.integers(1, 3))], "[i < n => "
    for at, name in enumerate(names[1:], 1):
        text += f"[{name} < max(0, {draw(formulas(names[:at], 1))}) => "
    length = draw(st.sampled_from(["max(0, {})", "{}"])).format(draw(formulas(names, 3)))
    return f"{text}[int; {length}]{']' * len(names)}"


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(types(), st.integers(0, 9))
def test_random_formulas(text: str, count: int) -> None:
    rows, beyond = levels(text), False
    try:
        expected = looped(rows, {"n": count}, count)
    except TooManyRows:
        reject()
    except Beyond:
        expected, beyond = None, True
    try:
        found = sum_in_blocks(rows, count, Told({"n": count}, {}), 2 ** 48)
    except nessie.NessieError:
        found = None
    assert found == (None if (expected or 0) > vectors.MOST_ROWS else expected), text
    with suppress(NoSum):
        assert closed_sum(rows, count, {"n": count}) == expected or beyond, text


@pytest.mark.parametrize(("length", "total"), [
    ("3", lambda n: 3 * n), ("i + 1", lambda n: n * (n + 1) // 2), ("n - i", lambda n: n * (n + 1) // 2),
    ("i ^ 2", lambda n: (n - 1) * n * (2 * n - 1) // 6), ("i * (i + 1) / 2", lambda n: (n - 1) * n * (n + 1) // 6),
    ("min(i, 5)", lambda n: 10 + 5 * (n - 5)), ("max(0, i - (n - 3))", lambda n: 3),
    ("i / 2", lambda n: (n // 2) * ((n - 1) // 2)), ("rem(i, 2)", lambda n: n // 2),
    ("(n - 1 - i) / 2", lambda n: (n // 2) * ((n - 1) // 2)), ("i / 1000000000", lambda n: step_sum(n, 10 ** 9)),
    ("2 ^ max(0, i - (n - 3))", lambda n: n - 2 + 2 + 4), ("7 - i", lambda n: None),
    ("i * (i / 999999999999)", lambda n: sum(range(10 ** 12 - 1, n))),
    ("2 ^ i", lambda n: 2 ** n - 1 if n < 60 else None)])
@pytest.mark.parametrize("n", [50, 10 ** 12, 10 ** 12 + 1])
def test_many_rows_have_a_closed_sum(length: str, total: Callable[[int], int | None], n: int) -> None:
    assert closed_sum(levels(f"[i < n => [int; {length}]]"), n, {"n": n}) == total(n)


def step_sum(n: int, step: int) -> int:
    """The sum of i / step."""
    return step * sum(range(n // step)) + n % step * (n // step)


def test_rows_in_rows_have_a_closed_sum() -> None:
    n = 10 ** 9
    for text, total in (("[i < n => [j < i + 1 => [int; j + 1]]]", n * (n + 1) * (n + 2) // 6),
                        ("[i < n => [j < i => [int; i - j]]]", (n - 1) * n * (n + 1) // 6),
                        ("[i < n => [j < i => [int; min(i, j)]]]", (n - 2) * (n - 1) * n // 6),
                        ("[i < n => [j < 4 => [int; i / 2]]]", 4 * (n // 2) * ((n - 1) // 2))):
        assert closed_sum(levels(text), n, {"n": n}) == total


def blocked(rows: list[syntax.TypeSeq], n: int, most: int = 2 ** 48) -> int | None:
    return sum_in_blocks(rows, n, Told({"n": n}, {}), most)


def test_blocks_cut_long_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("[i < n => [int; rem(i * i, 7)]]", "[i < n => [j < i => [int; rem(j * i, 5)]]]",
             "[i < n => [j < rem(i, 9) => [k < 3 * j => [int; min(k, i)]]]]")
    whole = [blocked(levels(text), 30) for text in texts]
    assert whole == [looped(levels(text), {"n": 30}, 30) for text in texts]
    for block in (1, 2, 7):
        monkeypatch.setattr(vectors, "BLOCK", block)
        assert [blocked(levels(text), 30) for text in texts] == whole
    assert blocked(levels(texts[0]), 10 ** 12, 100) is None            # it does not go on behind `most`


def test_more_rows_below_others_than_can_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "[i < n => [j < max(0, i ^ 3) => [k < max(0, j ^ 3) => [int; {}]]]]"
    assert blocked(levels(rows.format("rem(k * i, 7)")), 9, 5) is None
    monkeypatch.setattr(vectors, "MOST_BLOCKS", 100)
    assert blocked(levels(rows.format("max(0, rem(k * i, 7) - 7)")), 9, 5) is None
    assert blocked(levels(rows.format("max(0, rem(k * i, 7) - 7)")), 3, 5) == 0
    assert blocked(levels("[i < n => [int; rem(i * i, 2)]]"), 2 ** 20, 2 ** 20) == 2 ** 19    # as many as elements
    call = nessie.compile(f"function g(b, a) : ([int; n], {rows.format('rem(k * i, 7)')}) -> int = #b + #a;").g
    with pytest.raises(nessie.NessieError, match=r"5 elements, and .* has too many for n = 9"):
        call(np.arange(9), np.arange(5))


@pytest.mark.parametrize("length", [
    "mod(((i + n + 1) ^ 8) ^ 8, 3)", "((((i - i) ^ 8 ^ 8 + n) ^ 8) ^ 8) ^ 8",
    f"rem({'(' * 9}(n + i / n){' ^ 8)' * 9}, 5)", "mod(i * (i / 7 + rem(i, 3) + i / 5) ^ 8, 9)",
    "0 * (i + 1) ^ 8 * (i + 2) ^ 8 * (i + 3) ^ 8 * (i + 4) ^ 8"])
def test_of_high_powers_the_sum_is_soon_known_or_not(length: str) -> None:
    rows = levels(f"[i < n => [j < max(0, {length}) => [int; j]]]")
    for count in (5, 10 ** 6):
        with suppress(NoSum):
            found = run_deep(lambda count=count: closed_sum(rows, count, {"n": count}), Deadline(60, ""))
            with suppress(Beyond):
                assert count > 5 or found == looped(rows, {"n": count}, count)


def test_a_part_that_leaves_the_ints_is_told_where_lengths_are_computed() -> None:
    """8^27 is no int, though its remainder is one; all remainders together are 16."""
    length = "rem(((i ^ 3) ^ 3) ^ 3, 5)"
    call = nessie.compile(f"function g(b, a) : ([int; n], [i < n => [int; {length}]]) -> int = #b + #a;").g
    assert call(np.arange(5), np.arange(10)) == 10
    with pytest.raises(nessie.NessieError, match="leaves the ints"):
        call(np.arange(9), np.arange(16))


# Vectors ------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def program() -> nessie.Program:
    return nessie.compile(TEXT)


@pytest.mark.parametrize(("type_", "size"), [
    ("[[float; 0]; 5000000]", 0), ("[i < 4194304 => [float; i / 4194303]]", 1),
    ("[i < 4194306 => [float; i / 4194305]]", 1)])
def test_more_rows_than_elements(program: nessie.Program, type_: str, size: int) -> None:
    found = program.sums.at(type_)(np.ones(size))
    assert found.sum() == size and found[:-1].sum() == 0


def test_another_argument_tells_of_many_rows(program: nessie.Program) -> None:
    assert program.size(np.ones(1), np.zeros(6_000_000)) == 1
    assert program.size(np.ones(0), np.zeros(5_999_999)) == 0
    with pytest.raises(nessie.NessieError, match=r"has 2 elements, and .* has 1 for n = 6000000"):
        program.size(np.ones(2), np.zeros(6_000_000))


@pytest.mark.parametrize(("type_", "said"), [
    ("[[float; 3]; 1000000000]", "has 3 elements, and .* has 3000000000 for the number of rows = 1000000000"),
    ("[[float; 3]; 100000000000000000]", "has 3 elements, and .* has 300000000000000000 for"),
    ("[i < 1000000000 => [float; rem(i * i, 7)]]", "has 3 elements, and .* has too many for"),
    ("[[float; 0]; n]", "has 3 elements, and .* has 0, whatever n is"),
    ("[i < n => [float; max(0, 1 - i)]]", "has 3 elements, and .* has at most 1, whatever n is"),
    ("[i < n => [float; 1000000000 * i]]", "has 0 for n = 1 and 1000000000 for n = 2")])
def test_wrong_sizes_need_no_memory(program: nessie.Program, type_: str, said: str) -> None:
    call = program.sums.at(type_)
    tracemalloc.start()
    with pytest.raises(nessie.NessieError, match=said):
        call(np.ones(3))
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


def test_more_rows_than_sequences_have(program: nessie.Program) -> None:
    with pytest.raises(nessie.NessieError, match="stands for 100000000000000000 rows, and no sequence has more than"):
        program.sums.at("[[float; 0]; 100000000000000000]")(np.ones(0))


def test_starts_of_rows_count_as_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text(TEXT)
    np.save("one.npy", np.ones(1))
    run = ["run", "p.nesl", "-e", "sums", "@one.npy", "--memory", "10M", "-t"]
    assert main([*run, "[i < 3000000 => [float; i / 2999999]]"]) == 1
    said = capsys.readouterr().err
    assert "where the rows of argument 1 (@one.npy) start: out of memory: 48,000,016 bytes" in said
    assert "--memory sets the limit" in said
    assert main([*run, "[i < 30 => [float; i / 29]]"]) == 0


@pytest.mark.parametrize("n", [4, 735, 8193, 100_000])
def test_the_number_of_rows_is_the_least(program: nessie.Program, n: int) -> None:
    for length in ("min(i, 3)", "min(rem(i * i, 7) + 1, 1) * min(i, 3)"):       # by a closed sum, and without
        assert len(program.sums.at(f"[i < n => [float; {length}]]")(np.ones(3 * n - 6))) == n
