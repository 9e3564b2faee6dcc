"""Numbers as Python has them: arithmetic of literal ints, comparisons of an int with a float, the least and greatest.

Python does not round an int to compare it. A float that differs from the rounded int differs from the int in the same
direction. Where they are equal, what the float has beyond the int's upper 32 bits is compared with the lower ones:
neither is rounded.
"""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence

from nessie.arrays.bodies.kinds import INT
from nessie.arrays.bodies.trees import Fresh, Made, binary, call, let, name, number
from nessie.base.source import Span
from nessie.syntax import nodes as syntax

TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
EXACT = 2 ** 53             # up to which every int is a float
MOST_INT = 2.0 ** 63
LOWER = 2 ** 32 - 1
INTS = range(-2 ** 63, 2 ** 63)
NEAR, MOST_BITS = range(-2 ** 128, 2 ** 128), 128
Operators = tuple[type[ast.operator | ast.unaryop], ...]
BY_BITS: Operators = (ast.Pow, ast.LShift, ast.RShift)
DIVISIONS: Operators = (ast.FloorDiv, ast.Mod)
OF_INTS: dict[type[ast.operator | ast.unaryop], Callable[..., int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}


def folded(node: ast.expr) -> int | None:
    """Return the int that an expression of literal ints gives in Python. None if it is no such expression, or gives
    another value or an error: that is left to the run. OverflowError if it has more than 64 bits."""
    found = exactly(node)
    if found is not None and found not in INTS:
        raise OverflowError
    return found


def exactly(node: ast.expr) -> int | None:
    """Return the int that an expression of literal ints gives. OverflowError where one is a long way beyond 64 bits."""
    kind: type[ast.operator | ast.unaryop]
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op, operand):
            kind, terms = type(op), [exactly(operand)]
        case ast.BinOp(left, operation, right):
            kind, terms = type(operation), [exactly(left), exactly(right)]
        case _:
            return None
    known = [term for term in terms if term is not None]
    if len(known) < len(terms) or kind not in OF_INTS:
        return None
    if (kind in BY_BITS and known[1] < 0) or (kind in DIVISIONS and known[1] == 0):
        return None
    if kind in BY_BITS and known[1] >= MOST_BITS and known[0] not in (-1, 0, 1):
        raise OverflowError
    found = OF_INTS[kind](*known)
    if found not in NEAR:
        raise OverflowError
    return found


def compared(op: str, a: Made, b: Made, fresh: Fresh, span: Span) -> syntax.Exp:
    """Return the comparison of an int with a float, or of a float with an int."""
    if a.kind != INT:
        return compared(TURNED.get(op, op), b, a, fresh, span)
    whole, given = constant(a.exp), constant(b.exp)
    if whole is not None and abs(whole) <= EXACT:
        return binary(op, number(float(whole)), b.exp, span)
    if given is not None and abs(given) < MOST_INT:
        is_whole = float(given).is_integer()
        return binary(op, *((a.exp, number(int(given))) if is_whole else (call("float", a.exp), b.exp)), span)
    i, f, low = fresh("i"), fresh("f"), fresh("low")
    near = call("float", name(i))
    upper = call("float", binary("-", name(i), name(low)))
    rest = binary(op, call("float", name(low)), binary("-", name(f), upper), span)
    exact = let([low], binary("and", name(i), number(LOWER)), rest)
    chosen = syntax.If(binary("==", near, name(f)), exact, binary(op, near, name(f), span), span=span)
    return let([i], a.exp, let([f], b.exp, chosen))


def constant(exp: syntax.Exp) -> float | None:
    """Return the number that the expression is, if it is a literal."""
    match exp:
        case syntax.Number(value=value):
            return value
        case syntax.Unary("-", syntax.Number(value=value)):
            return -value
    return None


def extreme(op: str, floats: Sequence[syntax.Exp], fresh: Fresh, span: Span) -> syntax.Exp:
    """Return what `max`, or `min`, gives of these floats: the first that no other is beyond, one after another. Nothing
    is beyond NaN, and NaN is beyond nothing."""
    result, *others = floats
    for other in others:
        best, x = fresh("best"), fresh("x")
        beyond = binary(">" if op == "max" else "<", name(x), name(best), span)
        result = let([best], result, let([x], other, syntax.If(beyond, name(x), name(best), span=span)))
    return result
