"""What primitives cost at most, and what is known of their values: a function for each, by name.

A function takes what is known of the argument, and gives what is known of the value, the work and the depth, as
nessie.interpreter.meanings has them exactly. What is not in the table has no bounds.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.bounds.formulas import ONE, ZERO, Bound, greatest, least, number, plus, times
from nessie.bounds.values import NOTHING, SCALAR, UNKNOWN, Both, Known, Number, Rows, all_of, blurred, joined, levels

Cost = tuple[Known, Bound, Bound]
FIRST_CHARACTERS = 0x10FFFF


def at_least_one(bound: Bound) -> Bound:
    return greatest(ONE, bound)


def two(argument: Known) -> tuple[Known, Known]:
    return (argument.first, argument.second) if isinstance(argument, Both) else (UNKNOWN, UNKNOWN)


def length(known: Known) -> Bound:
    return known.length if isinstance(known, Rows) else ZERO if known == NOTHING else None


def element(known: Known) -> Known:
    return known.element if isinstance(known, Rows) else known if known == NOTHING else UNKNOWN


def above(known: Known) -> Bound:
    return known.above if isinstance(known, Number) else None


# Scalars ----------------------------------------------------------------------------------------


def scalar(meaning: Callable[[Number, Number], Number]) -> Callable[[Known], Cost]:
    """An operator on two numbers; on floats it gives one."""
    def cost(argument: Known) -> Cost:
        a, b = two(argument)
        if isinstance(a, Number) and isinstance(b, Number):
            return meaning(a, b), ONE, ONE
        return SCALAR if SCALAR in (a, b) else UNKNOWN, ONE, ONE
    return cost


def of_one(meaning: Callable[[Number], Number]) -> Callable[[Known], Cost]:
    def cost(argument: Known) -> Cost:
        return meaning(argument) if isinstance(argument, Number) else argument, ONE, ONE
    return cost


def product_of(a: Number, b: Number) -> Number:
    return Number(plus(times(a.above, b.above), times(a.below, b.below)),
                  plus(times(a.above, b.below), times(a.below, b.above)))


def quotient(a: Number, b: Number) -> Number:
    """No larger than the dividend, whose sign it has where the divisor has none."""
    return a if b.below == ZERO else Number(greatest(a.above, a.below), greatest(a.above, a.below))


def remainder(a: Number, b: Number) -> Number:
    """Of the dividend's sign, and smaller than the divisor."""
    divisor = greatest(b.above, b.below)
    return Number(least(a.above, divisor), least(a.below, divisor))


def modulus(a: Number, b: Number) -> Number:
    """Smaller than the divisor, however small the dividend is: mod(-1, n) is n - 1."""
    divisor = greatest(b.above, b.below)
    return Number(divisor, divisor)


def larger(a: Number, b: Number) -> Number:
    return Number(greatest(a.above, b.above), least(a.below, b.below))


def smaller(a: Number, b: Number) -> Number:
    return Number(least(a.above, b.above), greatest(a.below, b.below))


def gives(known: Known) -> Callable[[Known], Cost]:
    return lambda _: (known, ONE, ONE)


def blank(argument: Known) -> Cost:
    """Anything of the argument's form: what bits make, for example."""
    return blurred(argument.first if isinstance(argument, Both) else argument), ONE, ONE


# Sequences --------------------------------------------------------------------------------------


def dist(argument: Known) -> Cost:
    a, n = two(argument)
    return Rows(above(n), a), at_least_one(above(n)), ONE


def iseq(argument: Known) -> Cost:
    """The ints from the start on, before the end."""
    start, rest = two(argument)
    end = two(rest)[1]
    if not (isinstance(start, Number) and isinstance(end, Number)):
        return Rows(None, Number()), None, ONE
    made = plus(end.above, start.below)
    return Rows(made, Number(end.above, start.below)), at_least_one(made), ONE


def get(argument: Known) -> Cost:
    v, indices = two(argument)
    return Rows(length(indices), element(v)), at_least_one(length(indices)), ONE


def written(combine: Callable[[Known, Known, Bound], Known]) -> Callable[[Known], Cost]:
    """A write; `combine` says what an element can be by what was there, what is written, and how often that is."""
    def cost(argument: Known) -> Cost:
        v, pairs = two(argument)
        new = NOTHING if element(pairs) == NOTHING else two(element(pairs))[1]
        made = combine(element(v), new, length(pairs))
        return Rows(length(v), made), at_least_one(plus(length(v), length(pairs))), ONE
    return cost


def added(there: Known, new: Known, often: Bound) -> Known:
    """All may be added up in one place."""
    if isinstance(there, Number) and isinstance(new, Number):
        return Number(plus(there.above, times(often, new.above)), plus(there.below, times(often, new.below)))
    return joined(there, new)


def append(argument: Known) -> Cost:
    a, b = two(argument)
    made = plus(length(a), length(b))
    return Rows(made, joined(element(a), element(b))), at_least_one(made), ONE


def flatten(argument: Known) -> Cost:
    made = times(length(argument), length(element(argument)))
    return Rows(made, element(element(argument))), at_least_one(plus(length(argument), made)), ONE


def partition(argument: Known) -> Cost:
    v, lengths = two(argument)
    row = least(above(element(lengths)), length(v))
    return (Rows(length(lengths), Rows(row, element(v))), at_least_one(plus(length(v), length(lengths))), ONE)


def subseq(argument: Known) -> Cost:
    v, rest = two(argument)
    made = least(length(v), above(two(rest)[1]))
    return Rows(made, element(v)), at_least_one(made), ONE


def reduced(meaning: Callable[[Known, Bound], Known]) -> Callable[[Known], Cost]:
    """A reduction; `meaning` says what it can be by an element, and how many there are."""
    return lambda v: (meaning(element(v), length(v)), at_least_one(length(v)), ONE)


def scanned(meaning: Callable[[Known, Bound], Known]) -> Callable[[Known], Cost]:
    return lambda v: (Rows(length(v), meaning(element(v), length(v))), at_least_one(length(v)), ONE)


def summed(part: Known, many: Bound) -> Known:
    return Number(times(many, part.above), times(many, part.below)) if isinstance(part, Number) else part


def maximum(part: Known, many: Bound) -> Known:
    """Of nothing it is the least int."""
    return Number(part.above) if isinstance(part, Number) else part


def minimum(part: Known, many: Bound) -> Known:
    return Number(None, part.below) if isinstance(part, Number) else part


def any_number(part: Known, many: Bound) -> Known:
    return blurred(part)


def positions(v: Known) -> Cost:
    return Rows(length(v), Number(length(v), ZERO)), at_least_one(length(v)), ONE


def labelled(v: Known) -> Cost:
    """Labels are positions, or numbers from 0 on; they take what no formula here says."""
    return Rows(length(v), Number(length(v), ZERO)), None, None


def equal(argument: Known) -> Cost:
    deep = levels(argument)
    return SCALAR, all_of(argument), None if deep is None else number(deep + 1)


def of_number(value: Number) -> Callable[[Known], Cost]:
    return lambda a: (value if isinstance(a, Number) else a, ONE, ONE)


def as_other(argument: Known) -> Cost:
    """int_to_any(n, x): n as a number of the type of x."""
    n, x = two(argument)
    return n if isinstance(x, Number) else x, ONE, ONE


def random(n: Known) -> Cost:
    return n, ONE, ONE


TABLE: dict[str, Callable[[Known], Cost]] = {
    "+": scalar(lambda a, b: Number(plus(a.above, b.above), plus(a.below, b.below))),
    "-": scalar(lambda a, b: Number(plus(a.above, b.below), plus(a.below, b.above))),
    "*": scalar(product_of), "/": scalar(quotient), "rem": scalar(remainder), "mod": scalar(modulus),
    "max": scalar(larger), "min": scalar(smaller),
    "negate": of_one(lambda a: Number(a.below, a.above)),
    "abs": of_one(lambda a: Number(greatest(a.above, a.below), ZERO)),
    "rshift": scalar(lambda a, b: Number(a.above, a.below)),
    **dict.fromkeys(("==", "/=", "<", "<=", ">", ">=", "_isnan"), gives(SCALAR)),
    **dict.fromkeys(("and", "or", "xor", "not"), blank), "lshift": gives(Number()),
    "btoi": gives(Number(ONE, ZERO)), "char_code": gives(Number(number(FIRST_CHARACTERS), ZERO)),
    "float": gives(SCALAR), "float_num": gives(SCALAR), "code_char": gives(SCALAR),
    **dict.fromkeys(("trunc", "floor", "ceil", "round", "_precision", "_bits", "_digits"), gives(Number())),
    **dict.fromkeys(("sqrt", "ln", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "_cbrt",
                     "_exp2", "_log2", "_log10", "_pow", "_fmod", "_atan2", "_hypot", "_copysign"), gives(SCALAR)),
    "one": of_number(Number(ONE, ZERO)), "zero": of_number(Number(ZERO, ZERO)), "int_to_any": as_other,
    "rand": random, "_least": lambda a: (blurred(element(a)), ONE, ONE), "_greatest": lambda a: (
        blurred(element(a)), ONE, ONE),
    "length": lambda v: (Number(length(v), ZERO), ONE, ONE), "elt": lambda a: (element(two(a)[0]), ONE, ONE),
    "dist": dist, "iseq": iseq, "get": get, "append": append, "flatten": flatten, "partition": partition,
    "subseq": subseq, "_compact": lambda v: (v, ONE, ONE),
    "write": written(lambda there, new, often: joined(there, new)), "write_add": written(added),
    **dict.fromkeys(("write_max", "write_min"), written(lambda there, new, often: joined(there, new))),
    "sum": reduced(summed), "max_val": reduced(maximum), "min_val": reduced(minimum),
    **dict.fromkeys(("product", "any", "all", "parity"), reduced(any_number)),
    "plus_scan": scanned(summed), "max_scan": scanned(maximum), "min_scan": scanned(minimum),
    **dict.fromkeys(("mult_scan", "or_scan", "and_scan", "xor_scan"), scanned(any_number)),
    "_sort": lambda v: (v, at_least_one(length(v)), ONE),
    **dict.fromkeys(("_order", "_order_down", "_firsts"), positions),
    **dict.fromkeys(("_label", "_place", "_ordered"), labelled),
    "first": lambda a: (two(a)[0], ZERO, ZERO), "rest": lambda a: (two(a)[1], ZERO, ZERO),
    "eql": equal, "identity": lambda a: (blurred(a), ONE, ONE),
    "_zero_of": lambda v: (blurred(element(v)), ONE, ONE), "error": lambda _: (SCALAR, ZERO, ZERO),
}
