"""The spaces that mappings begin with, and how they are written.

    [1, 0] <= iv < [n, m] step [2, 1] width [1, 1]          iv < [n, i0 + 1]

An index of an axis is at least `low` and less than `high`, and its distance from `low` is, modulo `step`, less than
`width`. A bound is an expression of sizes; in that of an axis, `i0`, `i1`, ... are the indices of the axes outside it.
"""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import prod

from nessie.base.ints import MAX_INT
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.text.tokens import Tokens
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISONS
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.spaces.closed import INTS, ONE, ZERO
from nessie.lambda_cu.text.parser_expressions import expression
from nessie.lambda_cu.text.printer_expressions import show_exp

OUTER = re.compile(r"i\d+\Z")
OF_THREADS = re.compile(r"(blockIdx|threadIdx)_[xyz]\Z|loop_\d+\Z")


@dataclass(frozen=True)
class Axis:
    """Indices from `low` on and before `high`, of each `step` the first `width`."""
    high: ir.Exp
    low: ir.Exp = ZERO
    step: ir.Exp = ONE
    width: ir.Exp = ONE

    @property
    def is_dense(self) -> bool:
        """Does it have all indices between its bounds?"""
        return self.step in (ONE, self.width)

    @property
    def depends(self) -> bool:
        """Does its length depend on axes outside?"""
        return any([OUTER.match(name) for name in free_names(self.high)])


Space = tuple[Axis, ...]


def flat(sizes: Sequence[ir.Size]) -> Space:
    """Return the space of these lengths."""
    return tuple([Axis(INTS.size(size)) for size in sizes])


def indices(space: Space, sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of a space in order, for these sizes: what a mapping must walk, each once."""
    def inner(axis: int, outer: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if axis == len(space):
            yield outer
            return
        known = {**sizes, **{f"i{k}": i for k, i in enumerate(outer)}}
        low, high, step, width = [value(exp, known) for exp in (
            space[axis].low, space[axis].high, space[axis].step, space[axis].width)]
        for i in range(low, high):
            if (i - low) % step < width:
                yield from inner(axis + 1, (*outer, i))
    return inner(0, ())


def value(exp: ir.Exp, known: Mapping[str, int]) -> int:
    """Return the value of an expression of sizes and indices; / rounds down."""
    match exp:
        case ir.Const(int(found)):
            return int(found)
        case ir.Var(name):
            return known[name]
        case ir.Op(op, (a, b)):
            return MEANINGS[op](value(a, known), value(b, known))
        case ir.If(condition, then, orelse):
            return value(then, known) if value(condition, known) else value(orelse, known)
    raise TypeError(exp)


MEANINGS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "rem": operator.mod, "min": min,
    "max": max, "and": lambda a, b: a and b, **COMPARISONS}


def substitute_all(space: Space, names: Mapping[str, ir.Exp]) -> Space:
    """The space with expressions in place of names."""
    return tuple([Axis(*[substitute(exp, names) for exp in (axis.high, axis.low, axis.step, axis.width)])
                  for axis in space])


# Text -------------------------------------------------------------------------------------------


def show_space(space: Space) -> str:
    parts = [f"iv < {shown(axis.high for axis in space)}"]
    if any([axis.low != ZERO for axis in space]):
        parts[0] = f"{shown(axis.low for axis in space)} <= {parts[0]}"
    if any([axis.step != ONE for axis in space]):
        parts.append(f"step {shown(axis.step for axis in space)}")
    if any([axis.width != ONE for axis in space]):
        parts.append(f"width {shown(axis.width for axis in space)}")
    return " ".join(parts)


def shown(exps: Iterator[ir.Exp]) -> str:
    return f"[{', '.join(map(show_exp, exps))}]"


def parse_space(text: str | Source) -> Space:
    """Return the space; raise NessieError, with the word underlined, where there is none."""
    tokens = Tokens(text)
    lows = vector(tokens) if tokens.at("[") else ()
    if lows:
        tokens.expect("<=")
    tokens.expect("iv", LOOKS)
    tokens.expect("<")
    highs = vector(tokens)
    steps = vector(tokens) if tokens.accept("step") else ()
    widths = vector(tokens) if tokens.accept("width") else ()
    tokens.finish()
    for what, found in (("lower bound", lows), ("step", steps), ("width", widths)):
        if found and len(found) != len(highs):
            raise NessieError(f"there {'is' if len(highs) == 1 else 'are'} {many(len(highs), 'upper bound')} "
                               f"and {many(len(found), what)}", (joined(found), ""), (joined(highs), ""))
    if widths and not steps:
        raise NessieError("widths are of steps: step [2] width [1]", (joined(widths), ""))
    space = tuple([Axis(high, *[bounds[k][0] if bounds else usual for bounds, usual in (
        (lows, ZERO), (steps, ONE), (widths, ONE))]) for k, (high, _) in enumerate(highs)])
    for k, axis in enumerate(space):
        match axis.step, axis.width:
            case ir.Const(int(step)), ir.Const(int(width)) if not 1 <= width <= step:
                raise NessieError(f"a step is at least 1, and a width from 1 to the step, not {step} and {width}",
                                  *[(bounds[k][1], "") for bounds in (widths, steps) if bounds])
    known = [int(axis.high.value) for axis in space if isinstance(axis.high, ir.Const)]
    if prod([max(length, 1) for length in known]) > MAX_INT:
        raise NessieError(f"the space has more than {MAX_INT:,} indices", (joined(highs), ""))
    return space


LOOKS = "[0, 0] <= iv < [n, m] step [2, 1] width [1, 1]"
Bound = tuple[ir.Exp, Span]         # with its place


def vector(tokens: Tokens) -> tuple[Bound, ...]:
    tokens.expect("[", LOOKS)
    axis = count()
    return tokens.several(lambda: bound(tokens, next(axis)), "]")


def bound(tokens: Tokens, axis: int) -> Bound:
    """Read what is a bound, a step or a width of an axis."""
    start, first = tokens.current, tokens.position
    exp = expression(tokens)
    for token in tokens.tokens[first:tokens.position]:
        if token.kind == "int" and token.value > MAX_INT:
            tokens.fail(f"a number is at most {MAX_INT:,}", token)
        if token.kind in ("name", "quoted") and OUTER.match(token.value) and token.value not in outside(axis):
            outer = " and ".join(outside(axis))
            tokens.fail(f"axis {axis} may only mention {outer}" if outer else f"axis {axis} is outermost, and may "
                        "mention no index", token)
        if token.kind in ("name", "quoted") and OF_THREADS.match(token.value):
            tokens.fail(f"{token.value} is a thread's own: call the size otherwise", token)
    place = tokens.span(start)
    if isinstance(exp, ir.Const) and exp.type != "int":
        raise NessieError(f"a space has ints, not {show_exp(exp)}", (place, ""))
    if not computed(exp):
        raise NessieError("a bound is computed of sizes by + - * / rem min max, and by conditionals", (place, ""))
    return exp, place


def outside(axis: int) -> list[str]:
    """The indices of the axes outside this one."""
    return [f"i{outer}" for outer in range(axis)]


def computed(exp: ir.Exp) -> bool:
    """Can `value` say what it comes to?"""
    match exp:
        case ir.Const() | ir.Var():
            return True
        case ir.Op(op, (a, b)):
            return op in MEANINGS and computed(a) and computed(b)
        case ir.If(condition, then, orelse):
            return computed(condition) and computed(then) and computed(orelse)
    return False


def many(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def joined(bounds: Sequence[Bound]) -> Span:
    return Span(bounds[0][1].source, bounds[0][1].start, bounds[-1][1].end)
