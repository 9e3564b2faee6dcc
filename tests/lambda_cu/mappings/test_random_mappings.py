"""Random spaces and compositions: each index is walked once, and no other; random sizes, known and unknown. Planted
mistakes, the paper's slips among them, are found."""
from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from amounts import PROFILE

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import combinators
from nessie.lambda_cu.mappings import mapped as mapping_module
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Axis, Space, parse_space, value
from nessie.lambda_cu.mappings.certificate import mistake
from nessie.lambda_cu.mappings.combinators import Lets, Unmappable, demands, forward
from nessie.lambda_cu.mappings.mapped import launch_of, mapped
from nessie.lambda_cu.mappings.text import parse_mapping, show_mapping

COUNT = {"quick": 150, "ci": 1500}.get(PROFILE, 10_000)


def number(n: int) -> ir.Const:
    return ir.Const(n, "int")


def random_space(rng: random.Random, rank: int) -> Space:
    most = {1: 40, 2: 9, 3: 6, 4: 4}.get(rank, 3)
    axes = []
    for _ in range(rank):
        low = rng.choice((0, 0, rng.randint(0, 5)))
        high = low + rng.randint(0 if rng.random() < 0.1 else 1, most)
        if rng.random() < 0.05:
            high = max(0, low - 1)                  # upper below lower: empty
        step = rng.choice((1, 1, rng.randint(1, 4)))
        axes.append(Axis(number(high), number(low), number(step), number(rng.randint(1, step))))
    return tuple(axes)


def random_step(rng: random.Random, inner: maps.Inner, rank: int) -> maps.Combinator:
    order = list(range(rank))
    rng.shuffle(order)
    return rng.choice([
        maps.ShiftLB(inner), maps.CompressGrid(tuple([rng.randint(0, 1) for _ in range(rank)]), inner),
        maps.FoldLast2(inner), maps.SplitLast(rng.randint(1, 5), inner), maps.PadLast(rng.randint(1, 5), inner),
        maps.Permute(tuple(order), inner), maps.Mask(inner), maps.Split(rng.randrange(rank), rng.randint(1, 5), inner),
        maps.Hull(inner)])


def random_mapping(rng: random.Random, space: Space) -> maps.Top:
    inner: maps.Inner = maps.Gen()
    here, host = space, Lets.of("", Names())

    def add(step: maps.Combinator) -> None:
        nonlocal inner, here
        demands(step, here)
        inner, here = step, forward(step, here, host)
    for _ in range(rng.randint(0, 7)):
        step = random_step(rng, inner, len(here))
        if len(here) + isinstance(step, maps.SplitLast | maps.Split) <= 8:
            with suppress(Unmappable):
                add(step)
    if any([axis.low != number(0) for axis in here]):
        add(maps.ShiftLB(inner))
    if len(here) > 6 and not all([axis.is_dense for axis in here]):
        add(maps.Mask(inner))
    while len(here) > 6:
        add(maps.FoldLast2(inner))
    if rng.random() < 0.3:
        grid = rng.randint(0, min(3, len(here)))
        block = rng.randint(0, min(3, len(here) - grid))
        return maps.Levels(("grid",) * grid + ("block",) * block + ("thread",) * (len(here) - grid - block), inner)
    return maps.GridBlock(rng.randint(max(0, len(here) - 3), min(3, len(here))), inner)


def named(rng: random.Random, space: Space) -> tuple[Space, dict[str, int]]:
    """The space with names for bounds, and for some steps and widths."""
    axes, sizes = [], {}
    for k, axis in enumerate(space):
        bounds = {f"u{k}": axis.high, f"l{k}": axis.low, f"t{k}": axis.step, f"w{k}": axis.width}
        sizes |= {name: value(exp, {}) for name, exp in bounds.items()}
        low = ir.Var(f"l{k}") if rng.random() < 0.7 or axis.low != number(0) else axis.low
        step, width = (ir.Var(f"t{k}"), ir.Var(f"w{k}")) if rng.random() < 0.4 else (axis.step, axis.width)
        axes.append(Axis(ir.Var(f"u{k}"), low, step, width))
    return tuple(axes), sizes


def found_mistake(seed: int) -> str:
    """What is wrong with a random mapping of a random space; '' if nothing is."""
    rng = random.Random(seed)
    space = random_space(rng, rng.randint(1, 7))
    mapping = random_mapping(rng, space)
    assert parse_mapping(show_mapping(mapping)) == mapping
    wrong = mistake(mapped(mapping, space), space, {})
    names, sizes = named(rng, space)
    try:
        made = mapped(mapping, names)
    except Unmappable as refused:           # a bound of 0 has a name here
        assert "ShiftLB first" in refused.message or "Mask first" in refused.message
        return wrong
    return wrong or mistake(made, names, sizes)


def test_each_index_is_walked_once() -> None:
    for seed in range(COUNT):
        assert not found_mistake(seed), seed


# Planted mistakes ---------------------------------------------------------------------------------

of = combinators.INTS


def without_guards(kind: type) -> Callable[[Any], Any]:
    """back, which forgets the guards of one combinator."""
    def planted(back: Any) -> Any:
        def wrong(step: Any, *others: Any) -> Any:
            index, guards = back(step, *others)
            return index, [] if isinstance(step, kind) else guards
        return wrong
    return planted


def replaced_index(kind: type, change: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """back, which finds another index of one combinator."""
    def planted(back: Any) -> Any:
        def wrong(step: Any, space: Any, at: Any, code: Any) -> Any:
            index, guards = back(step, space, at, code)
            return (change(step, space, at, index), guards) if isinstance(step, kind) else (index, guards)
        return wrong
    return planted


def replaced_space(kind: type, change: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """forward, which makes another space of one combinator."""
    def planted(forward: Any) -> Any:
        def wrong(step: Any, space: Any, host: Any) -> Any:
            made = forward(step, space, host)
            return change(step, space, made) if isinstance(step, kind) else made
        return wrong
    return planted


def strides_doubled(step: Any, space: Any, made: Any) -> Any:
    return tuple([Axis(axis.high, axis.low, of.times(axis.step, number(2)), axis.width) for axis in made])


def rounded_down(step: Any, space: Any, made: Any) -> Any:
    return (*made[:-2], Axis(combinators.quotient(space[-1].high, number(step.by))), made[-1])


def last_step_whole(axis: Axis) -> Axis:
    whole = of.times(combinators.quotient(axis.high, axis.step), axis.width)
    return Axis(of.plus(whole, combinators.rest(axis.high, axis.step)))


PLANTED = {
    "4.1: recovered by subtracting": ("back", replaced_index(maps.ShiftLB, lambda step, space, at, index: tuple(
        [of.minus(i, axis.low) for i, axis in zip(at, space)]))),
    "4.1: steps are doubled": ("forward", replaced_space(maps.ShiftLB, strides_doubled)),
    "listing 10: parts are rounded down": ("forward", replaced_space(maps.SplitLast, rounded_down)),
    "SplitLast without its guard": ("back", without_guards(maps.SplitLast)),
    "Split without its guard": ("back", without_guards(maps.Split)),
    "PadLast without its guard": ("back", without_guards(maps.PadLast)),
    "Mask without its guards": ("back", without_guards(maps.Mask)),
    "Permute the wrong way": ("back", replaced_index(maps.Permute, lambda step, space, at, index: tuple(
        [at[k] for k in step.order]))),
    "FoldLast2 divides by the outer length": ("back", replaced_index(maps.FoldLast2, lambda step, space, at, index: (
        *index[:-2], combinators.quotient(at[-1], combinators.most(space[-2].high, number(1))), index[-1]))),
    "CompressGrid loses the last steps": ("forward", replaced_space(maps.CompressGrid, lambda step, space, made: tuple([
        Axis(of.times(combinators.quotient(axis.high, axis.step), axis.width)) if flag and not axis.is_dense else new
        for flag, axis, new in zip(step.flags, space, made)]))),
    "CompressGrid recovers by multiplying, whatever the width": ("back", replaced_index(
        maps.CompressGrid, lambda step, space, at, index: tuple(
            [of.times(i, axis.step) if flag and not axis.is_dense else i
             for flag, axis, i in zip(step.flags, space, at)]))),
    "steps that are left have no guard": ("steps_left", lambda steps_left: lambda space, at: []),
    "6.3: PadLast's guard asks for the padded length": ("back", lambda back: lambda step, space, at, code: (
        at, combinators.below(at[-1], of.times(combinators.parts_of(space[-1].high, step.to), number(step.to))))
        if isinstance(step, maps.PadLast) else back(step, space, at, code)),
    "CompressGrid keeps all of the last step": ("forward", replaced_space(
        maps.CompressGrid, lambda step, space, made: tuple([last_step_whole(axis) if flag and not axis.is_dense else new
                                                            for flag, axis, new in zip(step.flags, space, made)]))),
}
# In what these are made of.
DEEPER: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "listing 10: the coordinate of another axis": ("joined", lambda joined: lambda axis, number, by, at, code: joined(
        axis, number, by, (*at[:number], at[number - 1], *at[number + 1:]), code)),
    "2.1: steps are counted from 0, whatever the lower bound": ("begins_at_0", lambda begins: lambda step, space: None),
    "FoldLast2 takes axes with steps": ("is_dense", lambda is_dense: lambda step, space: None if isinstance(
        step, maps.FoldLast2) else is_dense(step, space)),
    "no guards where sizes have names": ("divides", lambda divides: lambda by, length: not isinstance(
        length, ir.Const) or divides(by, length)),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_mistake_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = PLANTED[planted]
    monkeypatch.setattr(mapping_module, name, plant(getattr(mapping_module, name)))
    assert any(crashes_or_is_wrong(seed) for seed in range(400))


@pytest.mark.parametrize("planted", DEEPER)
def test_a_mistake_that_is_planted_deeper_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = DEEPER[planted]
    monkeypatch.setattr(combinators, name, plant(getattr(combinators, name)))
    assert any(crashes_or_is_wrong(seed) for seed in range(400))


def test_a_hull_without_its_guard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    space, mapping, sizes = parse_space("iv < [n, i0 + 1]"), maps.GridBlock(1, maps.Hull(maps.Gen())), {"n": 5}
    assert not mistake(mapped(mapping, space), space, sizes)
    monkeypatch.setattr(mapping_module, "back", without_guards(maps.Hull)(mapping_module.back))
    assert mistake(mapped(mapping, space), space, sizes)


def test_the_order_of_axes_is_found_by_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """With x the outermost, each index is walked once, too; but neighbours are not."""
    space, sizes = (Axis(ir.Var("n")), Axis(ir.Var("m"))), {"n": 3, "m": 7}
    mapping = maps.GridBlock(2, maps.Gen())
    assert launch_of(mapped(mapping, space), sizes)[1] == (7, 3, 1)
    order = mapping_module.places
    monkeypatch.setattr(mapping_module, "places", lambda levels: order(levels)[::-1])
    assert not mistake(mapped(mapping, space), space, sizes)
    assert launch_of(mapped(mapping, space), sizes)[1] == (3, 7, 1)


def crashes_or_is_wrong(seed: int) -> bool:
    try:
        return bool(found_mistake(seed))
    except (IndexError, ZeroDivisionError, Unmappable):
        return True
