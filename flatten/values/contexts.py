"""Contexts: the bindings of one thunk under construction, in the order in which they are evaluated.

An expression that can fail or is used twice becomes a binding at once. So no failure is lost when its value is not
used (a projection, a length, a payload that ignores its index), and code never doubles.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, TypeVar

from nessie.base.source import Origin
from nessie.base.widths import WIDE, wide
from nessie.flatten.ranges.proofs import assumptions, by_numbers, doubtful, holds, lasting_bounds, negated
from nessie.flatten.ranges.ranges import ANY, SIZE, SOME, Note, Range, Ranges, index_below, index_range, items, meet
from nessie.flatten.values.domains import HOST, TRUE, ZERO, At, Domain, atom_of, inside, minus, op, size_form
from nessie.flatten.values.values import PairTerm, ScalarTerm, SeqTerm, Term, components, join_leaves, moved, rebuilt
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.ops import OPS
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.spaces.polynomials import Polynomial, names, replaced
from nessie.lambda_cu.spaces.rows import has_row, row_in_parts
from nessie.lambda_cu.spaces.steps import PLAIN

if TYPE_CHECKING:
    from nessie.flatten.values.emitter import Emitter, Version

T = TypeVar("T")


class Context:
    """The bindings of a thunk over `domain`; of a branch of one, where `given` holds; of the body of a fold, of `count`
    rounds, one for each element of a segment of the domain `rounds`, numbered by `index`. `failing`: some binding here
    can fail."""

    def __init__(self, emitter: Emitter, domain: Domain | None = None, outer: Context | None = None,
                 given: ir.Exp = TRUE, rounds: Domain | None = None, index: str = "", count: ir.Exp = ZERO) -> None:
        self.emitter, self.outer, self.given = emitter, outer, given
        self.rounds, self.index, self.count = rounds, index, count
        self.domain: Domain | None = domain if outer is None else outer.domain
        self.numbers: dict[ir.Exp, str] = {} if outer is None else outer.numbers
        self.range_analysis: Ranges | None = None
        self.assumptions: tuple[Polynomial, ...] | None = None
        self.bindings: list[tuple[tuple[str, ...], ir.Exp]] = []
        self.definitions: dict[str, ir.Exp] = {}            # of names bound one at a time; in functions, of choices
        self.notes: dict[ir.Exp, Note] = {}
        self.memory: dict[Hashable, object] = {}
        self.failing = False
        self.presumed: Mapping[str, Range] = {}             # of ints of the host, which the caller checks
        self.parameters: dict[str, Range] = {} if outer is None else outer.parameters       # of a scalar function

    # Bindings

    def let(self, exp: ir.Exp, hint: str) -> ir.Exp:
        """Bind the expression to a name and return it; an atom is its own name."""
        if isinstance(exp, ir.Var | ir.Const):
            return exp
        name = self.emitter.fresh(hint)
        self.bind((name,), exp)
        return ir.Var(name)

    def bind(self, names: tuple[str, ...], exp: ir.Exp) -> None:
        self.bindings.append((names, exp))
        self.definitions.update(zip(names, items(exp, len(names)) or []))

    def close(self, result: ir.Exp) -> ir.Exp:
        """Return the result under the bindings; a last binding that is the result needs no name."""
        bindings = self.bindings
        if bindings and isinstance(result, ir.Var) and bindings[-1][0] == (result.name,):
            bindings, result = bindings[:-1], bindings[-1][1]
        for bound, exp in reversed(bindings):
            result = ir.Let(bound, exp, result)
        return result

    def used(self, result: ir.Exp) -> ir.Exp:
        """Return the result under those of the bindings that it needs, which cannot fail."""
        for bound, exp in reversed(self.bindings):
            if not set(bound).isdisjoint(scope.free_names(result)):
                result = ir.Let(bound, exp, result)
        return result

    def alike(self, exp: ir.Exp) -> bool:
        """Can the host compute the expression, and all that can fail here before it, and is that the same for all
        elements?"""
        return self.hosts(exp) and self.failures_alike()

    def failures_alike(self) -> bool:
        """Does what can fail here fail for all elements or for none, as the host can tell?"""
        return not self.failing or all([self.hosts(bound) for _, bound in self.bindings if scope.can_fail(bound)])

    def hosts(self, exp: ir.Exp) -> bool:
        """Is the expression the same for all elements, and one that the host knows without waiting for a kernel?"""
        return independent(exp, self) and not self.emitter.waits(self.used(exp))

    def result(self, exps: list[ir.Exp]) -> ir.Exp:
        return self.close(one_or_tuple(tuple(exps)))

    def parts(self, parts: list[tuple[ir.Exp, str]]) -> ir.Exp:
        """Return the result for expressions that names will be bound to: what several names hold is known by them."""
        return self.elements(parts) if len(parts) > 1 else self.result([exp for exp, _ in parts])

    def elements(self, parts: list[tuple[ir.Exp, str]]) -> ir.Exp:
        """Return the result for expressions that become elements of arrays of these types."""
        return self.result([self.as_element(exp, base) for exp, base in parts])

    def as_element(self, exp: ir.Exp, base: str) -> ir.Exp:
        """Return the expression with exactly this type, so as narrow as the array that it is stored in."""
        if not self.emitter.narrow or base == "bool" or self.type_of(exp) == base:
            return exp
        return op(base if base in WIDE else "widened", exp)

    def type_of(self, exp: ir.Exp) -> str:
        """Return the type of a scalar expression, or '' where it takes more to know it."""
        exp = self.ranges.defined(exp)
        match exp:
            case ir.Const(_, base):
                return base
            case ir.Var(name):
                held = self.emitter.types.get(name)
                return held if isinstance(held, str) else "int"
            case ir.Read(array, _) if isinstance(type_ := self.emitter.types[array], ir.Array):
                return type_.base
            case ir.Op(operator, _) if (result := OPS[operator].result) is not None:
                return result
        return ""

    # Range analysis

    @property
    def ranges(self) -> Ranges:
        if self.range_analysis is None:
            self.range_analysis = Ranges(self.look, self.noted, self.emitter.known_element, self.assumed, self.numbers,
                                         self.emitter.most)
        return self.range_analysis

    def look(self, name: str) -> ir.Exp | Range | None:
        """Return a let-bound name's definition, or the range of an index or a host name; None for what may not be an
        int."""
        if name in self.definitions:
            return self.definitions[name]
        if self.outer is not None:
            if self.rounds is not None and name == self.index:
                return index_below(self.ranges.form(self.count))
            known = self.outer.look(name)
            if isinstance(known, Range) and name in self.emitter.types:
                return self.where_elements_are(name, known)
            return known
        if name in self.parameters:
            return self.parameters[name]
        if name in self.emitter.tables.equal:
            return ir.Var(self.emitter.tables.equal[name])
        if name in self.emitter.tests:
            return self.emitter.tests[name]
        found = self.emitter.known_scalar(name)
        if found is not None:
            return self.where_elements_are(name, found)
        if self.domain is None or self.domain is HOST:
            return None
        if name not in self.domain.params:
            return None
        found, size = index_range(self.domain, name, self.ranges), self.ranges.interval(atom_of(self.domain.size))
        if name == "j" and isinstance(self.domain.space, ir.Nested):
            found = meet(found, index_below(self.length_in_row(self.domain)))
        return found._replace(most=min(found.most, size[1])) if name == "i" and size else found

    def length_in_row(self, domain: Domain) -> Polynomial:
        """Return the length of the segment of a nested domain in which a walk is, by what is known of its row."""
        rows = domain.parent
        assert rows is not None and rows.parent is not None and domain.form is not None
        segment = self.climb(domain, rows, domain.here())
        row, place = self.climb(rows, rows.parent, segment).i, self.within(rows, segment)
        return replaced(domain.form[PLAIN], {"s": self.ranges.form(row), "j": self.ranges.form(place)})

    def where_elements_are(self, name: str, found: Range) -> Range:
        """Return the range of an int of the host where the domain has an element: so have all domains around it."""
        bounded = self.emitter.tables.bounded.get(name, {})
        found = meet(found, self.presumed.get(name, ANY))
        sizes = self.sizes_given()
        domain = self.rounds or self.domain
        while domain is not None and domain is not HOST:
            if name in sizes_with_elements(domain) and found.most > 0:
                most = self.emitter.at_most.get(name)
                found = meet(found, SOME if most is None else SOME._replace(above=(most,)))
            found = meet(found, bounded.get(domain, ANY))
            sizes.update(sizes_with_elements(domain))
            domain = domain.parent
        if facts := self.emitter.tables.where_some.get(name):
            positive = self.emitter.positive_with(sizes)
            for where, known in facts.items():
                if positive >= where:
                    found = meet(found, known)
        return found

    def sizes_given(self) -> set[ir.Size]:
        """Return the sizes of which the conditions say that they are not 0."""
        found, waiting = set[ir.Size](), [self.given]
        while waiting:
            match waiting.pop():
                case ir.Op("and", parts):
                    waiting += parts
                case ir.Op("not", (ir.Var(name),)) if name in self.emitter.tests:
                    waiting.append(ir.Op("not", (self.emitter.tests[name],)))
                case ir.Op("not", (ir.Op("==", (ir.Var(name), ir.Const(0))),)):
                    found.add(name)
        return found

    def note(self, exp: ir.Exp, known: Note) -> None:
        """Record the range of the expression wherever it is evaluated here."""
        if isinstance(exp, ir.Op | ir.Read):
            self.notes[exp] = known

    def promised(self, call: ir.CallScalar, version: Version) -> None:
        """Record the range of the call's result. What a function promises that is being made holds in all of its
        body."""
        above = tuple([self.ranges.form(call.arguments[at]) for at in version.promises if at is not None])
        known = Range(0 if None in version.promises else ANY.least, SIZE.most if above else ANY.most, above)
        context: Context | None = self
        while context is not None:
            context.notes[call] = lambda: known
            context = context.outer if version.open else None

    def noted(self, exp: ir.Exp) -> Note | None:
        context: Context | None = self
        while context is not None:
            if exp in context.notes:
                return context.notes[exp]
            context = context.outer
        return None

    def declare(self, parts: list[tuple[ir.Exp, str]], size: ir.Size, hint: str) -> list[ir.Param]:
        """Declare arrays of this size for the expressions, each with its type. What is known of ints lasts."""
        arrays = [self.emitter.declare(hint, ir.Array(base, size)) for _, base in parts]
        for array, (exp, base) in zip(arrays, parts, strict=True):
            if base == "int" and (known := self.lasting(exp)) is not None:
                self.emitter.know(array.name, known)
        return arrays

    def lasting(self, exp: ir.Exp) -> Range | None:
        """Return the range of the expression's values wherever they are read later: by numbers, and by polynomials over
        names of the host. None for what may be no int."""
        found = self.ranges.interval(exp)
        if found is None:
            return None
        form = self.ranges.form(exp)
        above = [negated(bound) for bound in lasting_bounds(self.ranges, negated(form), self.emitter.types)]
        return Range(*found, tuple(above), tuple(lasting_bounds(self.ranges, form, self.emitter.types)))

    def assumed(self) -> tuple[Polynomial, ...]:
        """Return the polynomials that are not negative wherever this runs."""
        if self.outer is None:
            return ()
        if self.assumptions is None:
            self.assumptions = outer = self.outer.assumed()         # by which the condition's are found
            self.assumptions = outer if self.given is TRUE else outer + assumptions(self.ranges, self.given)
        return self.assumptions

    def granted(self, condition: ir.Exp) -> bool:
        """Is this one of the conditions under which this runs?"""
        context: Context | None = self
        while context is not None:
            if grants(context.given, condition):
                return True
            context = context.outer
        return False

    # Checks

    def check(self, condition: ir.Exp, value: ir.Exp, base: str, message: str, origin: Origin) -> ir.Exp:
        """Return the value where the condition holds, else a failure of type `base`; it is evaluated here and now."""
        condition = doubtful(self.ranges, condition)
        if condition == TRUE or self.granted(condition):
            return value
        self.failing = True
        return self.let(ir.If(condition, value, ir.Fail(self.emitter.site(message, origin), wide(base))), "c")

    def require(self, condition: ir.Exp, message: str, origin: Origin) -> None:
        """Let the host check the condition, which it knows, if there are elements."""
        condition = doubtful(self.ranges, condition)
        if condition != TRUE:
            self.emitter.require(where_some(self.domain or HOST, [self.used(condition)]), message, origin)

    def guard(self, condition: ir.Exp, then: Callable[[Context], Term], message: str, origin: Origin) -> Term:
        """Return what `then` computes where the condition holds, else a failure; nothing of `then` runs where it
        fails."""
        whole, condition = condition, doubtful(self.ranges, condition)
        if condition == TRUE:
            return then(self)
        inner = Context(self.emitter, outer=self, given=whole)
        term = then(inner)
        parts = list(components(term))
        site = self.emitter.site(message, origin)
        fails = tuple(ir.Fail(site, wide(base)) for _, base in parts)
        names = tuple(self.emitter.fresh("c") for _ in parts)
        self.failing = True
        self.bind(names, ir.If(condition, inner.parts(parts), one_or_tuple(fails)))
        return rebuilt(term, iter([ir.Var(name) for name in names]))

    def branch(self, condition: ir.Exp, then: Callable[[Context], Term], orelse: Callable[[Context], Term]) -> Term:
        """Return a lazy conditional: bounds are selected, payloads joined."""
        known = by_numbers(self.ranges, condition)
        if known is not None:
            return then(self) if known else orelse(self)
        inner = Context(self.emitter, outer=self, given=condition)
        other = Context(self.emitter, outer=self, given=op("not", condition))
        condition = self.let(condition, "b")
        a, b = then(inner), orelse(other)
        a, b = joined(a, b, inner, other)
        of_a, of_b = list(components(a)), list(components(b))
        if not inner.bindings and not other.bindings and all(
                x is y or same_atom(x, y) for (x, _), (y, _) in zip(of_a, of_b, strict=True)):
            return a
        chosen = ir.If(condition, inner.parts(of_a), other.parts(of_b))
        names = tuple(self.emitter.fresh("v") for _ in of_a)
        self.failing |= inner.failing or other.failing
        self.bind(names, chosen)
        return rebuilt(a, iter([ir.Var(name) for name in names]))

    # Memory: one computation per index and thunk

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        context: Context | None = self
        while context is not None:
            if key in context.memory:
                return context.memory[key]  # type: ignore[return-value]
            context = context.outer
        self.memory[key] = result = compute()
        return result

    def climb(self, domain: Domain, home: Domain, at: At) -> At:
        """Return an index of the domain as an index of `home`, which is further out."""
        if home is HOST:
            return self.remember(("climb", HOST), lambda: At(ZERO))
        while domain is not home:
            at = self.remember((domain, at), lambda domain=domain, at=at: self.up(domain, at))  # type: ignore[misc]
            assert domain.parent is not None, "a value is used outside its home"
            domain = domain.parent
        return at

    def up(self, domain: Domain, at: At) -> At:
        """Return the index of the parent's element that this element belongs to."""
        if domain.parent is HOST:
            return At(ZERO)
        assert domain.parent is not None
        size = domain.parent.size
        if at.parent is not None:
            self.note(at.parent.i, lambda: index_below(size_form(size)))
            return at.parent
        if at.s is not None:
            found = at.s
        elif domain.kind == "subset":
            found = ir.Read(domain.index, at.i)
        elif isinstance(domain.space, ir.Uniform):
            found, _ = self.row_and_place(at.i, domain.space.length)
        elif has_row(domain.space) and at.i == ir.Var("s"):        # once for a segment, no array
            assert domain.space is not None
            bindings, found = row_in_parts(domain.space, at.i, self.emitter.fresh)
            for name, exp in bindings:
                self.bind((name,), exp)
            self.note(found, lambda: index_below(size_form(size)))
            return At(self.let(found, "row"))
        else:
            found = ir.Read(self.emitter.segment_numbers(domain), at.i)
        self.note(found, lambda: index_below(size_form(size)))
        return At(found)

    def row_and_place(self, index: ir.Exp, length: ir.Size) -> tuple[ir.Exp, ir.Exp | None]:
        """Return the row of this length in which the index is, and the place in it where no arithmetic is needed: the
        index is the start of a row, which has been noted and so does not wrap, and a place."""
        of = atom_of(length)
        match self.ranges.defined(index):
            case ir.Op("+", (ir.Op("*", (row, factor)) as start, place)) if factor == of and self.does_not_wrap(start):
                if holds(self.ranges, inside(place, of)):
                    return row, place
            case ir.Op("*", (row, factor)) as start if factor == of and self.does_not_wrap(start):
                if holds(self.ranges, op("<", ZERO, of)):
                    return row, ZERO
        return op("/", index, of), None

    def does_not_wrap(self, start: ir.Exp) -> bool:
        """Is it the start of a row: noted, or small by its numbers?"""
        return self.noted(start) is not None or not any(
            [name.startswith("#") for name in names(self.ranges.form(start))])

    def within(self, domain: Domain, at: At) -> ir.Exp:
        """Return the position of a segmented domain's element in its segment."""
        if domain.parent is HOST:
            return at.i
        if at.j is not None:
            return at.j
        assert domain.parent is not None
        up = self.climb(domain, domain.parent, at).i
        if isinstance(domain.space, ir.Uniform):
            row, place = self.row_and_place(at.i, domain.space.length)
            if row == up and place is not None:
                return place
        position = minus(at.i, domain.start(up))
        self.note(position, lambda: index_below(self.ranges.form(domain.length(up))))
        return position


class HostContext(Context):
    """A context on the host: a binding is a statement at once, of one scalar."""

    def bind(self, names: tuple[str, ...], exp: ir.Exp) -> None:
        if isinstance(exp, ir.CallScalar):
            results = next(f.results for f in self.emitter.scalar_functions if f.name == exp.function)
            self.emitter.scalar_kernel(names, exp, results)
        else:
            (name,) = names
            self.emitter.host_let(name, exp)

    def name(self, exp: ir.Exp, base: str, hint: str) -> ir.Atom:
        """Return the expression as an atom of known type."""
        if isinstance(exp, ir.Var | ir.Const):
            return exp
        name = self.emitter.fresh(hint)
        self.emitter.host_let(name, exp, base)
        return ir.Var(name)

    def guard(self, condition: ir.Exp, then: Callable[[Context], Term], message: str, origin: Origin) -> Term:
        if holds(self.ranges, condition):
            return then(self)
        trial = Context(self.emitter, outer=self)
        whole = trial.result([condition, *[exp for exp, _ in components(then(trial))]])
        if trial.hosts(whole):
            self.require(condition, message, origin)
            return then(self)
        return self.by_component(lambda context: Context.guard(context, condition, then, message, origin))

    def check(self, condition: ir.Exp, value: ir.Exp, base: str, message: str, origin: Origin) -> ir.Exp:
        if not self.hosts(ir.Tuple((condition, value))):
            return super().check(condition, value, base, message, origin)
        self.require(condition, message, origin)
        return value

    def branch(self, condition: ir.Exp, then: Callable[[Context], Term], orelse: Callable[[Context], Term]) -> Term:
        known = by_numbers(self.ranges, condition)
        if known is not None:
            return then(self) if known else orelse(self)
        condition = self.let(condition, "b")
        return self.by_component(lambda context: Context.branch(context, condition, then, orelse))

    def by_component(self, work: Callable[[Context], Term]) -> Term:
        """Emit a statement per scalar of the term; each computes the term afresh, under names of its own. One kernel
        computes all scalars of a term that calls scalar functions."""
        context = Context(self.emitter, outer=self)
        term = work(context)
        parts = list(components(term))
        names = []
        whole = context.result([exp for exp, _ in parts])
        if len(parts) > 1 and any(isinstance(part, ir.CallScalar) for part in subexpressions(whole)):
            names = [self.emitter.fresh("h") for _ in parts]
            self.emitter.scalar_kernel(tuple(names), whole, tuple([base for _, base in parts]))
            return rebuilt(term, iter([ir.Var(name) for name in names]))
        for place in range(len(parts)):
            context = Context(self.emitter, outer=self)
            exp, base = list(components(work(context)))[place]
            names.append(self.emitter.fresh("h"))
            self.emitter.host_let(names[-1], context.close(exp), base)
        return rebuilt(term, iter([ir.Var(name) for name in names]))


class AlikeContext(Context):
    """The host in place of all elements of a domain, for what they have alike: it checks what they would, if there are
    any."""

    def check(self, condition: ir.Exp, value: ir.Exp, base: str, message: str, origin: Origin) -> ir.Exp:
        self.require(condition, message, origin)
        return value

    def guard(self, condition: ir.Exp, then: Callable[[Context], Term], message: str, origin: Origin) -> Term:
        self.require(condition, message, origin)
        return then(self)


def where_some(domain: Domain, conditions: list[ir.Exp]) -> ir.Exp:
    """Return that the conditions hold, or there are no elements."""
    both = functools.reduce(lambda a, b: op("and", a, b), conditions)
    if isinstance(domain.size, int):
        return both if domain.size > 0 else TRUE
    return op("or", op("==", atom_of(domain.size), ZERO), both)


def independent(exp: ir.Exp, context: Context) -> bool:
    """Can the host compute this expression, and is it the same for all elements?"""
    waiting, seen = [exp], set[str]()
    while waiting:
        for part in subexpressions(waiting.pop()):
            match part:
                case ir.Read() | ir.CallScalar():
                    return False
                case ir.Let(bound):
                    seen.update(bound)
                case ir.Var(named) if named not in seen and named not in context.emitter.types:
                    definition = context.look(named)
                    if definition is None or isinstance(definition, Range):
                        return False
                    seen.add(named)
                    waiting.append(definition)
    return True


def sizes_with_elements(domain: Domain) -> tuple[ir.Size, ...]:
    """Return the sizes that are at least 1 where the domain has an element."""
    return (domain.size, *domain.space.axes) if isinstance(domain.space, ir.Uniform) else (domain.size,)


def one_or_tuple(exps: tuple[ir.Exp, ...]) -> ir.Exp:
    return exps[0] if len(exps) == 1 else ir.Tuple(exps)


def grants(given: ir.Exp, condition: ir.Exp) -> bool:
    """Is the condition among those that are given?"""
    match given, condition:
        case ir.Op("and", parts), _:
            return any(grants(part, condition) for part in parts)
        case ir.Op("not", (ir.Op("==", unequal),)), ir.Op("/=", operands):
            return unequal == operands
    return given == condition


def same_atom(a: ir.Exp, b: ir.Exp) -> bool:
    return isinstance(a, ir.Var | ir.Const) and type(a) is type(b) and a == b and repr(a) == repr(b)


def joined(a: Term, b: Term, inner: Context, other: Context) -> tuple[Term, Term]:
    """Return the two terms over common payloads."""
    match a, b:
        case SeqTerm(), SeqTerm():
            leaves = join_leaves(a.leaves, b.leaves)
            return (SeqTerm(moved(a.start, a.leaves, leaves, inner), a.length, leaves),
                    SeqTerm(moved(b.start, b.leaves, leaves, other), b.length, leaves))
        case PairTerm(a1, a2), PairTerm(b1, b2):
            first, second = joined(a1, b1, inner, other), joined(a2, b2, inner, other)
            return PairTerm(first[0], second[0]), PairTerm(first[1], second[1])
        case ScalarTerm(), ScalarTerm():
            return a, b
    raise TypeError((a, b))
