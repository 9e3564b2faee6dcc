"""The emitter: the statements, kernels and sites that flattening has written so far, and the tables that share them.

A table entry (the space of some lengths, the segment numbers of a space) is valid in the block that computes it and
inside it: a block that may not run must not define names that are used outside it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import ParamSpec, TypeVar

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.base.widths import FITTING, wide
from nessie.flatten.ranges.intervals import INTS
from nessie.flatten.ranges.ranges import ANY, MOST, SIZE, Range, index_below, meet
from nessie.flatten.values.contexts import Context, HostContext
from nessie.flatten.values.domains import INDICES, Domain, host_child, irregular, size_form, uniform
from nessie.flatten.values.values import Scalar, Term, Value
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops, scope
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.spaces.polynomials import Polynomial, names, subtract
from nessie.mono import nodes as mono

T = TypeVar("T")
P = ParamSpec("P")

INT = "int"
LEARNT: dict[str, Callable[[int], Range]] = {           # what an int is that compares so with a number
    ">": lambda bound: Range(bound + 1), ">=": lambda bound: Range(bound),
    "<": lambda bound: Range(most=bound - 1), "<=": lambda bound: Range(most=bound),
    "==": lambda bound: Range(bound, bound)}
PLUS = ir.Thunk(("x", "y"), ir.Op("+", (ir.Var("x"), ir.Var("y"))))


@dataclass
class Tables:
    """`spaces`: the space of these lengths over this domain; `numbers`: the array of a space's segment numbers;
    `walks`: the space that SOACs walk for a domain that had no offsets array at first; `data`: constant sequences;
    `lengths`: the lengths that the host has checked, by their forms; `checked`: for a scalar of the host, an equal one
    that exists only if a check has passed, so more is known of it; `equal`: a scalar that the host has found equal;
    `bounded`: the ranges of an int of the host where domains have elements; `terms`, `bounds`: the terms of closed
    spaces over a domain, and lengths among which are the least and the greatest; `where_some`: the range of an int
    where sizes are not 0; `zero_with`: the size with which a size is 0; `host_parts`: the names of expressions of the
    host in lengths; `inverses`: the inverse of
    an array that holds a permutation; `versions`: of thread-level functions, by their names, their payloads, and what
    is known of their ints; `known`: the ranges of scalars and of the elements of arrays."""
    spaces: dict[object, Domain] = field(default_factory=dict)
    numbers: dict[Domain, str] = field(default_factory=dict)
    walks: dict[Domain, ir.Space] = field(default_factory=dict)
    data: dict[mono.Exp, Value] = field(default_factory=dict)
    lengths: dict[Polynomial, Scalar] = field(default_factory=dict)
    checked: dict[str, str] = field(default_factory=dict)
    equal: dict[str, str] = field(default_factory=dict)
    bounded: dict[str, dict[Domain, Range]] = field(default_factory=dict)
    terms: dict[object, tuple[ir.Term, ...]] = field(default_factory=dict)
    bounds: dict[object, tuple[ir.Exp, ...]] = field(default_factory=dict)
    where_some: dict[str, dict[frozenset[ir.Size], Range]] = field(default_factory=dict)
    zero_with: dict[str, ir.Size] = field(default_factory=dict)
    host_parts: dict[ir.Exp, str] = field(default_factory=dict)
    inverses: dict[str, str] = field(default_factory=dict)
    versions: dict[object, Version] = field(default_factory=dict)
    known: dict[str, Range] = field(default_factory=dict)

    def copy(self) -> Tables:
        bounded = {name: dict(ranges) for name, ranges in self.bounded.items()}
        return Tables(dict(self.spaces), dict(self.numbers), dict(self.walks), dict(self.data), dict(self.lengths),
                      dict(self.checked), dict(self.equal), bounded, dict(self.terms), dict(self.bounds),
                      dict(self.where_some), dict(self.zero_with), dict(self.host_parts), dict(self.inverses),
                      dict(self.versions), dict(self.known))


@dataclass(frozen=True)
class SpaceMade:
    """The space of sequences whose lengths are computed at `origin`; `why`: why it takes memory, if it does;
    `argument`: which of its rows they are, where they are the entry's."""
    origin: Origin
    space: Domain
    why: str = ""
    argument: str = ""


@dataclass(frozen=True)
class ReductionMade:
    """A reduction of rows, computed at `origin`: a "fold" of the element's thread, "segments", or "either", which the
    host asks for; `why`: why there are segments."""
    origin: Origin
    form: str
    why: str = ""


@dataclass(frozen=True)
class LoopMade:
    """A recursion that is called for rows at `origin`, where users ask for owners; `why`: why none can go through its
    rounds by himself."""
    origin: Origin
    function: str
    why: str = ""


@dataclass
class Made:
    """What flattening tells of a program, for explanations."""
    spaces: list[SpaceMade] = field(default_factory=list)
    reductions: list[ReductionMade] = field(default_factory=list)
    loops: list[LoopMade] = field(default_factory=list)


@dataclass(frozen=True)
class Version:
    """A scalar function that stands for a thread-level function where its sequences have certain payloads. It takes the
    scalars of its parameters, then the host's `scalars` and `arrays` by which its body sees the payloads. `result`: a
    term of the shape of what it gives. `promises`: an int result is at most the scalars at these places; None says that
    it is not negative. `open`: it is being made."""
    name: str
    result: Term
    promises: frozenset[int | None] = frozenset()
    open: bool = False
    scalars: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()


@dataclass
class Part:
    """The statements of a block, and the tables that are valid in it."""
    tables: Tables
    statements: list[ir.Statement] = field(default_factory=list)


def no_version(function: str, terms: list[Term], context: Context) -> Version:
    raise TypeError(function)


class NeedsKernel(Exception):
    """What must do without kernels does not; its text says why."""

    def __init__(self, why: str = "elements can fail or are computed in parallel") -> None:
        super().__init__(why)


class Emitter:
    """The output of one program; blocks nest."""

    def __init__(self, narrow: bool = False, most: int = MOST) -> None:
        """`narrow`: arrays may hold numbers that are narrower than those computed with; `most`: the greatest size."""
        self.narrow, self.most = narrow, most
        self.names = Names((*INDICES, "x", "y"))        # the parameters of thunks and operators
        self.types: dict[str, ir.Type] = {}
        self.sites: dict[tuple[str, Origin], ir.Site] = {}
        self.kernels: list[ir.Kernel] = []
        self.functions: dict[str, ir.Function] = {}
        self.statements: list[ir.Statement] = []
        self.tables = Tables()
        self.bits: dict[str, int] = {}          # a size that is a product is at most 2 to this
        self.tests: dict[str, ir.Exp] = {}      # what bools of the host are
        self.at_most: dict[str, Polynomial] = {}            # what a scalar is at most where it is positive
        self.permutations: dict[str, Domain] = {}           # arrays that permute a space's indices within each segment
        self.hosted: dict[ir.Size, Domain] = {}
        self.version: Callable[[str, list[Term], Context], Version] = no_version
        self.scalar_functions: list[ir.ScalarFunction] = []
        self.made = Made()
        self.from_kernels = set[str]()          # scalars that the host must wait for
        self.no_form: dict[Origin, str] = {}                # why lengths that are computed there have none
        self.reasons: dict[str, str] = {}       # why lengths that are in this array have none, where that is known
        self.makers: dict[str, tuple[ir.Soac, int, int]] = {}       # what makes an array, as which of so many results
        self.origin: Origin = ()
        self.kernels_allowed = True

    # Names

    def fresh(self, hint: str) -> str:
        return self.names.fresh(hint)

    def declare(self, hint: str, type_: ir.Type) -> ir.Param:
        """Declare a host name of this type."""
        name = self.fresh(hint)
        self.types[name] = type_
        return ir.Param(name, type_)

    @property
    def too_many(self) -> str:
        return f"the sequences together have more elements than there can be, {self.most:,}: take fewer at a time"

    def site(self, message: str, origin: Origin) -> str:
        key = (message, origin)
        if key not in self.sites:
            self.sites[key] = ir.Site(f"s{len(self.sites) + 1}", message, origin=origin)
        return self.sites[key].name

    # Ranges of names

    def know(self, name: ir.Size, known: Range) -> None:
        """Record a range that holds in this block and inside it."""
        if isinstance(name, str):
            self.tables.known[name] = known

    def permute(self, array: str, space: Domain) -> None:
        """Record that the array holds a permutation of the space's indices within each segment."""
        self.permutations[array] = space
        self.know(array, index_below(size_form(space.size)))

    def positive_with(self, sizes: Iterable[ir.Size]) -> set[ir.Size]:
        """Return the ints of the host that are positive where these are: what one of them is at most is no less."""
        found, waiting, ranges = set(sizes), list(sizes), self.host().ranges
        while waiting:
            size = waiting.pop()
            if not isinstance(size, str):
                continue
            more = {self.tables.zero_with[size]} if size in self.tables.zero_with else set()
            tops = [*self.tables.known.get(size, ANY).above, *filter(None, (self.at_most.get(size),))]
            for name, facts in self.tables.where_some.items():
                for known in [known for where, known in facts.items() if found >= where]:
                    more |= {name} if known.least > 0 else set()
                    tops += known.above if name == size else ()
            more |= {name for top in tops for name in names(top)
                     if ranges.least(subtract(size_form(name), top)) >= 0}
            waiting += more - found
            found |= more
        return found

    def known_scalar(self, name: str) -> Range | None:
        """Return the range of a scalar; None unless it is an int of the host."""
        if self.types.get(name) != INT:
            return None
        return self.tables.known.get(name, ANY)

    def checked(self, name: str) -> str:
        """Return the name of the scalar of the host under which most is known."""
        return self.tables.checked.get(name, name)

    def known_element(self, array: str) -> Range | None:
        """Return the range of an array's elements; None where they are not ints."""
        type_ = self.types.get(array)
        if not isinstance(type_, ir.Array) or wide(type_.base) != INT:
            return None
        return self.tables.known.get(array) or (Range(*FITTING[type_.base]) if type_.base in FITTING else ANY)

    # Statements

    def emit(self, statement: ir.Statement) -> None:
        if not self.kernels_allowed and not isinstance(statement, ir.HostLet | ir.Data):
            raise NeedsKernel
        self.statements.append(statement)

    def host(self) -> HostContext:
        return HostContext(self)

    def host_let(self, name: str, exp: ir.Exp, base: str = "") -> None:
        base = wide(base or self.base_of(exp, {}))
        if any(isinstance(part, ir.CallScalar) for part in subexpressions(exp)):
            self.scalar_kernel((name,), exp, (base,))
            return
        self.types[name] = base
        if self.waits(exp):
            self.from_kernels.add(name)
        if base == "bool":
            self.tests[name] = exp
        if base == INT and isinstance(exp, ir.Op | ir.If | ir.Let):
            ranges = self.host().ranges
            self.know(name, ranges.computed(exp))
            if (most := ranges.where_positive(exp)) is not None:
                self.at_most[name] = most
        self.emit(ir.HostLet(ir.Param(name, base), exp, origin=self.origin))

    def named(self, exp: ir.Exp, hint: str) -> str:
        """Bind an int on the host to a name of its own, even a constant."""
        name = self.fresh(hint)
        self.host_let(name, exp, INT)
        return name

    def waits(self, exp: ir.Exp) -> bool:
        """Does the host know the expression's value only when a kernel has ended?"""
        return not self.from_kernels.isdisjoint(scope.free_names(exp))

    def host_part(self, exp: ir.Exp) -> str:
        """Return the name of an int expression of the host, which is computed once."""
        if exp not in self.tables.host_parts:
            name = self.tables.host_parts[exp] = self.named(exp, "h")
            self.know(name, Range(*(self.host().ranges.interval(exp) or INTS)))
        return self.tables.host_parts[exp]

    def require(self, condition: ir.Exp, message: str, origin: Origin) -> None:
        """Emit a check of the host: later statements run only if the condition holds. They may rely on a noted equality
        even where a wrong size would make them read or write out of bounds, because no pass moves a launch before a
        check of the host (flatten.ranges.ranges)."""
        check = ir.If(condition, ir.Const(0, INT), ir.Fail(self.site(message, origin), INT))
        self.emit(ir.HostLet(ir.Param("_", INT), check, origin=origin))
        match condition:
            case ir.Op("==", (ir.Var(one), ir.Var(other))) if self.types[one] == self.types[other] == INT:
                if one != other and other not in self.tables.equal:         # so that there are no circles
                    self.tables.equal[one] = other
        self.learn(condition)

    def learn(self, condition: ir.Exp, sizes: frozenset[ir.Size] = frozenset()) -> None:
        """Record what the condition says of ints where these sizes are not 0."""
        if isinstance(condition, ir.Var):
            condition = self.tests.get(condition.name, condition)
        match condition:
            case ir.Op("and", parts):
                for part in parts:
                    self.learn(part, sizes)
            case ir.Op("or", (one, ir.Op("==", (ir.Var(size), ir.Const(0))))) | ir.Op(
                    "or", (ir.Op("==", (ir.Var(size), ir.Const(0))), one)):
                self.learn(one, sizes if self.tables.known.get(size, ANY).least > 0 else sizes | {size})
            case ir.Op(operator, (ir.Var(one), ir.Const(int(bound)))) if operator in LEARNT:
                self.learn_range(one, sizes, LEARNT[operator](bound))
            case ir.Op(operator, (ir.Const(int(bound)), ir.Var(one))) if operator in LEARNT:
                self.learn_range(one, sizes, LEARNT[ops.TURNED.get(operator, operator)](bound))

    def learn_range(self, name: str, sizes: frozenset[ir.Size], known: Range) -> None:
        if self.types[name] == INT:
            facts = self.tables.where_some.get(name, {})
            self.tables.where_some[name] = facts | {sizes: meet(facts.get(sizes, ANY), known)}

    def scalar_kernel(self, names: tuple[str, ...], exp: ir.Exp, bases: tuple[str, ...]) -> None:
        """Compute scalars in a kernel, because the host calls no scalar functions."""
        bases = tuple(map(wide, bases))
        self.types.update(zip(names, bases))
        self.run(ir.Once(scope.thunk((), exp)), [ir.Param(name, base) for name, base in zip(names, bases)])

    def size(self, exp: ir.Exp, hint: str = "n") -> ir.Size:
        """Return the size that a host expression computes: a number where there is but one that it can be."""
        if (found := self.host().ranges.interval(exp)) is not None and found[0] == found[1]:
            return found[0]
        match self.host().name(exp, INT, hint):
            case ir.Const(int(value)):
                return value
            case ir.Var(name):
                return name
        raise TypeError(exp)

    def data(self, type_: ir.Array, values: tuple[int | float | bool | str, ...]) -> str:
        """Emit a constant array and return its name."""
        param = self.declare("data", type_)
        self.emit(ir.Data(param, values, origin=self.origin))
        return param.name

    def run(self, soac: ir.Soac, results: list[ir.Param]) -> None:
        """Emit one kernel of one SOAC, and its run."""
        params: dict[str, ir.Param] = {}
        local = {result.name for result in results}
        wanted = [*scope.soac_names(soac), *(name for result in results for name in scope.type_names(result.type))]
        for name in wanted:
            if name in local:
                continue
            for needed in (*scope.type_names(self.types[name]), name):
                params[needed] = ir.Param(needed, self.types[needed])
        self.from_kernels.update([result.name for result in results if not isinstance(result.type, ir.Array)])
        name = self.fresh(f"K{len(self.kernels) + 1}")
        returns = tuple(result.name for result in results)
        self.makers.update({result: (soac, place, len(returns)) for place, result in enumerate(returns)})
        bind = ir.Bind(returns, soac, origin=self.origin)
        self.kernels.append(ir.Kernel(name, tuple(params.values()), (bind,), returns, origin=self.origin))
        self.emit(ir.Run(tuple(results), name, tuple(ir.Var(param) for param in params), origin=self.origin))

    # Blocks

    def block(self, work: Callable[[], T]) -> tuple[T, tuple[ir.Statement, ...]]:
        """Return the result of `work` and, separately, the statements that it emits."""
        part = self.part()
        result = self.into(part, work)
        return result, tuple(part.statements)

    def part(self) -> Part:
        """Return a new block, to be written step by step."""
        return Part(self.tables.copy())

    def into(self, part: Part, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Return the result of `work` on the arguments; the statements that it emits go into the part."""
        outer = self.statements, self.tables
        self.statements, self.tables = part.statements, part.tables
        try:
            return work(*args, **named)
        finally:
            self.statements, self.tables = outer

    def without_kernels(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which may emit what the host computes, but nothing else: then NeedsKernel is
        raised, and what it has emitted is gone."""
        part, before = self.part(), (self.kernels_allowed, self.origin)
        kernels, spaces, reductions = len(self.kernels), len(self.made.spaces), len(self.made.reductions)
        self.kernels_allowed = False
        try:
            result = self.into(part, work)
        except NeedsKernel:
            del self.kernels[kernels:], self.made.spaces[spaces:], self.made.reductions[reductions:]
            raise
        finally:
            self.kernels_allowed, self.origin = before
        self.statements += part.statements
        self.tables = part.tables
        return result

    # Spaces

    def host_space(self, size: ir.Size) -> Domain:
        """Return the one domain for sequences of this size on the host, which is a size in this block."""
        self.know(size, meet(self.tables.known.get(size, SIZE), SIZE) if isinstance(size, str) else SIZE)
        return self.hosted.setdefault(size, host_child(size))

    def rows(self, parent: Domain, offsets: str, total: ir.Size) -> Domain:
        """Return the space of segments with these offsets, which is remembered for sequences of the same lengths."""
        self.know(offsets, SIZE)
        self.know(total, SIZE)
        return self.known_space(irregular(parent, offsets, total))

    def uniform_rows(self, parent: Domain, length: str, total: str) -> Domain:
        """Return the space of segments of one length that comes from outside, with `total` elements in all."""
        self.know(length, SIZE)
        self.know(total, SIZE)
        return self.known_space(uniform(parent, length, total))

    def known_space(self, space: Domain) -> Domain:
        """Return the space, and use it from now on for sequences of these lengths over its parent."""
        assert space.parent is not None
        self.tables.spaces[space.parent, space.length(space.parent.here().i)] = space
        return space

    def walked(self, domain: Domain) -> ir.Space:
        """Return the space that a SOAC over the domain walks; its offsets are computed now if they are not an array
        yet."""
        if domain.space is not None:
            return domain.space
        if domain not in self.tables.walks:
            parent = domain.parent
            assert parent is not None
            offsets = self.scan_lengths(parent, lambda: domain.length(parent.here().i))
            self.tables.walks[domain] = ir.Irregular(parent.size, offsets, domain.size)
        return self.tables.walks[domain]

    def scan_lengths(self, parent: Domain, length: Callable[[], ir.Exp], operator: ir.Thunk = PLUS) -> str:
        """Return the offsets of segments, one segment per element of the parent: a flat SCAN over all of them."""
        exp = length()
        if {*parent.params[:-1]} & set(scope.free_names(exp)):
            lengths = self.declare("lengths", ir.Array(INT, parent.size))
            exp = ir.Op("widened", (exp,)) if self.narrow else exp
            self.run(ir.Map(scope.thunk(parent.params, exp), self.walked(parent)), [lengths])
            exp = ir.Read(lengths.name, ir.Var("i"))
        offsets = self.declare("offsets", ir.Array(INT, parent.size, 1))
        thunk = scope.thunk(("i",), exp)
        self.run(ir.Scan(thunk, (ir.Const(0, INT),), operator, ir.Flat(parent.size), True), [offsets])
        self.know(offsets.name, SIZE)
        return offsets.name

    def segment_numbers(self, domain: Domain) -> str:
        """Return the array that holds, for each element of a segmented domain, the number of its segment."""
        if domain not in self.tables.numbers:
            result = self.declare("segment", ir.Array(INT, domain.size))
            self.run(ir.Map(scope.thunk(domain.params, ir.Var("s")), self.walked(domain)), [result])
            assert domain.parent is not None
            self.know(result.name, index_below(size_form(domain.parent.size)))
            self.tables.numbers[domain] = result.name
        return self.tables.numbers[domain]

    # Types

    def base_of(self, exp: ir.Exp, local: dict[str, str]) -> str:
        """Return the type of a scalar expression over host names."""
        match exp:
            case ir.Const(_, base) | ir.Fail(_, base):
                return base
            case ir.Var(name):
                found = local.get(name) or self.types[name]
                assert isinstance(found, str)
                return found
            case ir.Read(array, _):
                type_ = self.types[array]
                assert isinstance(type_, ir.Array)
                return wide(type_.base)
            case ir.Op(name, arguments):
                row = ops.OPS[name]
                return wide(row.result or self.base_of(arguments[0], local))
            case ir.If(_, then, _):
                return self.base_of(then, local)
        raise TypeError(exp)


def int_results(emitter: Emitter, *hints: str) -> list[ir.Param]:
    return [emitter.declare(hint, INT) for hint in hints]
