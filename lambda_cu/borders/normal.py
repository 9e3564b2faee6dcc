"""Normal forms of expressions under facts, for the checker: expressions of one form are equal where all facts hold.

    an int            a vector: multiples of atoms, and a number
    min, max          the vector of the lesser, or greater one, if a fact tells which it is
    mod, rem          the dividend's vector, if facts tell that it lies in 0 .. divisor - 1
    e rem k < w       what all rests come to that steps leave
    if                its branch, if facts tell which
    any other         its operator with the normal forms of its parts

What may fail, and what is read, is noted beside the forms, with the conditions and folds around it: an operator is
strict, so what a fact decides, or what cancels out, may still fail.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterator
from operator import eq, ge, gt, le, lt, ne

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.facts import UNIT, Facts, Vector, difference, vector_of

MOST_RESTS = 2 ** 12
OF_INTS = frozenset({"+", "-", "*", "/", "rem", "mod", "min", "max", "neg", "abs"})
COMPARISONS = {"<": (True, 1), "<=": (True, 0), ">": (False, 1), ">=": (False, 0)}      # is it right - left, less what
Event = tuple[tuple[Hashable, ...], tuple[Hashable, ...]]       # the conditions and folds around it, and its form
MEANINGS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "/=": ne}


class Normal(Facts):
    """Normal forms under facts. Those of ints are frozen vectors, of others tuples. `events`: the failures, calls and
    reads that have been met, each with what is around it."""

    def __init__(self) -> None:
        super().__init__()
        self.true: set[Hashable] = set()        # conditions that are known to hold
        self.steps: list[tuple[Vector, int, int]] = []     # of these distances, the rests that are below a width
        self.ints: set[str] = set()             # the kernel's ints and arrays of ints
        self.bound: dict[str, Vector | Hashable] = {}
        self.rounds = 0                         # how many folds are around
        self.events: list[Event] = []

    # Facts

    def assume(self, bounds: ir.Exp, index: str) -> bool:
        """Take the facts of (from, before); False: they are no such pair."""
        if not isinstance(bounds, ir.Tuple) or len(bounds.items) != 2:
            return False
        low, high = bounds.items
        if isinstance(high, ir.If):
            for condition in split(high.condition, "and"):
                self.assume_condition(condition)
            if high.orelse != ir.Const(0, "int"):
                return False
            high = high.then
        for part in split(low, "max"):
            if (place := self.vector(part)) is not None and self.exact(place):
                self.take(difference(vector_of(index), place))
        for part in split(high, "min"):
            if (place := self.vector(part)) is not None and self.exact(place):
                self.take(difference(place, vector_of(index), 1))
        return True

    def assume_steps(self, bounds: ir.Exp, index: str, step: int, width: int) -> None:
        """Of each `step` indices from the lower bound on the first `width` are meant."""
        low = self.vector(bounds.items[0]) if isinstance(bounds, ir.Tuple) and step > 1 else None
        if low is not None and self.exact(low):
            self.steps.append((difference(vector_of(index), low), step, width))

    def assume_condition(self, condition: ir.Exp) -> None:
        if isinstance(condition, ir.Op) and condition.op in COMPARISONS:
            a, b = map(self.vector, condition.arguments)
            vector = self.compared(condition)
            if vector is not None and a is not None and b is not None and self.exact(a, b):
                self.take(vector)
        if isinstance(condition, ir.Op) and condition.op == "/=":
            self.true.add(self.unequal(condition))

    def unequal(self, condition: ir.Op) -> Hashable:
        """The form of a /= b: neither sign of the difference matters."""
        a, b = map(self.vector, condition.arguments)
        if a is None or b is None:
            return self.form(condition)
        return "/=", frozenset([frozenset(difference(a, b).items()), frozenset(difference(b, a).items())])

    def compared(self, exp: ir.Op) -> Vector | None:
        """The vector that is not negative where the comparison of ints holds."""
        a, b = map(self.vector, exp.arguments)
        if a is None or b is None:
            return None
        rising, strict = COMPARISONS[exp.op]
        return difference(b, a, strict) if rising else difference(a, b, strict)

    def holds(self, exp: ir.Exp) -> bool | None:
        """Does the condition hold, as facts tell?"""
        match exp:
            case ir.Const(bool(value)):
                return value
            case ir.Op("not", (a,)):
                truth = self.holds(a)
                return None if truth is None else not truth
            case ir.Op("and" | "or" as op, (a, b)):
                truths = self.holds(a), self.holds(b)
                ends = op == "or"
                return ends if ends in truths else (not ends) if truths == (not ends, not ends) else None
            case ir.Var(name):
                known = self.bound.get(name)
                return known if isinstance(known, bool) else None
            case ir.Op(op, (a, b)) if op in COMPARISONS and (known := self.rests(exp)) is not None:
                return known
            case ir.Op(op, (a, b)) if op in COMPARISONS:
                left, right = self.vector(a), self.vector(b)
                if left is None or right is None or (left != right and not self.small(left, right)):
                    return None
                vector = self.compared(exp)
                assert vector is not None
                negative = difference({}, vector, 1)
                return True if self.not_negative(vector) else False if self.not_negative(negative) else None
            case ir.Op("==" | "/=" as op, (a, b)) if (known := self.rests(exp)) is not None:
                return known
            case ir.Op("==" | "/=" as op, (a, b)):
                apart = self.apart(exp, a, b)
                return None if apart is None else apart == (op == "/=")
        return None

    def rests(self, exp: ir.Op) -> bool | None:
        """Does a comparison of an int's rest with a number hold, as steps tell? Whatever the rest can be is tried."""
        match exp.arguments:
            case ir.Op("rem" | "mod", (of, ir.Const(int(divisor), "int"))), ir.Const(int(number), "int"):
                left = True
            case ir.Const(int(number), "int"), ir.Op("rem" | "mod", (of, ir.Const(int(divisor), "int"))):
                left = False
            case _:
                return None
        vector = self.vector(of)
        if vector is None or divisor <= 0 or not self.small(vector) or not self.not_negative(vector):
            return None
        known = [range(apart.get(UNIT, 0), apart.get(UNIT, 0) + width) for distance, step, width in self.steps
                 if step == divisor and (apart := difference(vector, distance)).keys() <= {UNIT}]
        rests = [k % divisor for k in (known or [range(min(divisor, MOST_RESTS))])[0]]
        found = {MEANINGS[exp.op](*((rest, number) if left else (number, rest))) for rest in rests}
        return found.pop() if len(found) == 1 and divisor <= MOST_RESTS else None

    def apart(self, exp: ir.Op, a: ir.Exp, b: ir.Exp) -> bool | None:
        """Are the two ints different?"""
        left, right = self.vector(a), self.vector(b)
        if left is None or right is None or (left != right and not self.small(left, right)):
            return None
        either = difference(left, right, 1), difference(right, left, 1)
        if any(map(self.not_negative, either)) or self.unequal(exp) in self.true:
            return True
        equal = all([self.not_negative(difference(*sides)) for sides in ((left, right), (right, left))])
        return False if equal else None

    # Normal forms

    def vector(self, exp: ir.Exp) -> Vector | None:
        """The form of an int as a vector; None: it is no int, or none that is known as such."""
        found = self.form(exp)
        return dict(found) if isinstance(found, frozenset) else None

    def form(self, exp: ir.Exp) -> Hashable:
        match exp:
            case ir.Const(int(value), "int"):
                return frozenset({UNIT: value}.items() if value else ())
            case ir.Const(value, type_):
                return "const", type_, repr(value)
            case ir.Var(name):
                found = self.bound.get(name)
                if found is None:
                    return frozenset({f"@{name}": 1}.items()) if name in self.ints else ("name", name)
                if isinstance(found, bool):
                    return "const", "bool", repr(found)
                return frozenset(found.items()) if isinstance(found, dict) else found
            case ir.Let(names, value, body):
                return self.let(names, value, body)
            case ir.If(condition, then, orelse):
                truth, asked = self.holds(condition), self.form(condition)
                if truth is not None:
                    return self.form(then if truth else orelse)
                return "if", asked, self.branch(asked, True, then), self.branch(asked, False, orelse)
            case ir.Fold():
                return self.fold(exp)
            case ir.Fail(site, type_):
                return self.met(("fail", site, type_))
            case ir.Read(array, index):
                read = self.met(("read", array, self.form(index)))
                return frozenset({read: 1}.items()) if array in self.ints else read
            case ir.Tuple(items):
                return ("tuple", *map(self.form, items))
            case ir.CallScalar(function, arguments, arrays):
                return self.met(("call", function, arrays, *map(self.form, arguments)))
            case ir.Op(op, arguments):
                return self.operator(op, tuple(map(self.form, arguments)))
        raise TypeError(exp)

    def let(self, names: tuple[str, ...], value: ir.Exp, body: ir.Exp) -> Hashable:
        truth, found = self.holds(value) if len(names) == 1 else None, self.form(value)
        found = found if truth is None else truth
        if isinstance(found, tuple) and found[0] == "tuple" and len(found) == len(names) + 1:
            self.bound.update(zip(names, found[1:], strict=True))
        elif len(names) == 1:
            self.bound[names[0]] = found
        else:
            self.bound.update((name, ("part", at, found)) for at, name in enumerate(names))
        return self.form(body)

    def met(self, form: tuple[Hashable, ...]) -> Hashable:
        """Note what has this form."""
        self.events.append(((), form))
        return form

    def branch(self, asked: Hashable, truth: bool, exp: ir.Exp) -> Hashable:
        """The form of what is evaluated only where a condition holds, or does not."""
        form, events = self.inner(exp)
        self.note((asked, truth), events)
        return form

    def inner(self, exp: ir.Exp) -> tuple[Hashable, list[Event]]:
        """An expression's form, and the events in it."""
        others, self.events = self.events, []
        form = self.form(exp)
        events, self.events = self.events, others
        return form, events

    def note(self, around: Hashable, events: list[Event]) -> None:
        """Note events with what is around all of them."""
        self.events += [((around, *inner), form) for inner, form in events]

    def fold(self, exp: ir.Fold) -> Hashable:
        """In a round, its number is not negative and below the count, and nothing is known of what goes round."""
        count, start = self.form(exp.count), self.form(exp.start)
        this: Hashable = ("round", self.rounds)
        self.bound[exp.index] = vector_of(this)
        self.bound.update((name, ("carried", self.rounds, at)) for at, name in enumerate(exp.names))
        self.sizes.add(this)
        before = list(self.facts)
        if isinstance(count, frozenset) and self.exact(dict(count)):
            self.take(difference(dict(count), vector_of(this), 1))
        self.rounds += 1
        body, events = self.inner(exp.body)
        self.rounds -= 1
        self.facts = before
        form = "fold", count, start, body
        self.note(form, events)
        return form

    def operator(self, op: str, forms: tuple[Hashable, ...]) -> Hashable:
        vectors = [dict(form) for form in forms if isinstance(form, frozenset)]
        if op not in OF_INTS or len(vectors) < len(forms):
            return (op, *forms)
        found = self.arithmetic(op, vectors)
        return frozenset(({(op, *forms): 1} if found is None else found).items())

    def arithmetic(self, op: str, vectors: list[Vector]) -> Vector | None:
        match op, vectors:
            case "+", [a, b]:
                return difference(a, difference({}, b))
            case "-", [a, b]:
                return difference(a, b)
            case "neg", [a]:
                return difference({}, a)
            case "*", [a, b]:
                one, other = (a, b) if a.keys() <= {UNIT} else (b, a)
                return {key: c * one[UNIT] for key, c in other.items()} if one.keys() == {UNIT} else \
                    {} if not one else None
            case "min" | "max", [a, b] if a == b:
                return a
            case "min" | "max", [a, b] if self.small(a, b):
                if self.not_negative(difference(b, a)):
                    return a if op == "min" else b
                if self.not_negative(difference(a, b)):
                    return b if op == "min" else a
            case "mod" | "rem", [a, b] if self.small(a, b):
                if self.not_negative(a) and self.not_negative(difference(b, a, 1)):
                    return a
            case "/", [a, b] if self.small(a) and b.keys() == {UNIT} and b[UNIT] > 0 and self.natural(a):
                if all(c % b[UNIT] == 0 for key, c in a.items() if key != UNIT):
                    found = {key: c // b[UNIT] for key, c in a.items()}
                    return {key: c for key, c in found.items() if c}
        return None


def split(exp: ir.Exp, op: str) -> Iterator[ir.Exp]:
    """The operands of a nest of this operator."""
    if isinstance(exp, ir.Op) and exp.op == op:
        for part in exp.arguments:
            yield from split(part, op)
    else:
        yield exp
