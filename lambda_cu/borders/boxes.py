"""Cuts of a space by tests of its indices. What is cut are boxes: a range of each axis, or steps of one.

    i >= 1                    indices before 1, and those from 1 on
    rem(i - 1, 3) < 2         of each 3 indices from 1 on the first 2, and the others

A cut leaves boxes that have each index of the box once, by construction: an index is before a place or not, and its
distance from a base is, modulo a step, in a range or not. Ranges have several lower and upper bounds, of which the
greatest and the least count. What is surely empty, whatever the sizes are, is left out.
"""
from __future__ import annotations

from collections.abc import Collection

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.forms import Form, minus, moved, number, sign


@dataclass(frozen=True)
class Side:
    """A box's indices on one axis: from all `lows` on and before all `highs`, of each `step` the first `width`. One
    that has steps has one lower bound at most; it is 0 where there is none."""
    lows: tuple[Form, ...] = ()
    highs: tuple[Form, ...] = ()
    step: int = 1
    width: int = 1


Box = tuple[Side, ...]
Cut = tuple[list[Box], list[Box]]               # where a test holds, and where it does not


@dataclass(frozen=True)
class Place:
    """Is the index of the axis before the place, or, if it `begins` there, from it on?"""
    axis: int
    at: Form
    begins: bool


@dataclass(frozen=True)
class Cycle:
    """Is the distance of the axis's index from `base`, which is before it, modulo `step` one of `width` numbers from
    `first` on, where 0 follows the last?"""
    axis: int
    base: Form
    step: int
    first: int
    width: int


Test = Place | Cycle


@dataclass(frozen=True)
class Frame:
    """The space that is cut: how long its axes are, and which atoms are never negative."""
    extents: tuple[Form, ...]
    natural: Collection[ir.Exp]

    @property
    def whole(self) -> Box:
        return (Side(),) * len(self.extents)

    def surely(self, less: Form, more: Form) -> bool:
        """Is the one never more than the other?"""
        return sign(minus(more, less), self.natural) is True

    def cut(self, box: Box, tests: list[Test]) -> Cut | None:
        """Cut the box by tests of which all hold or not. None: what is left would be no boxes."""
        inside, outside = [box], []
        for test in tests:
            found = [self.at_place(box, test) if isinstance(test, Place) else self.in_cycles(box, test)
                     for box in inside]
            inside = []
            for cut in found:
                if cut is None:
                    return None
                inside += cut[0]
                outside += cut[1]
        return inside, outside

    def at_place(self, box: Box, test: Place) -> Cut | None:
        side, extent = box[test.axis], self.extents[test.axis]
        if any([self.surely(test.at, low) for low in (number(0), *side.lows)]):
            before, behind = [], [box]
        elif any([self.surely(high, test.at) for high in (extent, *side.highs)]):
            before, behind = [box], []
        else:
            shorter = Side(side.lows, self.highs(side, test.at), side.step, side.width)
            rest = self.from_place(side, test.at)
            if rest is None:
                return None
            before, behind = self.boxes(box, test.axis, [shorter]), self.boxes(box, test.axis, rest)
        return (behind, before) if test.begins else (before, behind)

    def from_place(self, side: Side, at: Form) -> list[Side] | None:
        """The side's indices from the place on."""
        if side.step == 1:
            lows = [low for low in side.lows if not self.surely(low, at)]
            return [Side((*lows, at), side.highs)]
        start = self.start(side)
        apart = None if start is None else known(minus(at, start))
        return None if apart is None else self.stepped(side, at, apart % side.step, side.step, side.width)

    def in_cycles(self, box: Box, test: Cycle) -> Cut | None:
        """The box has no steps on the axis, and begins at a known distance from the test's base."""
        side = box[test.axis]
        start = self.start(side)
        apart = None if start is None else known(minus(start, test.base))
        if start is None or apart is None or apart < 0 or side.step != 1:
            return None
        at = (apart - test.first) % test.step
        inside = self.stepped(side, start, at, test.step, test.width)
        outside = self.stepped(side, start, (at - test.width) % test.step, test.step, test.step - test.width)
        return self.boxes(box, test.axis, inside), self.boxes(box, test.axis, outside)

    def stepped(self, side: Side, start: Form, at: int, step: int, width: int) -> list[Side]:
        """Of the side from `start` on, which is number `at` of its step, the first `width` indices of each."""
        if width in (0, step):
            return [Side((start,), side.highs)] if width else []
        following = moved(start, (step - at) % step)
        rest = Side((following,), side.highs, step, width)
        if not 0 < at < width:
            return [rest]
        return [Side((start,), self.highs(side, moved(start, width - at)), step, width - at), rest]

    def start(self, side: Side) -> Form | None:
        """Where the side surely begins."""
        if not side.lows:
            return number(0)
        (low, *more) = side.lows
        return low if not more and self.surely(number(0), low) else None

    def highs(self, side: Side, at: Form) -> tuple[Form, ...]:
        """The side's upper bounds, and another that is not surely beyond one of them."""
        return (*[high for high in side.highs if not self.surely(at, high)], at)

    def boxes(self, box: Box, axis: int, sides: list[Side]) -> list[Box]:
        """The box with each of these sides on an axis, where it is not surely empty."""
        return [(*box[:axis], side, *box[axis + 1:]) for side in sides if not any(
            [self.surely(high, low) for low in (number(0), *side.lows)
             for high in (self.extents[axis], *side.highs)])]


def known(form: Form) -> int | None:
    """The number that the form is, if it is one."""
    return None if form.terms else form.number
