"""Linear forms of int expressions: multiples of *atoms*, and a number.

    2 * n - 1 - (i - r)        2*n - i + r - 1

An atom is an index, a scalar of the kernel, or an expression of these that is no sum, such as an element of an array of
offsets. Indices and sizes lie in 0 .. 2^48; of other atoms the interior asks it (lambda_cu.borders.ranges). Forms whose
multiples are small cannot leave int64 then, so a comparison of expressions is one of their forms.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir

MOST = 2 ** 48                  # of indices and sizes
MOST_MULTIPLES = 2 ** 10        # of atoms in a form, all together
INT_OPS = frozenset({"+", "-", "*", "/", "neg"})        # that an atom is made of


@dataclass(frozen=True)
class Form:
    terms: Mapping[ir.Exp, int]
    number: int = 0

    def multiple(self, atom: ir.Exp) -> int:
        return self.terms.get(atom, 0)

    def without(self, atom: ir.Exp) -> Form:
        return Form({other: c for other, c in self.terms.items() if other != atom}, self.number)


def atom(exp: ir.Exp) -> Form:
    return Form({exp: 1})


def number(value: int) -> Form:
    return Form({}, value)


def plus(a: Form, b: Form, times: int = 1) -> Form:
    """a + times * b"""
    terms = dict(a.terms)
    for exp, c in b.terms.items():
        terms[exp] = terms.get(exp, 0) + times * c
    return Form({exp: c for exp, c in terms.items() if c}, a.number + times * b.number)


def minus(a: Form, b: Form) -> Form:
    return plus(a, b, -1)


def moved(a: Form, by: int) -> Form:
    return Form(a.terms, a.number + by)


def scaled(a: Form, by: int) -> Form:
    return plus(number(0), a, by)


def combined(op: str, a: Form, b: Form, natural: Collection[ir.Exp]) -> Form | None:
    """The form of an operator's result, if it has one. `natural`: the atoms that are never negative."""
    match op:
        case "+":
            return plus(a, b)
        case "-":
            return minus(a, b)
        case "*" if not a.terms:
            return scaled(b, a.number)
        case "*" if not b.terms:
            return scaled(a, b.number)
        case "/" if not b.terms and b.number > 0:
            return quotient(a, b.number, natural)
    return None


def quotient(a: Form, divisor: int, natural: Collection[ir.Exp]) -> Form | None:
    """The form divided, rounded down, where it is not negative and all multiples divide."""
    whole = all(c > 0 and c % divisor == 0 and exp in natural for exp, c in a.terms.items())
    if not whole or a.number < 0 or not is_small(a):
        return None
    return Form({exp: c // divisor for exp, c in a.terms.items()}, a.number // divisor)


def is_small(a: Form) -> bool:
    """Does it stay in int64 where its atoms are no larger than sizes?"""
    return sum(map(abs, a.terms.values())) <= MOST_MULTIPLES and abs(a.number) <= MOST


def sign(a: Form, natural: Collection[ir.Exp]) -> bool | None:
    """True: it is not negative. False: it is. None: that depends."""
    if not a.terms.keys() <= set(natural):
        return None
    if a.number >= 0 and all(c > 0 for c in a.terms.values()):
        return True
    return False if a.number < 0 and all(c < 0 for c in a.terms.values()) else None


def expression(a: Form) -> ir.Exp:
    """The form as an expression: what is added comes first, the number last."""
    result: ir.Exp | None = None
    for exp, c in sorted(a.terms.items(), key=lambda term: term[1] < 0):
        product = exp if abs(c) == 1 else ir.Op("*", (ir.Const(abs(c), "int"), exp))
        if result is None:
            result = product if c > 0 else ir.Op("-", (ir.Const(a.number, "int"), product))
        else:
            result = ir.Op("+" if c > 0 else "-", (result, product))
    first = next(iter(sorted(a.terms.values(), key=lambda c: c < 0)), 0)
    if result is None:
        return ir.Const(a.number, "int")
    if a.number == 0 or first < 0:                  # the number came first where nothing is added
        return result
    return ir.Op("+" if a.number > 0 else "-", (result, ir.Const(abs(a.number), "int")))
