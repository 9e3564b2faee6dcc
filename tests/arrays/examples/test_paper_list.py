"""The paper's system, entry by entry: each has a test that bears its name. What they compute in all dimensions, of all
sizes and on all targets, and their errors, are the other files' business; the benchmarks are in test_ikra_programs.py,
BFS and the other examples in test_parallel_arrays.py."""
from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
from image_library import files, filters, pictures

import nessie
from nessie.arrays import running

V, M = np.array([3, 1, 2, 1]), np.array([[1, 2, 3], [4, 5, 6]])
OFFSETS = [(-1, 0), (0, 0), (1, 0)]


class Ball(NamedTuple):
    x: float
    speed: float


def kernels(a: nessie.Array) -> int:
    return str(a.kernels()).count(" = run K")


def combine_and_map() -> None:
    a = nessie.array(V)
    assert a.map(lambda x: x + 1).tolist() == [4, 2, 3, 2]
    assert a.combine(a, V * 10, lambda x, y, z: x * y + z).tolist() == [39, 11, 24, 11]


def index_and_new() -> None:
    assert nessie.pnew(3, lambda i: i).tolist() == [0, 1, 2]
    assert nessie.pnew((2, 2), lambda yx: yx[0] * 10 + yx[1]).tolist() == [[0, 1], [10, 11]]


def stencil_gives_the_same_value_wherever_a_neighbour_is_outside() -> None:
    a = nessie.array(V)
    assert a.stencil([-1, 0, 1], 7, lambda v: v[-1] + v[0] + v[1]).tolist() == [7, 6, 4, 7]
    assert nessie.array(M).stencil([(0, -1), (0, 0)], 0, lambda v: v[0, 0] - v[0, -1]).tolist() == [[0, 1, 1]] * 2


def neighbours_as_one_array_or_as_parameters() -> None:
    a = nessie.array(V)
    assert a.stencil([-1, 0], 0, lambda v: v[-1] * v[0]).tolist() == [0, 3, 2, 2]
    assert a.stencil([-1, 0], 0, lambda before, here: before * here).tolist() == [0, 3, 2, 2]


def stencil_with_index() -> None:
    found = nessie.array(V).stencil([0, 1], -1, lambda v, i: v[1] * 10 + i, with_index=True)
    assert found.tolist() == [10, 21, 12, -1]
    found = nessie.array(M).stencil([(0, -1)], -1, lambda v, yx: v[0, -1] * 10 + yx[1], with_index=True)
    assert found.tolist() == [[-1, 11, 22], [-1, 41, 52]]


def generated_neighbourhoods() -> None:
    around = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    assert nessie.array(np.arange(9).reshape(3, 3)).stencil(around, 0, lambda v: sum(v)).tolist()[1] == [0, 36, 0]


def zip_nested_with_a_computed_component_and_as_a_result() -> None:
    a = nessie.array(V)
    assert a.zip(a.map(lambda x: x * 2)).map(lambda p: p[1] - p[0]).tolist() == V.tolist()
    assert a.zip(a.zip(a)).map(lambda p: p[0] + p[1][1]).tolist() == (2 * V).tolist()
    assert a.zip(a).map(lambda p: p[p[0] % 2]).tolist() == V.tolist()
    assert a.zip(a > 1).tolist() == [(3, True), (1, False), (2, True), (1, False)]


def reduce_by_function_and_by_operator() -> None:
    a = nessie.array(V)
    assert a.reduce(lambda x, y: x if x > y else y).item() == 3 and a.reduce(operator.add).item() == 7
    assert nessie.array([5]).reduce(lambda x, y: x * y).item() == 5
    assert a.select(lambda x: x > 9).reduce(lambda x, y: x + y, 0).item() == 0
    with pytest.raises(nessie.NessieError, match="no elements needs an identity"):
        nessie.array(np.empty(0)).reduce(lambda x, y: x * y)


def with_index() -> None:
    assert nessie.array(V).map(lambda x, i: x * i, with_index=True).tolist() == [0, 1, 4, 3]
    assert nessie.array(M).map(lambda x, yx: x * yx[1], with_index=True).tolist() == [[0, 2, 6], [0, 5, 12]]


def select_prefix_sum_sort_flatten_unique() -> None:
    a = nessie.array(V)
    assert a.select(lambda x: x < 3).tolist() == [1, 2, 1] and a.prefix_sum().tolist() == [3, 4, 6, 7]
    assert a.sort(key=lambda x: -x).tolist() == [3, 2, 1, 1] and a.unique().tolist() == [3, 1, 2]
    assert nessie.array(M).flatten().tolist() == [1, 2, 3, 4, 5, 6]
    assert nessie.nest([[1, 2], [], [3]]).flatten().tolist() == [1, 2, 3]


def operators() -> None:
    a = nessie.array(V)
    assert (2 * a - 1).tolist() == [5, 1, 3, 1] and (a % 2 == 1).tolist() == [True, True, False, True]


def conversion_indices_and_iteration_compute() -> None:
    for ask in (lambda a: a.tolist(), lambda a: a[0], list, np.asarray, lambda a: a.to_numpy()):
        a = nessie.array(V).map(lambda x: x + 1)
        assert "computed" not in repr(a)
        ask(a)
        assert "computed" in repr(a)


def results_are_kept() -> None:
    a = nessie.array(V).map(lambda x: x + 1)
    assert a.to_numpy() is a.to_numpy() and not a.to_numpy().flags.writeable


def keep() -> None:
    kept = nessie.array(V).map(lambda x: x + 1).keep()
    assert "computed" in repr(kept) and kernels(kept.map(lambda x: x * 2)) == 1


def captured_variables() -> None:
    factor = 2

    def scaled(x):
        return x * factor + V[0]
    assert nessie.array(V).map(scaled).tolist() == [9, 5, 7, 5]
    before, factor = running.COUNTS.compiled, 3
    assert nessie.array(V[:2]).map(scaled).tolist() == [12, 6] and running.COUNTS.compiled == before


def objects_are_records() -> None:
    balls = nessie.array([Ball(0.0, 1.0), Ball(2.0, -1.0)]).map(lambda b: Ball(b.x + b.speed, b.speed))
    assert balls.tolist() == [Ball(1.0, 1.0), Ball(1.0, -1.0)]


def fusion_of_what_is_at_the_same_place() -> None:
    a = nessie.array(V)
    assert kernels(a.map(lambda x: x + 1).combine(a.map(lambda x: x * 2), lambda x, y: x * y)) == 1


def fusion_of_stencils_and_reductions() -> None:
    a = nessie.array(np.arange(1000.0))
    assert kernels(a.map(lambda x: x * 2).stencil([-1, 0, 1], 0.0, lambda v: sum(v))) == 1
    assert kernels(a.map(lambda x: x * x).sum()) == 1


@nessie.host_section
def promoted(a, rounds):
    for _ in range(rounds):
        if a.sum() > 10:                            # noqa: SIM108
            a = a / 2
        else:
            a = a * 3
    return a


def host_sections_join_the_types_of_paths() -> None:
    expected: Any = V
    for _ in range(4):
        expected = expected / 2 if expected.sum() > 10 else expected * 3
    assert promoted(V, 4).tolist() == expected.tolist() and promoted(V, 0).tolist() == V.tolist()


@nessie.host_section
def slide(a):
    for _ in range(10):
        if a.sum() % 2 == 0:                     # noqa: SIM108
            a = a.map(lambda x: x + 1)
        else:
            a = a.map(lambda x: x + 2)
        a = a.map(lambda x: x + 3)
    return a


def host_sections_compile_each_path_of_array_commands() -> None:
    assert slide([10, 20, 30, 40, 50, 60]).tolist() == [50, 60, 70, 80, 90, 100]
    (compiled,) = slide.kept.values()
    assert 2 <= str(compiled.program.section.kernels([1, 2])).count("kernel K") <= 4


@nessie.host_section
def in_a_circle(a, b, rounds):
    for _ in range(rounds):
        a, b = b / 2, a + 1
    return a, b


def circular_definitions_are_cut_and_kinds_reach_a_fixpoint() -> None:
    for rounds in range(4):
        a, b = V, V * 10
        for _ in range(rounds):
            a, b = b / 2, a + 1
        found = in_a_circle(V, V * 10, rounds)
        assert [one.tolist() for one in found] == [a.tolist(), b.tolist()]


@nessie.host_section
def array_or_number(a, rounds):
    x = 0
    for _ in range(rounds):
        x = x + a
    return x.max() if rounds > 2 else x


def unions_at_joins_with_a_tag_for_the_class() -> None:
    assert array_or_number(V, 0) == 0 and array_or_number(V, 2).tolist() == [6, 2, 4, 2] and array_or_number(V, 3) == 9


@nessie.host_section
def int_or_truth_value(b, n):
    x = 37
    if n > 0:
        x = True
    return b + x, x


def polymorphic_scalars_are_tagged_unions() -> None:
    (added, one), (also, other) = int_or_truth_value(V, 0), int_or_truth_value(V, 1)
    assert added.tolist() == (V + 37).tolist() and also.tolist() == (V + 1).tolist()
    assert type(one) is int and type(other) is bool and (one, other) == (37, True)


def polymorphic_scalars_promote() -> None:
    assert nessie.array(V).map(lambda x: x if x > 1 else x / 2).tolist() == [3.0, 0.5, 2.0, 0.5]


def location_aware_arrays() -> None:
    a = nessie.array(V)
    assert a.device == "cpu" and a.to_device("cpu") is a and a.map(lambda x: x).device == "cpu"


def image_library_load_render_blend_invert_overlay_blur_sharpen() -> None:
    a, b, c = [draw(8, 10).evaluate() for draw in (pictures.tower, pictures.sunset, pictures.forest)]
    made = alone = a
    for of in (filters.blur, filters.sharpen, filters.blend(b, 0.3), filters.invert,
               filters.overlay(c, filters.circle(3))):
        made, alone = of(made), of(alone).keep()
    assert made.shape == (8, 10) and kernels(made) < 5 and made.tolist() == alone.tolist()
    pytest.importorskip("PIL")
    with TemporaryDirectory() as folder:
        files.save_png(made, Path(folder) / "made.png")
        assert files.load_png(Path(folder) / "made.png").tolist() == made.tolist()


def matrix_product_by_nested_maps() -> None:
    columns = nessie.array(M)
    rows = nessie.nest(M.tolist())
    found = rows.map(lambda row: [sum(x * y for x, y in zip(row, column)) for column in columns])
    assert found.tolist() == (M @ M.T).tolist()


ENTRIES: list[Callable[[], None]] = [
    combine_and_map, index_and_new, stencil_gives_the_same_value_wherever_a_neighbour_is_outside,
    neighbours_as_one_array_or_as_parameters, stencil_with_index, generated_neighbourhoods,
    zip_nested_with_a_computed_component_and_as_a_result, reduce_by_function_and_by_operator, with_index,
    select_prefix_sum_sort_flatten_unique, operators, conversion_indices_and_iteration_compute, results_are_kept, keep,
    captured_variables, objects_are_records, fusion_of_what_is_at_the_same_place, fusion_of_stencils_and_reductions,
    host_sections_compile_each_path_of_array_commands, host_sections_join_the_types_of_paths,
    circular_definitions_are_cut_and_kinds_reach_a_fixpoint, unions_at_joins_with_a_tag_for_the_class,
    polymorphic_scalars_are_tagged_unions, polymorphic_scalars_promote, location_aware_arrays,
    image_library_load_render_blend_invert_overlay_blur_sharpen, matrix_product_by_nested_maps]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
def test_the_paper_has(entry: Callable[[], None]) -> None:
    entry()
