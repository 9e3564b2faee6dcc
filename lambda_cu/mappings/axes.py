"""The spaces that mappings begin with, and how they are written.

    [1, 0] <= iv < [n, m] step [2, 1] width [1, 1]          iv < [n, i0 + 1]

An index of an axis is at least `low` and less than `high`, and its distance from `low` is, modulo `step`, less than
`width`. A bound is an expression of sizes; in that of an axis, `i0`, `i1`, ... are the indices of the axes outside it.
"""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from nessie.base.records import dataclass
from nessie.base.source import Source
from nessie.base.text.tokens import Tokens
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISONS
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.spaces.closed import INTS, ONE, ZERO
from nessie.lambda_cu.text.parser_expressions import expression
from nessie.lambda_cu.text.printer_expressions import show_exp

OUTER = re.compile(r"i\d+\Z")


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
    tokens.expect("iv", "[0, 0] <= iv < [n, m] step [2, 1] width [1, 1]")
    tokens.expect("<")
    start = tokens.current
    highs = vector(tokens)
    count = len(highs)
    steps = vector(tokens) if tokens.accept("step") else ()
    widths = vector(tokens) if tokens.accept("width") else ()
    tokens.finish()
    for what, found in (("lower bounds", lows), ("steps", steps), ("widths", widths)):
        if found and len(found) != count:
            tokens.fail(f"there are {count} upper bounds and {len(found)} {what}", start)
    if widths and not steps:
        tokens.fail("widths are of steps: step [2] width [1]", start)
    for exp in (*highs, *lows, *steps, *widths):
        if isinstance(exp, ir.Const) and exp.type != "int":
            tokens.fail(f"a space has ints, not {show_exp(exp)}", start)
    space = tuple([Axis(highs[k], lows[k] if lows else ZERO, steps[k] if steps else ONE, widths[k] if widths else ONE)
                   for k in range(count)])
    for axis in space:
        match axis.step, axis.width:
            case ir.Const(int(step)), ir.Const(int(width)) if not 1 <= width <= step:
                tokens.fail(f"a step is at least 1, and a width from 1 to the step, not {step} and {width}", start)
    return space


def vector(tokens: Tokens) -> tuple[ir.Exp, ...]:
    tokens.expect("[")
    return tokens.several(lambda: expression(tokens), "]")
