"""Host sections give what their functions give, called as they are: each operation then runs by itself."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amounts import PROFILE

import nessie
from nessie.arrays.array import Array
from nessie.arrays.sections.methods import Section

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")
WEIGHTS = np.array([2, 3, 5])


@nessie.host_section
def slide(arr):
    """The host section of the paper's slides."""
    for i in range(10):
        if arr.sum() % 2 == 0:                      # noqa: SIM108
            arr = arr.map(lambda i: i + 1)
        else:
            arr = arr.map(lambda i: i + 2)
        arr = arr.map(lambda i: i + 3)
    return arr


@nessie.host_section
def settle(a, limit):
    rounds = 0
    while a.sum() < limit and rounds < 50:
        a = a.stencil([-1, 0, 1], 1, lambda v: v[-1] - v[0] + 7)
        rounds += 1
    return a, rounds


@nessie.host_section
def grow(a, most):
    """Ints become floats on one path."""
    n = 0
    while n < 6:
        n += 1
        if a.max() > most:
            a = a / 2
            continue
        a = a * 3
        if a.sum() > 1000:
            break
    return a, n


@nessie.host_section
def many(a, b):
    c = np.sqrt(abs(a)) + b * 2
    small = c.select(lambda x: x < 10).sort()
    total = 0.0
    for k in range(len(a)):
        total += a[k] * WEIGHTS[k % 3]
    return c, small, total, a.zip(b).map(lambda p: p[0] - p[1]).reduce(lambda x, y: max(x, y), -99.0), (a > 1).any()


@nessie.host_section
def table(n):
    t = nessie.pnew((n, n + 1), lambda ij: ij[0] * 10 + ij[1])
    return t, t.flatten().prefix_sum(), t.shape


def step(a):
    return a.map(lambda x: x + 1)


@nessie.host_section
def helped(a):
    for _ in range(3):
        a = step(a)
    return a.unique()


@nessie.host_section
def operators(a, b):
    return a / b, a // b, a % b, ~(a > b), -a ** 2, (a > 0) ^ (b > 0), 2 ** a, +b - a * 3


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return np.asarray(value.to_numpy()).tolist() if isinstance(value, Array) else value


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple | list):
        return len(found) == len(expected) and all(map(alike, found, expected))
    return bool(found == expected or abs(found - expected) < 1e-12 * abs(expected) or
                (found != found and expected != expected))


CALLS = {
    "slide": (slide, [[10, 20, 30, 40, 50, 60]]), "slide of one": (slide, [[1]]),
    "settle": (settle, [[1, 2, 3, 4], 20]), "settle of none": (settle, [np.zeros(0, np.int64), 5]),
    "grow": (grow, [[1, 2, 3], 10]), "grow soon": (grow, [[500], 900]),
    "many": (many, [[4.0, -9.0, 2.25, 16.0], [1.0, 2.0, 3.0, 4.0]]), "table": (table, [3]),
    "operators": (operators, [[0.0, -3.5, 2.0, 7.0], [0.5, 0.0, -0.75, 2.0]]),
    "operators of ints": (operators, [[1, 3, 2, 7], [5, -2, 3, 2]]),
    "helped": (helped, [[1, 1, 2]])}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_section_gives_what_its_function_gives(call: str, target: str) -> None:
    section, given = CALLS[call]
    found = plain(section(*given, target=target))
    arrays = [nessie.array(one) if isinstance(one, list | np.ndarray) else one for one in given]
    expected = plain(section.function(*arrays))
    assert alike(found, expected), (found, expected)


def test_the_slide() -> None:
    assert slide([10, 20, 30, 40, 50, 60]).tolist() == [50, 60, 70, 80, 90, 100]


def test_each_path_is_one_fused_map() -> None:
    """At most four kernels: the sum, and a map for each path."""
    slide([1, 2])
    (compiled,) = slide.kept.values()
    text = str(compiled.program.section.kernels([1, 2]))
    assert text.count("\nkernel ") + text.startswith("kernel ") <= 4


def test_other_values_compile_nothing() -> None:
    settle([1, 2], 3)
    before = len(settle.kept)
    settle([5, 6, 7], 100)
    assert len(settle.kept) == before


def test_arguments_by_name_and_defaults() -> None:
    @nessie.host_section
    def scaled(a, k=3):
        return a * k
    assert scaled([1, 2]).tolist() == [3, 6] and scaled([1, 2], k=5).tolist() == [5, 10]
    with pytest.raises(TypeError, match="unexpected keyword"):
        scaled([1], q=2)


def test_what_is_refused() -> None:
    @nessie.host_section
    def strange(a):
        return a.transform(lambda x: x)
    with pytest.raises(nessie.NessieError, match="arrays have no transform"):
        strange([1])

    @nessie.host_section
    def undecided(a):
        if a > 1:
            return a
        return a + 1
    with pytest.raises(nessie.NessieError, match="neither true nor false"):
        undecided([1])

    @nessie.host_section
    def along(a):
        return a.sort(axis=0)
    with pytest.raises(nessie.NessieError, match="sort takes no axis in a section"):
        along(np.ones((2, 2)))


OFFSETS = [-1, 0]


@nessie.host_section
def around(a: Any) -> Any:
    return a.stencil(OFFSETS, 0, lambda x, y: x + y)


@nessie.host_section
def lengths(a: Any) -> Any:
    return a.shape


def test_offsets_are_those_at_the_call() -> None:
    assert around(nessie.array([1, 2, 3])).tolist() == [0, 3, 5]
    OFFSETS[:] = [0, 1]
    try:
        assert around(nessie.array([1, 2, 3])).tolist() == [3, 5, 0]
    finally:
        OFFSETS[:] = [-1, 0]


class Neighbourhood:
    offsets = (-1, 0)


def summed(a):
    return a.stencil(Neighbourhood.offsets, 0, lambda v: sum(v))


@nessie.host_section
def by_another_function(a):
    return summed(a)


def test_offsets_of_functions_that_a_section_calls_are_those_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_another_function([1, 2, 3]).tolist() == [0, 3, 5]
    monkeypatch.setattr(Neighbourhood, "offsets", (0, 1))
    assert by_another_function([1, 2, 3]).tolist() == [3, 5, 0]


def test_shapes_without_rows_or_elements() -> None:
    for shape in ((2, 3), (2, 0), (2, 0, 3), (2, 3, 0)):
        assert lengths(nessie.array(np.zeros(shape))) == shape


@nessie.host_section
def nested(x: Any) -> Any:
    return abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(x))))))))))))))))))))


def test_calls_within_calls_are_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    real = Section.of_sequences

    def watched(self: Section, *given: Any) -> Any:
        asked.append(given)
        return real(self, *given)
    monkeypatch.setattr(Section, "of_sequences", watched)
    assert nested(-3) == 3 and nested(nessie.array([-1, 2])).tolist() == [1, 2]
    assert len(asked) < 100


# Axes -----------------------------------------------------------------------------------------------


@nessie.host_section
def along_axes(a):
    columns, total = a.sum(axis=0), 0
    while total < 20:
        total += a.max(axis=-1).sum() + 20
    return columns, np.sum(a, axis=1), a.T, a.cumsum(axis=0), a.T.argmax(0), a.mean(1), (a > 2).any(axis=0), total


@nessie.host_section
def products(a, b, v):
    return a @ b, a @ v, v @ b, v @ v, (a > 1) @ (b > 1)


@nessie.host_section
def of_cubes(a):
    return a.T, a.sum(axis=1), a.cumsum(axis=1), a.cumsum(), np.where(a > 2, a, -1), np.clip(a, 1, 3)


@pytest.mark.parametrize("target", TARGETS)
def test_axes_in_sections(target: str) -> None:
    a = np.random.default_rng(1).integers(-3, 9, (3, 4))
    x = np.random.default_rng(2).random((4, 3))
    total = 0
    while total < 20:
        total += a.max(axis=-1).sum() + 20
    agree(along_axes(a, target=target), (a.sum(0), a.sum(1), a.T, a.cumsum(0), a.T.argmax(0), a.mean(1),
                                         (a > 2).any(0), total))
    square = a[:, :3]
    agree(products(square, x.T[:, :3], [1, 2, 3], target=target),
          (square @ x.T[:, :3], square @ [1, 2, 3], [1, 2, 3] @ x.T[:, :3], 14, (square > 1) @ (x.T[:, :3] > 1)))
    cube = np.random.default_rng(3).integers(-3, 9, (2, 3, 4))
    agree(of_cubes(cube, target=target), (cube.T, cube.sum(1), cube.cumsum(1), cube.cumsum(),
                                          np.where(cube > 2, cube, -1), np.clip(cube, 1, 3)))


NO_ELEMENTS = [(2, 0), (0, 3), (0, 0), (2, 0, 4), (0, 2, 4), (2, 4, 0), (2, 0, 0)]
OF_NO_ELEMENTS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda a: (a.sum(axis=0), a.sum(axis=1), a.sum(axis=-1)), lambda a: (a.sum(0), a.sum(1), a.sum(-1))),
    "any, all": (lambda a: ((a > 0).any(axis=0), (a > 0).all(axis=1)), lambda a: ((a > 0).any(0), (a > 0).all(1))),
    "prod": (lambda a: (a.T.prod(axis=0), a.sum()), lambda a: (a.T.prod(0), 0)),
    "cumsum": (lambda a: (a.cumsum(axis=0), a.cumsum(axis=1), a.cumsum()),
               lambda a: (a.cumsum(0), a.cumsum(1), a.cumsum())),
    "transposed": (lambda a: (a.T, a.T.map(lambda x: x + 1), a.flatten(), a.shape[1]),
                   lambda a: (a.T, a.T, a.flatten(), a.shape[1])),
    "maps": (lambda a: (a.map(lambda x: x / 2), a.combine(3, lambda x, y: x < y), a + a * 2, np.sqrt(a)),
             lambda a: (a / 2, a < 3, a, np.sqrt(a)))}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", OF_NO_ELEMENTS)
def test_arrays_of_no_elements_have_their_lengths_in_sections(how: str, target: str) -> None:
    of_arrays, of_numpy = OF_NO_ELEMENTS[how]
    section = nessie.host_section(of_arrays)
    for shape in NO_ELEMENTS:
        a = np.zeros(shape, np.int64)
        agree(section(a, target=target), of_numpy(a))
        if target == "cudasim":
            agree(section(nessie.array(a, device=target)), of_numpy(a))


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_no_elements_in_sections(target: str) -> None:
    section = nessie.host_section(lambda a: (a @ a.T, a.T @ a))
    for shape in NO_ELEMENTS[:3]:
        a = np.zeros(shape)
        agree(section(a, target=target), (a @ a.T, a.T @ a))


@nessie.host_section
def turned(a, rounds):
    found = 0                           # a number, and an array from the first round on
    for i in range(rounds):
        a = a.T
        found = a.sum(axis=0) + i / 2
    return a, found, a.sum() // (rounds - 5)


def test_loops_over_arrays_of_no_elements() -> None:
    a = nessie.array(np.zeros((2, 0, 4)))
    agree(turned(a, 0), (np.zeros((2, 0, 4)), 0, 0.0))
    agree(turned(a, 3), (np.zeros((4, 0, 2)), np.ones((0, 2)), 0.0))
    assert turned(a, 2000)[0].shape == (2, 0, 4)
    with pytest.raises(nessie.NessieError, match="zero") as failed:
        turned(np.zeros((0, 2), np.int64), 5)
    assert "(rounds - 5)" in str(failed.value)


def agree(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other) and np.allclose(np.asarray(one), other, rtol=1e-12)
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("section, arguments, message", [
    (nessie.host_section(lambda a: a.sum(axis=2)), [[[1, 2]]], "a constant here, of -2 to 1"),
    (nessie.host_section(lambda a, k: a.sum(axis=k)), [[[1, 2]], 0], "a constant here"),
    (nessie.host_section(lambda a: a @ a), [[[[1]]]], "multiplies vectors and matrices"),
    (nessie.host_section(lambda a: a @ a), [[[1, 2]]], "different lengths"),
    (nessie.host_section(lambda a: a.max(axis=1)), [np.zeros((2, 0))], "no greatest of no elements"),
    (nessie.host_section(lambda a: a.max()), [np.zeros(0)], "no greatest of no elements")])
def test_what_axes_refuse_in_sections(section: Any, arguments: list[Any], message: str) -> None:
    with pytest.raises(nessie.NessieError, match=message) as failed:
        section(*arguments)
    assert failed.value.span is not None
