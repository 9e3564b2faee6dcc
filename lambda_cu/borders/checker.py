"""Proves interiors and parts: check_interiors(program) raises IllFormed where one may differ from the thunk.

It takes from a split what its text says, no more: from <= index < before gives facts, one for each place. Of a part,
steps tell of an index's distance from its lower bound what its rests are. Under these facts it brings the thunk and the
interior's thunk to normal forms, and compares them.

    an int            a vector: multiples of atoms, and a number
    min, max          the vector of the lesser, or greater one, if a fact tells which it is
    mod, rem          the dividend's vector, if facts tell that it lies in 0 .. divisor - 1
    e rem k < w       what all rests come to that steps leave
    if                its branch, if facts tell which
    any other         its operator with the normal forms of its parts

A fact is a vector that is not negative. Another vector is not negative either if it has nothing but natural atoms, none
of them negatively, or is such a vector and one or two facts. Facts that contradict each other tell that nothing is in
the interior. Vectors stand for ints that wrap only as long as these are small: indices and sizes are, other atoms if a
fact says so. A binding that can fail is kept in mind, beside the body's form.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterator
from operator import eq, ge, gt, le, lt, ne

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir

Vector = dict[Hashable, int]                    # multiples of atoms; that of UNIT is the number
UNIT: Hashable = "1"
WIDE = 2 ** 48
COEFFICIENTS = 2 ** 11
MOST_RESTS = 2 ** 12
ROUNDS = 2                      # of taking facts, as some tell more of others
OF_INTS = frozenset({"+", "-", "*", "/", "rem", "mod", "min", "max", "neg", "abs"})
COMPARISONS = {"<": (True, 1), "<=": (True, 0), ">": (False, 1), ">=": (False, 0)}      # is it right - left, less what


MEANINGS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "/=": ne}


def check_interiors(program: ir.Program) -> None:
    """Raise IllFormed, naming the kernel and the binding, where an interior is not proven."""
    for kernel in program.kernels:
        for bind in kernel.binds:
            soac, place = bind.soac, f"kernel {kernel.name}: let {', '.join(bind.names)}"
            if not isinstance(soac, ir.Map | ir.Reduce):
                continue
            if soac.interior and not is_interior(kernel, soac, soac.interior):
                raise IllFormed(f"{place}: the interior is not proven to be what the thunk is")
            for number, part in enumerate(soac.parts, 1):
                if not is_interior(kernel, soac, part.inside, tuple(zip(part.steps, part.widths, strict=True))):
                    raise IllFormed(f"{place}: part {number} is not proven to be what the thunk is")


def is_interior(kernel: ir.Kernel, soac: ir.Map | ir.Reduce, interior: ir.Interior,
                steps: tuple[tuple[int, int], ...] = ()) -> bool:
    """`steps`: the steps and widths of the axes of a part."""
    whole, inside = Normal(), Normal()
    for normal, of in ((whole, soac.thunk), (inside, interior.thunk)):
        normal.sizes = sizes_of(kernel, soac.space)
        normal.ints = {param.name for param in kernel.params
                       if (param.type.base if isinstance(param.type, ir.Array) else param.type) in ("int", "int32")}
        names = index_names(of)
        normal.bound = {name: vector_of(f"@{text}") for name, text in zip(of.params, names, strict=True)}
        normal.sizes |= {f"@{text}" for text in names}
        normal.bound.update((name, vector_of(f"@{text}")) for name, text in zip(interior.range.params, names))
        walks = [*outer_ranges(interior.rows), (interior.range.body, "@#" if len(names) > 1 else "@#0")]
        for body, index in walks * ROUNDS:
            if not normal.assume(body, index):
                return False
        for (step, width), (body, index) in zip(steps, walks, strict=False):
            normal.assume_steps(body, index, step, width)
        for size, index in extents(soac.space):
            normal.facts.append(difference(vector_of(f"@{size}") if isinstance(size, str) else {UNIT: size},
                                           vector_of(index), 1))
    return whole.form(soac.thunk.body) == inside.form(interior.thunk.body) or whole.is_empty()


def index_names(thunk: ir.Thunk) -> list[str]:
    """Names for the thunk's parameters: #0, #1 ... for those that the range of an interior knows, # for the place."""
    names = [f"#{at}" for at in range(len(thunk.params))]
    return names if len(names) == 1 else [*names[:-2], "#", "#i"]


def outer_ranges(rows: ir.Thunk | None) -> list[tuple[ir.Exp, str]]:
    """From where on the rows lie and before where, for each of their axes."""
    if rows is None:
        return []
    items = rows.body.items if isinstance(rows.body, ir.Tuple) else ()
    return [(ir.Tuple(items[at:at + 2]), f"@#{at // 2}") for at in range(0, len(items), 2)] or [(rows.body, "@#0")]


def sizes_of(kernel: ir.Kernel, space: ir.Space) -> set[Hashable]:
    """The kernel's scalars that are sizes."""
    found = [param.type.size for param in kernel.params if isinstance(param.type, ir.Array)]
    match space:
        case ir.Flat(size):
            found.append(size)
        case ir.Uniform(segments, _, total):
            found += [segments, total, *space.axes]
        case _:
            found += [space.segments, space.total]
    return {f"@{size}" for size in found}


def extents(space: ir.Space) -> list[tuple[ir.Size, str]]:
    """What indices are below."""
    match space:
        case ir.Flat(size):
            return [(size, "@#0")]
        case ir.Uniform(segments, length, _, outer):
            inside = [(size, f"@#{at}") for at, size in enumerate(outer)]
            return [*inside, (segments, f"@#{len(outer)}"), (length, "@#")]
    return [(space.segments, "@#0")]


def vector_of(atom: Hashable) -> Vector:
    return {atom: 1}


def difference(a: Vector, b: Vector, number: int = 0) -> Vector:
    """a - b - number"""
    found = {key: a.get(key, 0) - b.get(key, 0) for key in {*a, *b, UNIT}}
    found[UNIT] -= number
    return {key: c for key, c in found.items() if c}


class Normal:
    """Normal forms under facts. Those of ints are frozen vectors, of others tuples."""

    def __init__(self) -> None:
        self.facts: list[Vector] = []
        self.true: set[Hashable] = set()        # conditions that are known to hold
        self.steps: list[tuple[Vector, int, int]] = []     # of these distances, the rests that are below a width
        self.sizes: set[Hashable] = set()
        self.ints: set[str] = set()             # the kernel's ints and arrays of ints
        self.bound: dict[str, Vector | Hashable] = {}
        self.rounds = 0                         # how many folds are around

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
            if (place := self.vector(part)) is not None and self.small(place):
                self.take(difference(vector_of(index), place))
        for part in split(high, "min"):
            if (place := self.vector(part)) is not None and self.small(place):
                self.take(difference(place, vector_of(index), 1))
        return True

    def assume_steps(self, bounds: ir.Exp, index: str, step: int, width: int) -> None:
        """Of each `step` indices from the lower bound on the first `width` are meant."""
        low = self.vector(bounds.items[0]) if isinstance(bounds, ir.Tuple) and step > 1 else None
        if low is not None and self.small(low):
            self.steps.append((difference(vector_of(index), low), step, width))

    def take(self, fact: Vector) -> None:
        if fact not in self.facts:
            self.facts.append(fact)

    def assume_condition(self, condition: ir.Exp) -> None:
        if isinstance(condition, ir.Op) and condition.op in COMPARISONS:
            vector = self.compared(condition)
            if vector is not None:
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

    def natural(self, vector: Vector) -> bool:
        return all(c >= 0 and (key == UNIT or key in self.sizes) for key, c in vector.items())

    def not_negative(self, vector: Vector) -> bool:
        left = [difference(vector, fact) for fact in self.facts]
        return self.natural(vector) or any(map(self.natural, left)) or any(
            self.natural(difference(some, fact)) for some in left for fact in self.facts)

    def is_empty(self) -> bool:
        """Is there no element for which all facts hold?"""
        return any(self.not_negative(difference({}, fact, 1)) for fact in self.facts)

    def small(self, *vectors: Vector) -> bool:
        """Can none of them wrap?"""
        for vector in vectors:
            multiples = sum(abs(c) for key, c in vector.items() if key != UNIT)
            if multiples > COEFFICIENTS or abs(vector.get(UNIT, 0)) > WIDE:
                return False
            for key in vector:
                limits = ({UNIT: WIDE, key: 1}, {UNIT: WIDE, key: -1})
                if key != UNIT and key not in self.sizes and not all(limit in self.facts for limit in limits):
                    return False
        return True

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
                truth = self.holds(condition)
                if truth is not None:
                    return self.form(then if truth else orelse)
                return "if", self.form(condition), self.form(then), self.form(orelse)
            case ir.Fold():
                return self.fold(exp)
            case ir.Fail(site, type_):
                return "fail", site, type_
            case ir.Read(array, index):
                read = "read", array, self.form(index)
                return frozenset({read: 1}.items()) if array in self.ints else read
            case ir.Tuple(items):
                return ("tuple", *map(self.form, items))
            case ir.CallScalar(function, arguments, arrays):
                return "call", function, arrays, *map(self.form, arguments)
            case ir.Op(op, arguments):
                return self.operator(op, tuple(map(self.form, arguments)))
        raise TypeError(exp)

    def let(self, names: tuple[str, ...], value: ir.Exp, body: ir.Exp) -> Hashable:
        truth = self.holds(value) if len(names) == 1 else None
        found: Hashable = truth if truth is not None else self.form(value)
        if isinstance(found, tuple) and found[0] == "tuple" and len(found) == len(names) + 1:
            self.bound.update(zip(names, found[1:], strict=True))
        elif len(names) == 1:
            self.bound[names[0]] = found
        else:
            self.bound.update((name, ("part", at, found)) for at, name in enumerate(names))
        inner = self.form(body)
        return ("after", found, inner) if fails(found) else inner

    def fold(self, exp: ir.Fold) -> Hashable:
        """In a round, its number is not negative and below the count, and nothing is known of what goes round."""
        count, start = self.form(exp.count), self.form(exp.start)
        this: Hashable = ("round", self.rounds)
        self.bound[exp.index] = vector_of(this)
        self.bound.update((name, ("carried", self.rounds, at)) for at, name in enumerate(exp.names))
        self.sizes.add(this)
        before = list(self.facts)
        if isinstance(count, frozenset):
            self.take(difference(dict(count), vector_of(this), 1))
        self.rounds += 1
        body = self.form(exp.body)
        self.rounds -= 1
        self.facts = before
        return "fold", count, start, body

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


def fails(form: Hashable) -> bool:
    """Is there a failure in the form, or a call, which may fail?"""
    waiting: list[Hashable] = [form]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple | frozenset):
            if isinstance(part, tuple) and part and part[0] in ("fail", "call"):
                return True
            waiting += list(part)
    return False
