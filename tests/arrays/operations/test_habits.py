"""What Python's and NumPy's users write by habit means here what it means there."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.source import NessieError

A = np.array([3, 1, 2])


def test_one_value_is_a_number_where_python_asks_for_one() -> None:
    total = nessie.array([1.25, 2.5]).sum()
    assert f"{total:.1f}" == "3.8" and round(total) == 4 and round(total, 1) == 3.8
    assert total.sum().item() == 3.75 and total.argmax().item() == 0 and np.allclose(total, 3.75)
    assert total.ravel().tolist() == [3.75] and total.reduce(lambda x, y: x - y).item() == 3.75
    assert f"{total}" == str(total) and 2 in nessie.array(A) and 9 not in nessie.array(A)
    with pytest.raises(NessieError, match="an array of elements is no number"):
        format(nessie.array(A), ".1f")


def test_bytes_are_numbers() -> None:
    line = b"to be, or"
    found = nessie.array(line)
    assert found.dtype == np.uint8 and found.tolist() == list(line)
    words = nessie.nest([*line.split(), b""])
    assert words.map(lambda w: len(w)).tolist() == [2, 3, 2, 0] and words.dtype == np.uint8
    assert words.map(lambda w: [c - 32 if ord("a") <= c <= ord("z") else c for c in w]).tolist() == [
        list(w) for w in [b"TO", b"BE,", b"OR", b""]]
    assert (found == ord(",")).sum().item() == 1
    with pytest.raises(NessieError, match="a text is no row of numbers"):
        nessie.nest(["to", "be"])


def test_matrices_become_arrows_lists_of_one_length() -> None:
    pa = pytest.importorskip("pyarrow")
    cube = np.arange(24).reshape(2, 3, 4)
    found = nessie.array(cube).to_arrow()
    assert found.to_pylist() == cube.tolist() and found.type == pa.list_(pa.list_(pa.int64(), 4), 3)


ROWS = [[3.5, -1.0], [], [2.0]]
FUNCTIONS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "len": (lambda: nessie.nest(ROWS).map(len), [2, 0, 1]),
    "sum": (lambda: nessie.nest(ROWS).map(sum), [2.5, 0.0, 2.0]),
    "sorted": (lambda: nessie.nest(ROWS).map(sorted), [[-1.0, 3.5], [], [2.0]]),
    "select": (lambda: nessie.nest(ROWS).select(len), [[3.5, -1.0], [2.0]]),
    "key": (lambda: nessie.array([2, -3, 1]).sort(key=abs), [1, 2, -3]),
    "class": (lambda: nessie.array([2.5, -2.5]).map(int), [2, -2]),
    "module": (lambda: nessie.array(A).map(math.sqrt), [math.sqrt(x) for x in A]),
    "of two": (lambda: nessie.array(A).combine([6, 4, 8], math.gcd), [3, 1, 2]),
    "ufunc": (lambda: nessie.array(A).combine([4, 0, 0], np.hypot), [5.0, 1.0, 2.0]),
    "places": (lambda: nessie.pnew(3, range), [[], [0], [0, 1]])}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_functions_of_c_are_bodies(case: str) -> None:
    work, expected = FUNCTIONS[case]
    assert work().tolist() == expected


COUNTS = [[3, 1, 2], [], [5, 4]]
PARTS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "mask": (lambda r: r[r > 1], [[3, 2], [], [5, 4]]), "first two": (lambda r: r[:, :2], [[3, 1], [], [5, 4]]),
    "without the last": (lambda r: r[:, :-1], [[3, 1], [], [5]]), "last": (lambda r: r[[0, 2], -1], [2, 4]),
    "first of some": (lambda r: r[r.map(len) > 0, 0], [3, 5]), "of one": (lambda r: r[0, 1:], [1, 2])}


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_ragged_rows(case: str) -> None:
    work, expected = PARTS[case]
    found = work(nessie.nest(COUNTS))
    assert (found.to_list() if hasattr(found, "to_list") else found.tolist()) == expected


def test_records_by_the_names_of_their_fields() -> None:
    records = nessie.array(np.array([(1.5, 2), (3.0, 4)], [("x", float), ("n", int)]))
    assert records.map(lambda r: r["x"] * r["n"]).tolist() == [3.0, 12.0] and records["n"].tolist() == [2, 4]
    made = records.map(lambda r: (r.n, r.x))
    assert made["f1"].tolist() == [1.5, 3.0]
    with pytest.raises(NessieError, match=r"these records have no y(.|\n)*f0, f1"):
        made["y"]
    with pytest.raises(NessieError, match=r"has no attribute y(.|\n)*it has x, n"):
        records.map(lambda r: r["y"])


def test_floats_become_ints_by_astype_as_numpys_do() -> None:
    given = np.array([[1.75, -2.5], [0.0, 3.0]])
    assert nessie.array(given).astype(int).tolist() == given.astype(int).tolist()
    assert nessie.array(given).astype(bool).tolist() == given.astype(bool).tolist()
    narrow = nessie.array(given).astype(np.int8)
    assert narrow.dtype == np.int8 and np.array_equal(narrow, given.astype(np.int8))

    @nessie.host_section
    def whole(a: Any, rows: Any) -> Any:
        return a.astype(int), rows.map(len)
    found, lengths = whole(given, nessie.nest(COUNTS))
    assert found.tolist() == given.astype(int).tolist() and lengths.tolist() == [3, 0, 2]


KEYS, WEIGHTS = np.array([3, 0, 3, 1, 6]), np.array([0.5, 1.0, 2.0, 0.25, -1.0])
HOLED = np.array([[1.0, math.nan, 3.0], [math.nan] * 3])
CUBE = np.array([[[3, 1], [2, 5]], [[0, 4], [4, -1]]])
OF_NUMPY: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "bincount": lambda k, w, h, c: np.bincount(k, minlength=9), "weights": lambda k, w, h, c: np.bincount(k, w),
    "weights of truth values": lambda k, w, h, c: np.bincount(k, w > 0.5),
    "histogram": lambda k, w, h, c: np.histogram(w, 4), "range": lambda k, w, h, c: np.histogram(w, 3, (-0.5, 1.0)),
    "edges": lambda k, w, h, c: np.histogram(k, [0, 1, 5, 6], weights=w),
    "one value": lambda k, w, h, c: np.histogram(k * 0),
    "argsort": lambda k, w, h, c: np.argsort(w), "sort along an axis": lambda k, w, h, c: np.sort(c, axis=1),
    "sort rows": lambda k, w, h, c: np.sort(h), "unique": lambda k, w, h, c: np.unique(k),
    "unique NaN": lambda k, w, h, c: np.unique(h), "diff": lambda k, w, h, c: np.diff(k),
    "diff of rows": lambda k, w, h, c: np.diff(h), "dot": lambda k, w, h, c: np.dot(h.T, h),
    "of three dimensions": lambda k, w, h, c: c @ [0.5, 2.0],
    "of three and two": lambda k, w, h, c: c @ [[1, 0, 2], [3, 1, 1]],
    "method dot": lambda k, w, h, c: w.dot(k), "outer": lambda k, w, h, c: np.outer(k, w),
    "norm": lambda k, w, h, c: np.linalg.norm(c, axis=2), "average": lambda k, w, h, c: np.average(w, weights=k),
    "cumprod": lambda k, w, h, c: np.cumprod(w), "nansum": lambda k, w, h, c: np.nansum(h, axis=1),
    "nanmean": lambda k, w, h, c: np.nanmean(h), "nanmax": lambda k, w, h, c: np.nanmax(h),
    "nanmin": lambda k, w, h, c: np.nanmin(k), "ptp": lambda k, w, h, c: np.ptp(c, axis=0),
    "take": lambda k, w, h, c: np.take(w, k - 3), "vstack": lambda k, w, h, c: np.vstack([k, w]),
    "hstack": lambda k, w, h, c: np.hstack([h, h]), "column_stack": lambda k, w, h, c: np.column_stack([k, w]),
    "like": lambda k, w, h, c: np.full_like(c, 7), "searchsorted": lambda k, w, h, c: np.searchsorted(np.arange(4), k),
    "digitize": lambda k, w, h, c: np.digitize(w, [0.25, 1.0]), "ravel": lambda k, w, h, c: c.ravel(),
    "counted": lambda k, w, h, c: np.count_nonzero(c > 1, axis=1)}


@pytest.mark.parametrize("case", OF_NUMPY)
def test_functions_of_numpys(case: str) -> None:
    given = KEYS, WEIGHTS, HOLED, CUBE
    expected, found = [one if isinstance(one, tuple) else (one,) for one in (
        OF_NUMPY[case](*given), OF_NUMPY[case](*map(nessie.array, given)))]
    for want, have in zip(expected, found, strict=True):
        assert np.asarray(have).dtype == want.dtype and np.allclose(have, want, equal_nan=True), (have, want)


def test_elements_by_keys() -> None:
    assert nessie.array(WEIGHTS).group_by(KEYS).map(sum).tolist() == np.bincount(KEYS, WEIGHTS).tolist()
    rows = nessie.nest([[1], [2, 3], []]).group_by([1, 3, 1], 5)
    assert rows.tolist() == [[], [[1], []], [], [[2, 3]], []]
    nothing = nessie.array(KEYS[:0])
    assert nothing.group_by(nothing).tolist() == [] and np.bincount(nothing, minlength=2).tolist() == [0, 0]


def test_what_has_no_text_fails_with_a_hint() -> None:
    names = {"a": nessie.array(A)}
    with pytest.raises(NessieError, match="Division by zero") as failed:
        exec("(a // 0).evaluate()", names)
    assert "if y != 0 else 0" in failed.value.hint


FAILS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "narrower": (lambda: (nessie.array(A) - 3).astype(np.uint8).evaluate(), "nessie.array(A) - 3", "-2 is no uint8"),
    "in a function of C": (lambda: nessie.array([1.5, -4.0]).map(math.sqrt).evaluate(),
                           "nessie.array([1.5, -4.0]).map(math.sqrt)", "Square root of a negative number"),
    "of another kind": (lambda: nessie.array(A).map(len), "nessie.array(A).map(len)", "a sequence is needed here"),
    "no int": (lambda: nessie.array([1.0, math.nan]).astype(int).evaluate(),
               "nessie.array([1.0, math.nan]).astype(int)", "This float is no int of 64 bits"),
    "no first": (lambda: nessie.nest(COUNTS)[:, 0], "nessie.nest(COUNTS)[:, 0]", "Index out of range"),
    "another mask": (lambda: nessie.nest(COUNTS)[nessie.nest([[True]] * 3)],
                     "nessie.nest(COUNTS)[nessie.nest([[True]] * 3)]", "at element 0: the lengths are 3 and 1"),
    "three indices": (lambda: nessie.nest(COUNTS)[:, 0, 0], "nessie.nest(COUNTS)[:, 0, 0]", "one index for rows"),
    "a negative key": (lambda: nessie.array(A).group_by(nessie.array(A) - 2).evaluate(),
                       "nessie.array(A).group_by(nessie.array(A) - 2).evaluate()", "A key is negative"),
    "keys of floats": (lambda: np.bincount(nessie.array(WEIGHTS)), "np.bincount(nessie.array(WEIGHTS))",
                       "ints as keys"),
    "no place": (lambda: np.take(nessie.array(A), nessie.array([3])).item(),
                 "np.take(nessie.array(A), nessie.array([3]))", "Index out of range"),
    "no such function": (lambda: nessie.array(A).map(lambda x: math.sqr(x)),                    # type: ignore[attr-defined]
                         "math.sqr", "is math.sqrt meant"),
    "a character": (lambda: nessie.array(A).map(lambda x: x == "a"), '"a"', r"ord\('a'\) is the number")}


@pytest.mark.parametrize("case", FAILS)
def test_mistakes_are_told_where_they_stand(case: str) -> None:
    work, text, told = FAILS[case]
    with pytest.raises(NessieError, match=told) as failed:
        work()
    span, _ = failed.value.places[0]
    assert span.source.text[span.start:span.end] == text


def test_a_part_of_each_row_has_no_step() -> None:
    with pytest.raises(NessieError, match="a part of each row has no step"):
        nessie.nest([[1, 2], [3]])[:, ::2]
