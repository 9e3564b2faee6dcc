"""What each combinator demands of a space, the space that it makes of it, and how an index is found again.

    demands     raises Unmappable, which says what to write instead
    forward     the space that is made: host code, under fresh names, so that no bound is overwritten (section 6.3)
    back        the index that an index of the made space comes from, and the guards under which there is one

Sections are those of Janssen and Scholz (lambda_cu.mappings.nodes). All numbers are at least 0 where they are divided.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Axis, Space, many
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.spaces.closed import INTS, ONE, ZERO, op
from nessie.lambda_cu.text.printer_expressions import show_exp

Index = tuple[ir.Exp, ...]
Back = tuple[Index, list[ir.Exp]]           # an index, and the guards under which there is one


class Unmappable(Exception):
    """A mapping that a space does not have. `part` is the combinator that says so, or its list that is wrong."""

    def __init__(self, part: object, message: str) -> None:
        super().__init__(message)
        self.part, self.message = part, message


class WrongRank(Unmappable):
    """A mapping of another number of axes than the space has."""


class TooLarge(Unmappable):
    """The mapping makes blocks that no launch has, of a space that it has come to walk."""


@dataclass
class Lets:
    """Straight-line code: names that are bound once, to what they stand for."""
    prefix: str
    bound: dict[str, ir.Exp]
    names: Names

    @staticmethod
    def of(prefix: str, names: Names) -> Lets:
        return Lets(prefix, {}, names)

    def let(self, hint: str, exp: ir.Exp) -> ir.Exp:
        """Return a name of the expression; what is a name or a number stays."""
        if isinstance(exp, ir.Var | ir.Const):
            return exp
        for name, known in self.bound.items():
            if known == exp:
                return ir.Var(name)
        name = self.names.fresh(f"{self.prefix}{hint}")
        self.bound[name] = exp
        return ir.Var(name)


# Expressions: what is known is computed ----------------------------------------------------------


def quotient(a: ir.Exp, b: ir.Exp) -> ir.Exp:
    match a, b:
        case ir.Const(int(x)), ir.Const(int(y)):
            return INTS.number(x // y)
    return a if b == ONE else ZERO if a == ZERO else op("/", a, b)


def rest(a: ir.Exp, b: ir.Exp) -> ir.Exp:
    match a, b:
        case ir.Const(int(x)), ir.Const(int(y)):
            return INTS.number(x % y)
    return ZERO if b == ONE or a == ZERO else op("rem", a, b)


def least(a: ir.Exp, b: ir.Exp) -> ir.Exp:
    match a, b:
        case ir.Const(int(x)), ir.Const(int(y)):
            return INTS.number(min(x, y))
    return a if a == b else op("min", a, b)


def most(a: ir.Exp, b: ir.Exp) -> ir.Exp:
    match a, b:
        case ir.Const(int(x)), ir.Const(int(y)):
            return INTS.number(max(x, y))
    return a if a == b else op("max", a, b)


def parts_of(length: ir.Exp, by: int) -> ir.Exp:
    """Return how many parts of `by` a length has, the last one perhaps shorter."""
    return quotient(INTS.plus(length, INTS.number(by - 1)), INTS.number(by))


def below(a: ir.Exp, b: ir.Exp) -> list[ir.Exp]:
    """Return the guard a < b; none where it always holds."""
    match a, b:
        case ir.Const(int(x)), ir.Const(int(y)):
            return [] if x < y else [ir.Const(False, "bool")]
    return [op("<", a, b)]


def divides(by: int, length: ir.Exp) -> bool:
    """Does the number surely divide the length?"""
    return isinstance(length, ir.Const) and int(length.value) % by == 0


def simplified(exp: ir.Exp) -> ir.Exp:
    """Return the expression with what is known computed."""
    match exp:
        case ir.Op(name, (a, b)) if name in KNOWN:
            return KNOWN[name](simplified(a), simplified(b))
        case ir.If(ir.Op(">=", (a, b)), then, orelse):         # as sums and products, which plans of launches have
            holds = least(most(INTS.plus(INTS.minus(simplified(a), simplified(b)), ONE), ZERO), ONE)
            one, other = simplified(then), simplified(orelse)
            return INTS.plus(other, INTS.times(INTS.minus(one, other), holds))
    return exp


KNOWN: dict[str, Callable[[ir.Exp, ir.Exp], ir.Exp]] = {
    "+": INTS.plus, "-": INTS.minus, "*": INTS.times, "/": quotient, "rem": rest, "min": least, "max": most}


# Demands ----------------------------------------------------------------------------------------


def demands(step: maps.Combinator | maps.Top, space: Space) -> None:
    """Raise Unmappable where the space is none that the combinator takes."""
    rank, called = len(space), type(step).__name__
    if isinstance(step, maps.CompressGrid):
        if len(step.flags) != rank:
            raise WrongRank(step.flags, f"CompressGrid has {many(len(step.flags), 'flag')}, and here {are(rank)} "
                                        f"{'axis' if rank == 1 else 'axes'}")
        if not set(step.flags) <= {0, 1}:
            raise Unmappable(step.flags, "CompressGrid's flags are 0 and 1")
    if isinstance(step, maps.FoldLast2) and rank < 2:
        raise WrongRank(step, f"FoldLast2 folds two axes, and here is {rank}: leave it out")
    if isinstance(step, maps.SplitLast | maps.Split) and step.by < 1:
        raise Unmappable(step, f"{called} makes parts of at least 1 element, not of {step.by}")
    if isinstance(step, maps.Split) and not 0 <= step.axis < rank:
        raise WrongRank(step, f"there is no axis {step.axis}: here are {rank}, from 0 on")
    if isinstance(step, maps.PadLast) and step.to < 1:
        raise Unmappable(step, f"PadLast pads to a multiple of at least 1, not of {step.to}")
    if isinstance(step, maps.Permute):
        count, order = len(step.order), f"[{', '.join(map(str, step.order))}]"
        if sorted(step.order) != list(range(count)):
            meant = Unmappable if rank == max(count, max(step.order, default=0) + 1) else WrongRank
            raise meant(step.order, f"{order} is no order of {'1 axis' if rank == 1 else f'{rank} axes'}: it has "
                                    f"{'0' if rank == 1 else f'each of 0 to {rank - 1}'} once, as "
                                    f"{[*range(rank)][::-1]} has")
        if count != rank:
            raise WrongRank(step.order, f"{order} is an order of {count} axes, and here {are(rank)}")
    if not isinstance(step, maps.ShiftLB | maps.Permute):
        begins_at_0(step, space[-1:] if isinstance(step, maps.PadLast) else space)
    if isinstance(step, maps.FoldLast2 | maps.SplitLast | maps.Split):
        is_dense(step, space)
    if not isinstance(step, maps.ShiftLB | maps.Mask | maps.Hull):
        is_independent(step, space)


def are(rank: int) -> str:
    return f"are {rank}" if rank != 1 else "is 1"


def begins_at_0(step: object, space: Space) -> None:
    for axis in space:
        if axis.low != ZERO:
            raise Unmappable(step, f"{type(step).__name__} takes axes that begin at 0, and one begins at "
                                   f"{show_exp(axis.low)}: ShiftLB first")


def is_dense(step: object, space: Space) -> None:
    for axis in space:
        if not axis.is_dense:
            raise Unmappable(step, f"{type(step).__name__} takes axes without steps, and one has "
                                   f"{show_exp(axis.width)} of every {show_exp(axis.step)}: CompressGrid or Mask first")


def is_independent(step: object, space: Space) -> None:
    for number, axis in enumerate(space):
        if axis.depends:
            raise Unmappable(step, f"{type(step).__name__} takes axes of one length, and axis {number} has "
                                   f"{show_exp(axis.high)}: Hull first")


# Forward ----------------------------------------------------------------------------------------


def forward(step: maps.Combinator, space: Space, host: Lets) -> Space:
    """Return the space that the combinator makes, and let the host compute its bounds."""
    match step:
        case maps.ShiftLB():
            return tuple([Axis(shifted(axis) if axis.depends else host.let("length", shifted(axis)), ZERO, axis.step,
                               axis.width) for axis in space])
        case maps.CompressGrid(flags):
            return tuple([Axis(host.let("length", counted(axis))) if flag and not axis.is_dense else axis
                          for flag, axis in zip(flags, space)])
        case maps.Mask():
            return tuple([Axis(axis.high) for axis in space])
        case maps.FoldLast2():
            return (*space[:-2], Axis(host.let("length", INTS.times(space[-2].high, space[-1].high))))
        case maps.SplitLast(by):
            return (*space[:-1], Axis(host.let("parts", parts_of(space[-1].high, by))), Axis(INTS.number(by)))
        case maps.Split(number, by):
            axis = space[number]
            return (*space[:number], Axis(host.let("parts", parts_of(axis.high, by))), Axis(INTS.number(by)),
                    *space[number + 1:])
        case maps.PadLast(to):
            axis = space[-1]
            padded = host.let("padded", INTS.times(parts_of(axis.high, to), INTS.number(to)))
            return (*space[:-1], Axis(padded, ZERO, axis.step, axis.width))
        case maps.Permute(order):
            return tuple([space[axis] for axis in order])
        case maps.Hull():
            return hull(step, space, host)
    raise TypeError(step)


def shifted(axis: Axis) -> ir.Exp:
    """The length from the lower bound on, 0 where the upper is below it."""
    return axis.high if axis.low == ZERO else most(INTS.minus(axis.high, axis.low), ZERO)


def counted(axis: Axis) -> ir.Exp:
    """How many indices the steps and widths leave (section 4.2)."""
    whole = INTS.times(quotient(axis.high, axis.step), axis.width)
    return INTS.plus(whole, least(rest(axis.high, axis.step), axis.width))


def hull(step: maps.Hull, space: Space, host: Lets) -> Space:
    """Each axis as long as its longest, or longer where its length is the least or the greatest of several."""
    made: list[Axis] = []
    for axis in space:
        high = axis.high
        for number in reversed(range(len(made))):
            outer = f"i{number}"
            if outer in free_names(high):
                bound = extreme(high, outer, INTS.minus(made[number].high, ONE), most)
                if bound is None:
                    raise Unmappable(step, f"Hull takes lengths that are straight lines, or the least or greatest of "
                                           f"several, and axis {len(made)} has {show_exp(axis.high)}")
                high = simplified(bound)
        made.append(Axis(host.let("longest", high if high == axis.high else most(high, ZERO)), ZERO, axis.step,
                         axis.width))
    return tuple(made)


def extreme(exp: ir.Exp, outer: str, last: ir.Exp, which: Callable[[ir.Exp, ir.Exp], ir.Exp]) -> ir.Exp | None:
    """What the expression is at most, or at least, where the outer index goes from 0 to the last. A line is so at an
    end of the axis outside or, where it has cases, at an end of one of them. None: it is no line, and not made of some.
    """
    if is_line(exp, outer):
        ends = (ZERO, last, *[least(most(place, ZERO), last) for place in cases(exp, outer)])
        return reduce(which, [simplified(substitute(exp, {outer: end})) for end in ends])
    match exp:
        case ir.Op("+" | "-" | "min" | "max" as name, (a, b)):
            other = which if name != "-" else least if which is most else most
            one, two = extreme(a, outer, last, which), extreme(b, outer, last, other)
            return None if one is None or two is None else ir.Op(name, (one, two))
    return None


def is_line(exp: ir.Exp, outer: str) -> bool:
    """Does the expression rise or fall by the same from each index to the next, in each of its cases?"""
    if outer not in free_names(exp):
        return True
    match exp:
        case ir.Var():
            return True
        case ir.Op("+" | "-", (a, b)):
            return is_line(a, outer) and is_line(b, outer)
        case ir.Op("*", (a, b)):
            return is_line(a, outer) and is_line(b, outer) and (
                outer not in free_names(a) or outer not in free_names(b))
        case ir.If(_, then, orelse):
            return is_line(then, outer) and is_line(orelse, outer)
    return False


def cases(exp: ir.Exp, outer: str) -> list[ir.Exp]:
    """The indices at which a case of the expression begins, or the one before it ends."""
    return [at for part in subexpressions(exp) if isinstance(part, ir.If)
            for at in ends_of(part.condition, outer)]


def ends_of(condition: ir.Exp, outer: str) -> list[ir.Exp]:
    match condition:
        case ir.Op(">=", (ir.Var(name), place)) if name == outer:
            return [place, INTS.minus(place, ONE)]
    return []


# Back -------------------------------------------------------------------------------------------


def back(step: maps.Combinator, space: Space, at: Index, code: Lets) -> Back:
    """Return the index of `space`, of which the combinator has made the space that `at` is of."""
    match step:
        case maps.ShiftLB():
            return tuple([code.let("i", INTS.plus(i, axis.low)) for i, axis in zip(at, space)]), []
        case maps.CompressGrid(flags):
            return tuple([code.let("i", uncompressed(axis, i)) if flag and not axis.is_dense else i
                          for flag, axis, i in zip(flags, space, at)]), []
        case maps.Mask():
            return at, steps_left(space, at)
        case maps.FoldLast2():
            length = space[-1].high
            row = code.let("i", quotient(at[-1], length))
            return (*at[:-1], row, code.let("i", INTS.minus(at[-1], INTS.times(row, length)))), []
        case maps.SplitLast(by):
            return joined(space[-1], len(space) - 1, by, at, code)
        case maps.Split(number, by):
            return joined(space[number], number, by, at, code)
        case maps.PadLast(to):
            return at, [] if divides(to, space[-1].high) else below(at[-1], space[-1].high)
        case maps.Permute(order):
            return tuple([at[order.index(axis)] for axis in range(len(space))]), []
        case maps.Hull():
            return at, own_lengths(space, at)
    raise TypeError(step)


def uncompressed(axis: Axis, i: ir.Exp) -> ir.Exp:
    """The index that the i-th of those that are left is (section 4.2)."""
    if axis.width == ONE:
        return INTS.times(i, axis.step)
    return INTS.plus(INTS.times(quotient(i, axis.width), axis.step), rest(i, axis.width))


def steps_left(space: Space, at: Index) -> list[ir.Exp]:
    return [guard for axis, i in zip(space, at) if not axis.is_dense for guard in below(rest(i, axis.step), axis.width)]


def joined(axis: Axis, number: int, by: int, at: Index, code: Lets) -> Back:
    """An axis that was split: the part's number and the place in it."""
    i = code.let("i", INTS.plus(INTS.times(at[number], INTS.number(by)), at[number + 1]))
    guards = [] if divides(by, axis.high) else below(i, axis.high)
    return (*at[:number], i, *at[number + 2:]), guards


def own_lengths(space: Space, at: Index) -> list[ir.Exp]:
    """An index is less than the length that its axis has where it is."""
    outer = {f"i{number}": i for number, i in enumerate(at)}
    return [guard for axis, i in zip(space, at) if axis.depends
            for guard in below(i, substitute(axis.high, {name: exp for name, exp in outer.items()
                                                         if name in free_names(axis.high)}))]


def chain(mapping: maps.Top) -> Sequence[maps.Combinator]:
    """Return the combinators of a mapping, the innermost first."""
    found: list[maps.Combinator] = []
    inner: maps.Inner = mapping.of
    while not isinstance(inner, maps.Gen):
        found.append(inner)
        inner = inner.of
    return found[::-1]

