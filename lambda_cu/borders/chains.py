"""A chain of conditionals on the indices of a thunk, read as partitions of its space: SaC's with-loop.

    { (s, j, i) =>                                              case 1      i = 1, 3, 5 and so on, and j > 0
        if s rem 2 == 1 and j > 0 then x                        case 2      what is left of j < 9
        else if j < 9 or s == 0 then y else z }                             what is then left of i = 0
                                                                case rest   what is left of all

A test is regular if it compares an index with what is alike for all elements, or the rest of an index, less such a
number, by a constant with constants; so are `and`, `or` and `not` of regular tests. The first conditional that is not
ends the chain, and stays a conditional of the rest, with all behind it; so does a check. Each test cuts what the tests
before it leave (lambda_cu.borders.boxes), bounds before steps. Where bounds may be any ints, not sizes only, partitions
are there if these are as small as sizes; if not, all is one more part of the rest, as it was. A chain may stand in what
a let binds, where flattening has put an element's own uses: then all behind the let is computed in each part.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.boxes import Box, Cycle, Frame, Place, Side, Test
from nessie.lambda_cu.borders.forms import Form, atom, expression, is_small, minus, moved, number, scaled, sign
from nessie.lambda_cu.borders.interior import COMPARED, axis_indices, extents, fails, of_size, sizes_of
from nessie.lambda_cu.borders.known import NONE, Known
from nessie.lambda_cu.borders.ranges import TRUE, ZERO, Axis, Ranges, joined, place
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.ops import COMPARISONS, TURNED
from nessie.lambda_cu.passes.lets import tidy_expression
from nessie.lambda_cu.scope import free_names, thunk

MOST_PARTS = 40
MOST_TESTS = 8                  # alternatives of a condition
MOST_STEP = 2 ** 12
Alternatives = list[list[Test]]                 # tests of which all hold; one of several
Around = tuple[ir.Let, bool]                    # a let, and whether something stands in what it binds, or in its body


@dataclass(frozen=True)
class Cutting:
    """The boxes that each case has so far, with what is computed there, and those that are left."""
    parts: tuple[tuple[int, Box, ir.Exp], ...]
    left: tuple[Box, ...]


@dataclass(frozen=True)
class Chain:
    """A conditional in a thunk's body, and the lets around it, the outermost first: it stands in what a let binds, or
    in its body."""
    conditional: ir.If
    around: tuple[Around, ...]


def parts_of(soac: ir.Map | ir.Reduce, names: Mapping[str, ir.Type], failing: Collection[str],
             asked: Collection[int] = ()) -> tuple[ir.Part, ...]:
    """The partitions that the thunk's chain makes of its space; none if it has no chain. Of several chains the first
    one counts which has the cases that are asked for. `names`: the kernel's parameters; `failing`: the scalar functions
    that can fail."""
    if not isinstance(soac.space, ir.Flat | ir.Uniform):
        return ()
    reader = Reader.of(soac, names)
    found = [parts for chain in chains(soac.thunk.body, reader) if (parts := cut(soac, chain, reader, failing))]
    return next((parts for parts in found if set(asked) <= {part.case for part in parts}), found[0] if found else ())


def chains(body: ir.Exp, reader: Reader) -> Iterator[Chain]:
    """The conditional that the body comes to, and then those that its lets bind."""
    around, end = behind_lets(body, reader)
    if isinstance(end, ir.If):
        yield Chain(end, around)
    for outside, (let, _) in enumerate(around):
        inner, end = behind_lets(let.value, reader)
        if isinstance(end, ir.If) and len(let.names) == 1:
            yield Chain(end, (*around[:outside], (let, True), *inner))


def behind_lets(exp: ir.Exp, reader: Reader) -> tuple[tuple[Around, ...], ir.Exp]:
    """The lets that an expression begins with, and what is behind them."""
    lets: list[Around] = []
    while isinstance(exp, ir.Let):
        reader.known.note(exp.names, exp.value, NONE)
        lets.append((exp, False))
        exp = exp.body
    return tuple(lets), exp


def within(around: Iterable[Around], exp: ir.Exp) -> ir.Exp:
    for let, bound in reversed(list(around)):
        exp = ir.Let(let.names, exp, let.body) if bound else ir.Let(let.names, let.value, exp)
    return exp


def cut(soac: ir.Map | ir.Reduce, chain: Chain, reader: Reader, failing: Collection[str]) -> tuple[ir.Part, ...]:
    """The partitions that the chain makes."""
    frame = Frame(tuple([reader.size_form(size) for size in extents(soac.space)]), reader.known.ranges.natural)
    done, around, case, asked = Cutting((), (frame.whole,)), chain.around, 0, set[ir.Exp]()
    exp: ir.Exp = chain.conditional
    reader.asked = set()
    while True:
        lets, exp = behind_lets(exp, reader)
        around += lets
        if not isinstance(exp, ir.If) or fails(exp.then) or fails(exp.orelse):
            break
        found = reader.alternatives(exp.condition, True)
        further = None if found is None else cut_by(frame, done, found, case + 1, within(around, exp.then))
        if further is None:
            break
        done, case, asked, exp = further, case + 1, set(reader.asked), exp.orelse
    if not case:
        return ()
    rest = within(around, exp)
    builder = Builder(soac, frame, reader.conditions(asked), failing)
    parts = [*done.parts, *[(maps.REST, box, rest) for box in done.left]]
    return (*[builder.part(number, box, exp) for number, box, exp in parts], *builder.otherwise())


def cut_by(frame: Frame, before: Cutting, alternatives: Alternatives, case: int, exp: ir.Exp) -> Cutting | None:
    """Give a case what is left and one of the alternatives takes."""
    parts, left = list(before.parts), list(before.left)
    for tests in alternatives:
        found = [frame.cut(box, sorted(tests, key=lambda test: (isinstance(test, Cycle), test.axis))) for box in left]
        left = []
        for cut in found:
            if cut is None:
                return None
            parts += [(case, box, exp) for box in cut[0]]
            left += cut[1]
    return Cutting(tuple(parts), tuple(left)) if len(parts) + len(left) <= MOST_PARTS else None


# Conditions -------------------------------------------------------------------------------------


@dataclass
class Reader:
    """Reads conditions. `asked`: atoms of what has been read that may be any ints."""
    known: Known
    indices: tuple[ir.Var, ...]
    asked: set[ir.Exp] = field(default_factory=set)

    @staticmethod
    def of(soac: ir.Map | ir.Reduce, names: Mapping[str, ir.Type]) -> Reader:
        axes = tuple([Axis(ir.Var(param)) for param in axis_indices(soac.thunk)])
        sizes: set[ir.Exp] = {ir.Var(size) for size in sizes_of(soac.space) if isinstance(size, str)}
        sizes |= {ir.Var(type_.size) for type_ in names.values()
                  if isinstance(type_, ir.Array) and isinstance(type_.size, str)}
        ranges = Ranges(axes, sizes, set(map(of_size, sizes_of(soac.space))))
        return Reader(Known(ranges, names, soac.thunk.params), tuple([axis.index for axis in axes]))

    def size_form(self, size: ir.Size) -> Form:
        return number(size) if isinstance(size, int) else atom(ir.Var(size))

    def conditions(self, asked: Collection[ir.Exp]) -> ir.Exp:
        """The condition that such atoms are as small as sizes."""
        ranges = Ranges(tuple(map(Axis, self.indices)), self.known.ranges.sizes, set())
        for exp in sorted(asked, key=repr):
            ranges.ask_small(atom(exp))
        found = [condition for axis in ranges.axes for condition in axis.conditions]
        return joined("and", found) if found else TRUE

    def alternatives(self, condition: ir.Exp, truth: bool) -> Alternatives | None:
        """The tests by which the condition holds, or does not. None: it is not regular."""
        match condition:
            case ir.Const(bool(value)):
                return [[]] if value == truth else []
            case ir.Var(name) if name in self.known.lets:
                return self.alternatives(self.known.lets[name], truth)
            case ir.Op("not", (a,)):
                return self.alternatives(a, not truth)
            case ir.Op("and" | "or" as op, (a, b)):
                one, other = self.alternatives(a, truth), self.alternatives(b, truth)
                if one is None or other is None:
                    return None
                found = [[*x, *y] for x in one for y in other] if (op == "and") == truth else [*one, *other]
                return found if len(found) <= MOST_TESTS else None
            case ir.Op(op, (a, b)) if op in COMPARED:
                return self.compared(op, a, b, truth)
        return None

    def compared(self, op: str, a: ir.Exp, b: ir.Exp, truth: bool) -> Alternatives | None:
        cycles = self.cycles(op, a, b, truth) or self.cycles(TURNED.get(op, op), b, a, truth)
        if cycles is not None:
            return cycles
        first, second = self.known.form(a, NONE), self.known.form(b, NONE)
        if first is None or second is None or not is_small(first) or not is_small(second):
            return None
        rises = minus(second, first)
        if op in ("==", "/="):
            same = (op == "==") == truth
            one, other = [self.at_least(moved(form, -(not same)), True) for form in (rises, scaled(rises, -1))]
            if one is None or other is None:
                return None
            return [[*x, *y] for x in one for y in other] if same else [*one, *other]
        form = rises if op in ("<", "<=") else scaled(rises, -1)
        return self.at_least(moved(form, -(op in ("<", ">"))), truth)

    def at_least(self, form: Form, truth: bool) -> Alternatives | None:
        """Is the form not negative, or is it?"""
        known = sign(form, self.known.ranges.natural)
        if known is not None:
            return [[]] if known == truth else []
        axis = self.axis_of(form)
        if axis is None:
            return None
        self.note(form)
        return [[Place(axis, *place(form, self.indices[axis], truth))]]

    def cycles(self, op: str, a: ir.Exp, b: ir.Exp, truth: bool) -> Alternatives | None:
        """The test of what is left of an index, divided by a constant."""
        match a, b:
            case ir.Op("rem" | "mod", (exp, ir.Const(int(step), "int"))), ir.Const(int(at), "int") if step > 0:
                form = self.known.form(exp, NONE)
            case _:
                return None
        axis = None if form is None else self.axis_of(form)
        if form is None or axis is None or form.multiple(self.indices[axis]) != 1 or not is_small(form):
            return None
        self.note(form)
        holds = [rest for rest in range(step) if COMPARISONS[op](rest, at) == truth] if step <= MOST_STEP else []
        first = next((rest for rest in holds if (rest - 1) % step not in holds), 0)
        if step > MOST_STEP or set(holds) != {(first + k) % step for k in range(len(holds))}:
            return None
        base = scaled(form.without(self.indices[axis]), -1)
        return [[Cycle(axis, base, step, first, len(holds))]]

    def axis_of(self, form: Form) -> int | None:
        """The one axis whose index is in the form, once."""
        found = [number for number, index in enumerate(self.indices) if index in form.terms]
        names = {index.name for index in self.indices}
        others = {name for exp in form.terms if exp not in self.indices for name in free_names(exp)}
        once = len(found) == 1 and abs(form.multiple(self.indices[found[0]])) == 1
        return found[0] if once and names.isdisjoint(others) else None

    def note(self, form: Form) -> None:
        self.asked |= {exp for exp in form.terms if exp not in self.known.ranges.natural}


# Parts ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Builder:
    """Makes parts of boxes. `condition`: under which there are boxes."""
    soac: ir.Map | ir.Reduce
    frame: Frame
    condition: ir.Exp
    failing: Collection[str]

    def part(self, case: int, box: Box, exp: ir.Exp) -> ir.Part:
        sides = [self.side(side, extent) for side, extent in zip(box, self.frame.extents, strict=True)]
        if self.condition != TRUE:
            low, high = sides[0]
            sides[0] = low, ir.If(self.condition, high, ZERO)
        return self.of(case, sides, box, exp)

    def otherwise(self) -> list[ir.Part]:
        """Where there are no boxes, all is one part."""
        if self.condition == TRUE:
            return []
        (first, *others) = map(expression, self.frame.extents)
        begins: ir.Exp = ir.If(self.condition, first, ZERO)
        sides = [(begins, first), *[(ir.Const(0, "int"), size) for size in others]]
        return [self.of(maps.REST, sides, self.frame.whole, self.soac.thunk.body)]

    def side(self, side: Side, extent: Form) -> tuple[ir.Exp, ir.Exp]:
        """From where on a side is and before where, in the axis."""
        frame = self.frame
        lows = side.lows if any([frame.surely(number(0), low) for low in side.lows]) else (number(0), *side.lows)
        highs = side.highs if any([frame.surely(high, extent) for high in side.highs]) else (*side.highs, extent)
        return joined("max", list(map(expression, lows))), joined("min", list(map(expression, highs)))

    def of(self, case: int, sides: list[tuple[ir.Exp, ir.Exp]], box: Box, exp: ir.Exp) -> ir.Part:
        params, (*outer, inner) = self.soac.thunk.params, sides
        flat = isinstance(self.soac.space, ir.Flat)
        rows = None if flat else thunk((), ir.Tuple(tuple([bound for side in outer for bound in side])))
        range_ = thunk(params[:-2], ir.Tuple(inner))
        inside = ir.Interior(rows, range_, thunk(params, tidy_expression(exp, self.failing)))
        return ir.Part(case, inside, tuple([side.step for side in box]), tuple([side.width for side in box]))
