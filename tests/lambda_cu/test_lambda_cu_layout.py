"""Values of NESL to names and back."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie.base.names import Names
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Pair, Seq, Type
from nessie.base.values import Flat, Nested, OnDevice, Uniform, View, flatten_value, plain_value
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import from_names, layout_of, layout_of_value, parameters, to_names

base_types = st.sampled_from([INT, FLOAT, BOOL, CHAR])
some_types = st.recursive(base_types, lambda t: st.one_of(st.builds(Pair, t, t), st.builds(Seq, t)), max_leaves=5)


def values(type_: Type) -> st.SearchStrategy:
    match type_:
        case Seq(element):
            return st.lists(values(element), max_size=4)
        case Pair(first, second):
            return st.tuples(values(first), values(second))
    return {"int": st.integers(-9, 9), "float": st.sampled_from([0.5, -1.0]), "bool": st.booleans(),
            "char": st.characters()}[type_.name]


def viewed(layout: ir.Layout) -> ir.Layout:
    """The layout with every sequence a view."""
    match layout:
        case ir.PairLayout(first, second):
            return ir.PairLayout(viewed(first), viewed(second))
        case ir.SeqLayout(element, _):
            return ir.SeqLayout(viewed(element), "view")
    return layout


@given(some_types.flatmap(lambda t: st.tuples(st.just(t), values(t))), st.booleans())
def test_values_come_back(typed: tuple[Type, object], view: bool) -> None:
    type_, value = typed
    layout = viewed(layout_of(type_)) if view else layout_of(type_)
    held = to_names(flatten_value(value, type_), layout)
    params = parameters(layout, Names())
    assert len(held) == len(params)
    by_name = {param.name: one for param, one in zip(params, held, strict=True)}
    for param in params:
        if isinstance(param.type, ir.Array):
            assert len(by_name[param.name]) == by_name[param.type.size] + param.type.plus
    assert plain_value(from_names(held, layout), type_) == value


def test_dense_values_are_not_copied() -> None:
    value = flatten_value([[1, 2], [], [3]], Seq(Seq(INT)))
    size, offsets, total, content = to_names(value, layout_of(Seq(Seq(INT))))
    assert (size, total) == (3, 3) and np.shares_memory(content, value.column.content)
    back = from_names([size, offsets, total, content], layout_of(Seq(Seq(INT))))
    assert np.shares_memory(back.column.content, content) and np.shares_memory(back.column.offsets, offsets)


def test_sequences_of_one_length_need_no_offsets() -> None:
    layout = ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), "uniform"))
    for value in ([[1, 2], [3, 4]], [[], []], []):
        held = to_names(flatten_value(value, Seq(Seq(INT))), layout)
        assert [len(held), len(parameters(layout, Names()))] == [4, 4] and isinstance(held[1], int)
        assert plain_value(from_names(held, layout), Seq(Seq(INT))) == value
    with pytest.raises(ValueError, match="different lengths"):
        to_names(flatten_value([[1], [2, 3]], Seq(Seq(INT))), layout)


def test_what_is_uniform_goes_in_and_out_without_offsets() -> None:
    content = np.arange(12)
    cube = Flat(2, Uniform(2, 3, Uniform(6, 2, content)))
    type_ = Seq(Seq(Seq(INT)))
    layout = layout_of_value(Pair(type_, INT), (cube, 1))
    inner = ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), "uniform"), "uniform")
    assert layout == ir.PairLayout(ir.SeqLayout(inner), ir.ScalarLayout("int"))
    held = to_names(cube, layout.first)
    assert held[:-1] == [2, 3, 6, 2, 12] and np.shares_memory(held[-1], content)
    back = from_names(held, layout.first)
    assert isinstance(back.column, Uniform) and isinstance(back.column.content, Uniform)
    assert plain_value(back, type_) == plain_value(cube, type_) == np.arange(12).reshape(2, 3, 2).tolist()
    dense = to_names(cube, layout_of(type_))                # where offsets are wanted, there are offsets
    assert [list(one) for one in (dense[1], dense[3])] == [[0, 3, 6], [0, 2, 4, 6, 8, 10, 12]]


def test_views_become_rows_in_order_each_as_often_as_seen() -> None:
    layout = ir.SeqLayout(ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int")), "view"))
    inner = [np.array([0, 2, 2, 5]), 5, np.arange(10, 15)]
    held = [3, np.array([2, 0, 2]), np.array([1, 2, 1]), 3, *inner]
    assert plain_value(from_names(held, layout), Seq(Seq(Seq(INT)))) == [[[12, 13, 14]], [[10, 11], []],
                                                                       [[12, 13, 14]]]
    assert plain_value(from_names([1, 2, 3, *inner], viewed_outer()), Seq(Seq(INT))) == [[], [12, 13, 14]]


def viewed_outer() -> ir.Layout:
    return ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int")), "view")


def test_the_names_of_a_nested_sequence() -> None:
    shown = [f"{p.name} : {p.type}" for p in parameters(layout_of(Seq(Seq(FLOAT))), Names(), "m")]
    assert shown == ["m_size : int", "m_offsets : Array(base='int', size='m_size', plus=1)", "m_size_1 : int",
                     "m : Array(base='float', size='m_size_1', plus=0)"]


def test_rows_that_lie_anywhere_go_as_a_view() -> None:
    """Their payload is not copied, and comes back in the rows' order."""
    payload = np.arange(6)
    value = Flat(3, View(np.array([4, 0, 1]), np.array([2, 0, 3]), payload))
    layout = layout_of_value(Seq(Seq(INT)), value)
    assert layout == ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), "view"))
    names = to_names(value, layout)
    assert names[-1] is not None and np.shares_memory(names[-1], payload)
    assert plain_value(from_names(names, layout), Seq(Seq(INT))) == [[4, 5], [], [1, 2, 3]]


def test_what_is_on_a_device_stays_there() -> None:
    offsets, content = OnDevice("int", 3, 1000, None), OnDevice("float", 5, 2000, None)
    names = to_names(Flat(2, Nested(offsets, content)), layout_of(Seq(Seq(FLOAT))))
    assert [name if isinstance(name, int) else (name.base, name.address, name.length) for name in names] == \
        [2, ("int", 1000, 3), 5, ("float", 2000, 5)]
    part = content[1:4]
    assert (part.address, part.length) == (2008, 3)
    with pytest.raises(IndexError):
        content[::2]
