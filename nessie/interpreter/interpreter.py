"""The interpreter. It runs typed programs directly on plain, nested values, and so defines the meaning of NESL.

  in    typed.Program (library definitions are definitions like others), and arguments as plain values
  out   the values of its variables, or of a call; the output; the work and depth that NESL's cost model charges

Cost (docs/cost.md): a scalar operator costs 1 work and 1 depth; a primitive on sequences costs as much work as it reads
or makes elements (interpreter.meanings), but a write into what is used for the last time only as much as it writes
(interpreter.in_place), and 1 depth; a call and a conditional add 1 of both; an apply-to-each adds 1 depth and, in work,
1 plus the number of its elements. Work and depth of an expression are the sums over its parts, but
of the elements of an apply-to-each only the deepest counts in depth.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

from nessie.base.names import shown_name
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Origin, user_span
from nessie.base.system.deep import frames_for, run_deep
from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import Data, Fun, Type, Var, instantiate, substitute
from nessie.base.values import Record
from nessie.base.widths import FULL, Widths
from nessie.interpreter.effects import Call, Effects, StepFailed
from nessie.interpreter.failed_values import applied, compared
from nessie.interpreter.in_place import PARTS, LastUses, Made, give_back, hold, is_free, sequences
from nessie.interpreter.meanings import COMBINING, COUNT, MEANINGS, UNEQUAL, Failure, mix, wrap
from nessie.interpreter.meanings_any import DERIVED, as_text, identity
from nessie.interpreter.narrow import check_shift, narrow, narrowed
from nessie.interpreter.random_numbers import element_state, random_below, state_after
from nessie.library.primitives import PRIMITIVES
from nessie.typing import nodes as typed
from nessie.typing.environment import Definitions
from nessie.typing.node_types import content_type

MEANING = {**MEANINGS, **DERIVED}
WRITES = ("write", *COMBINING)
DEPTH, MOST_DEPTH = 30_000, 100_000     # nested calls by default (some seconds), and the highest limit
FRAMES = 40 * MOST_DEPTH                # Python's frames: a call takes some, and more if it is deep in an expression
Locals = dict[str, Any]
TypeVariables = dict[str, Type]


@dataclass(frozen=True)
class GlobalValue:
    """A function, primitive or constructor as a value."""
    name: str
    types: tuple[Type, ...]


@dataclass(frozen=True)
class LambdaValue:
    """An anonymous function with the scope around it."""
    function: typed.Lambda
    scope: Scope


@dataclass(frozen=True)
class ClosureValue:
    """A function with its first argument given."""
    function: Any
    first: Any


@dataclass(frozen=True)
class Scope:
    """The values and types of the names in a function's body."""
    locals: Locals
    types: TypeVariables

    def bind(self, found: Locals) -> Scope:
        return Scope({**self.locals, **found}, self.types)


@dataclass
class World:
    """The state of a run: a session's definitions beyond the library, the cost so far, and the effects."""
    library: Definitions = field(default_factory=Definitions)
    functions: dict[str, typed.Function] = field(default_factory=dict)
    datatypes: dict[str, typed.Datatype] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    effects: Effects = field(default_factory=Effects)
    depth_limit: int = DEPTH
    seeded: int = mix(0)                                    # the random state in which each top-level form begins
    state: int = 0                                          # the running activation's state, see random_numbers
    work: int = 0
    depth: int = 0
    calls: list[Call] = field(default_factory=list)         # the functions now running, within the running form
    nested: int = 0                                         # the number of these functions
    elements: list[int] = field(default_factory=list)       # positions in the user's apply-to-eaches, outermost first
    deeper: str = ""                                        # the hint that says how to allow deeper recursion
    widths: Widths = FULL                                   # of the program's numbers
    uses: LastUses = field(default_factory=LastUses)        # of names

    def function(self, name: str) -> typed.Function | None:
        return self.functions.get(name) or self.library.function(name)

    def datatype(self, name: str) -> typed.Datatype | None:
        return self.datatypes.get(name) or self.library.datatype(name)

    def content(self, data: Data) -> Type:
        datatype = self.datatype(data.name)
        assert datatype is not None, data.name
        return content_type(datatype, data)

    def draw(self) -> int:
        """64 random bits."""
        bits = mix(self.state)
        self.state = state_after(self.state)
        return bits

    def charge(self, work: int, depth: int = 1) -> None:
        self.work += work
        self.depth += depth

    def running(self) -> tuple[int, str]:
        """The number of running functions, and the name of the last one."""
        site = self.calls[-1].site if self.calls else None
        function = site.function if site else None
        return self.nested, shown_name(function.name) if isinstance(function, typed.Global) else "a function"

    def expect(self, elements: int) -> None:
        """Announce elements about to be made by a primitive that reads none. Subclasses may refuse them."""


@dataclass(frozen=True)
class Result:
    """The value of a top-level form or of a call, with what it cost."""
    pattern: typed.Pattern
    value: Any
    work: int
    depth: int


# Running programs -------------------------------------------------------------------------------

def run(program: typed.Program, world: World | None = None) -> list[Result]:
    """Add the program's definitions to the world, in order. Returns the values of its variables."""
    world = World() if world is None else world
    return run_deep(lambda: [r for d in program.definitions for r in define(world, d)])


def call(world: World, name: str, argument: Any, types: tuple[Type, ...] = ()) -> Result:
    """Apply a function of the world, at types, to a plain value (a tuple for several arguments)."""
    def value() -> Any:
        return apply(world, GlobalValue(name, types), argument, None)
    return run_deep(lambda: measured(world, typed.NamePattern("it", Var("a")), value))


def define(world: World, definition: typed.Definition) -> list[Result]:
    match definition:
        case typed.Function(name):
            world.functions[name] = definition
        case typed.Datatype(name):
            world.datatypes[name] = definition
        case typed.Variable(pattern, value):
            result = measured(world, pattern, lambda: evaluate_form(world, value))
            hold(result.value)
            bind(pattern, result.value, world.variables)
            return [result]
    return []


def evaluate_form(world: World, value: typed.Exp) -> Any:
    world.uses.learn(value)
    world.calls.append(Call(None, value))
    return evaluate(world, value, Scope({}, {}))


def measured(world: World, pattern: typed.Pattern, value: Callable[[], Any]) -> Result:
    """Evaluate one top-level form, and measure its cost. It draws the same random numbers as if it were the first."""
    world.work, world.depth, world.state = 0, 0, world.seeded
    world.calls.clear()
    world.nested = 0
    world.elements.clear()
    try:
        with frames_for(FRAMES):
            return Result(pattern, value(), world.work, world.depth)
    except RecursionError:
        raise too_deep(world) from None
    finally:
        world.effects.positions.clear()
        world.effects.let_out()


@dataclass(frozen=True)
class Running:
    """What is under way where an element fails: calls, how many of them, and elements."""
    calls: tuple[Call, ...]
    nested: int
    positions: tuple[int, ...]
    elements: tuple[int, ...]

    @staticmethod
    def of(world: World) -> Running:
        return Running(tuple(world.calls), world.nested, tuple(world.effects.positions), tuple(world.elements))

    def again(self, world: World) -> None:
        world.calls[:], world.nested = self.calls, self.nested
        world.effects.positions[:], world.elements[:] = self.positions, self.elements


# Expressions ------------------------------------------------------------------------------------

def evaluate(world: World, exp: typed.Exp, scope: Scope) -> Any:
    match exp:
        case typed.Const(value):
            return world.widths.constant(value)
        case typed.String(characters):
            return Made(characters)
        case typed.Name(name):
            value = scope.locals[name] if name in scope.locals else world.variables[name]
            if id(exp) in world.uses.kept:
                hold(value)
            return value
        case typed.Global(name, types):
            return GlobalValue(name, tuple(substitute(t, scope.types) for t in types))
        case typed.Let(pattern, value, body):
            found: Locals = {}
            bind(pattern, evaluate(world, value, scope), found)
            return evaluate(world, body, scope.bind(found))
        case typed.If(condition, then, orelse):
            chosen = evaluate(world, condition, scope)
            world.charge(1)
            return evaluate(world, then if chosen else orelse, scope)
        case typed.Apply(typed.Global("_check"), typed.Pair(condition, typed.Pair(message, value)), _, origin=origin):
            return evaluate_check(world, condition, message, value, scope, origin)
        case typed.Apply(function, argument):
            applied = evaluate(world, function, scope)
            given = evaluate(world, argument, scope)
            lent = [v for name in world.uses.lent.get(id(exp), ()) for v in sequences(scope.locals.get(name))]
            for v in lent:
                v.holders += 1
            result = apply(world, applied, given, exp)
            give_back(lent, result)
            return result
        case typed.Pair(first, second):
            a = evaluate(world, first, scope)
            return a, evaluate(world, second, scope)
        case typed.Sequence(elements):
            world.charge(max(1, len(elements)))
            return Made([evaluate(world, e, scope) for e in elements])
        case typed.Each():
            return evaluate_each(world, exp, scope)
        case typed.Lambda():
            for captured in exp.captured:
                hold(scope.locals.get(captured.name))
            return LambdaValue(exp, scope)
        case typed.Closure(function, argument):
            closed = evaluate(world, function, scope)
            first = evaluate(world, argument, scope)
            hold(first)
            return ClosureValue(closed, first)
        case typed.Time(body):
            start = time.perf_counter()
            return evaluate(world, body, scope), world.widths.rounded(time.perf_counter() - start)
    raise TypeError(exp)


def evaluate_check(world: World, condition: typed.Exp, message: typed.Exp, value: typed.Exp, scope: Scope,
                   origin: Origin) -> Any:
    holds = evaluate(world, condition, scope)
    world.charge(1)
    if not holds:
        values = compared(condition, lambda name: evaluate(world, name, scope), world.widths.digits)
        raise error_at(world, condition, "".join(evaluate(world, message, scope)), origin, values, after=True)
    return evaluate(world, value, scope)


def evaluate_each(world: World, each: typed.Each, scope: Scope) -> list[Any]:
    """Evaluate an apply-to-each, one element after another. Each element begins at the depth that the sources
    reached. Of several failures the one of the first step, and there of the first element, is raised."""
    sources = [evaluate(world, g.source, scope) for g in each.generators]
    if len(set(map(len, sources))) > 1:
        lengths = " and ".join(str(len(source)) for source in sources)
        last = each.generators[-1].source
        raise error_at(world, last, UNEQUAL, each.origin, f"the lengths are {lengths}", after=True)
    world.charge(1 + len(sources[0]))
    outer, start, deepest, drew = world.state, world.depth, world.depth, False
    results, is_own = Made(), user_span(each.origin[:1]) is not None
    calls, nested, around, own = len(world.calls), world.nested, len(world.effects.positions), len(world.elements)
    failed: tuple[StepFailed, Running] | None = None
    for position, elements in enumerate(zip(*sources, strict=True)):
        found: Locals = {}
        for generator, element in zip(each.generators, elements, strict=True):
            bind(generator.pattern, element, found)
        inner = scope.bind(found)
        first = element_state(outer, position)
        world.state, world.depth = first, start
        world.effects.positions.append(position)
        if is_own:
            world.elements.append(position)
        try:
            if each.filter is None or evaluate(world, each.filter, inner):
                results.append(evaluate(world, each.body, inner))
        except NessieError as error:
            if not isinstance(error, StepFailed):           # a limit
                if failed is None:
                    raise
                break
            if failed is None or error.at < failed[0].at:
                failed = error, Running.of(world)
            del world.calls[calls:]
            world.nested = nested
        deepest, drew = max(deepest, world.depth), drew or world.state != first
        del world.effects.positions[around:], world.elements[own:]
    if failed is not None:
        failed[1].again(world)
        if not around:
            world.effects.drop_after(failed[0].at[0])
        raise failed[0]
    world.state, world.depth = state_after(outer) if drew else outer, deepest
    if not world.effects.positions:
        world.effects.let_out()
    return results


def bind(pattern: typed.Pattern, value: Any, into: Locals) -> None:
    """Bind the pattern's names to the value's parts."""
    match pattern:
        case typed.NamePattern(name):
            if name != "_":
                into[name] = value
        case typed.PairPattern(first, second):
            bind(first, value[0], into)
            bind(second, value[1], into)
        case typed.DataPattern(_, _, argument):
            bind(argument, value.content, into)


# Functions --------------------------------------------------------------------------------------

def apply(world: World, function: Any, argument: Any, site: typed.Apply | None) -> Any:
    """Apply the function to the argument. `site` is the application in the program."""
    match function:
        case LambdaValue(written, scope):
            found: Locals = {}
            bind(written.pattern, argument, found)
            return evaluate_body(world, written.body, scope.bind(found), site)
        case ClosureValue(inner, first):
            return apply(world, inner, (first, argument), site)
        case GlobalValue(name, types):
            return apply_global(world, name, types, argument, site)
    raise TypeError(function)


def apply_global(world: World, name: str, types: tuple[Type, ...], argument: Any, site: typed.Apply | None) -> Any:
    if called := world.function(name):
        found: Locals = {}
        world.uses.learn(called.body, called.parameter)
        bind(called.parameter, argument, found)
        names = dict(zip((v.name for v in called.variables), types, strict=True))
        return evaluate_body(world, called.body, Scope(found, names), site)
    if world.datatype(name):
        return Record(name, argument)
    try:
        return apply_primitive(world, name, types, argument, site)
    except Failure as failure:
        raise error_at(world, site, str(failure), site.origin if site else (),
                       failure.values or applied(name, argument, world.widths.digits)) from None


def evaluate_body(world: World, body: typed.Exp, scope: Scope, site: typed.Apply | None) -> Any:
    """Run a function's body. Its call is recorded for errors."""
    world.charge(1)
    world.calls.append(Call(site, body, scope.locals))
    world.nested += 1
    if world.nested > world.depth_limit:
        raise too_deep(world)
    value = evaluate(world, body, scope)
    world.calls.pop()
    world.nested -= 1
    return value


def apply_primitive(world: World, name: str, types: tuple[Type, ...], argument: Any, site: typed.Apply | None) -> Any:
    match name:
        case "identity" | "_zero_of":
            world.charge(1)
            return identity(types[0], world.content, argument if name == "identity" else None)
        case "error":
            raise Failure("".join(argument))
        case "rand":
            world.charge(1)
            return narrowed(name, types, random_below(argument, world.draw(), world.widths), world.widths)
        case "_draw":
            world.charge(1)
            return wrap(world.draw())
        case "_precision" | "_bits" | "_digits" | "_steps":
            world.charge(1)
            widths = world.widths
            return {"_precision": widths.precision, "_bits": widths.ints, "_digits": widths.digits,
                    "_steps": 2.0 ** widths.precision}[name]
        case "rand_seed":
            world.effects.allow(name)
            world.state = world.seeded = mix(argument)
            return True
    if name in PRIMITIVES and PRIMITIVES[name].kind == "effect":
        assert site is not None
        type_ = instantiate(primitive_scheme(name, PRIMITIVES[name].type), types)
        assert isinstance(type_, Fun)
        world.charge(1)
        given = world.effects.do(name, argument, type_, world.content, world.calls, site)
        return given if world.widths == FULL else narrow(given, type_.result, world.widths)
    meaning = MEANING[name]
    check_shift(name, argument, world.widths)
    if name in COUNT:
        world.expect(COUNT[name](argument))
    if world.widths == FULL:
        value = meaning.value(types, argument)
    elif name in ("string", "_string_limited"):
        value = as_text(name, argument, world.widths.digits)
    else:
        value = narrowed(name, types, meaning.value(types, argument), world.widths)
    work = meaning.work(argument, value)
    if name in WRITES and is_in_place(world, name, types, argument[0], site):
        work = max(1, len(argument[1]))
    if work:
        world.charge(work, meaning.depth(argument, value) if meaning.depth else 1)
    if name == "elt":
        hold(value)
    return Made(value) if isinstance(value, list) and name not in PARTS else value


def is_in_place(world: World, name: str, types: tuple[Type, ...], destination: Any, site: typed.Apply | None) -> bool:
    """Is the destination written where it lies? What is combined at another width is not."""
    return (is_free(destination, types) and id(site) not in world.uses.again and not world.effects.positions
            and (name == "write" or world.widths == FULL))


# Errors -----------------------------------------------------------------------------------------

def error_at(world: World, step: typed.Exp | None, message: str, origin: Origin, values: str = "",
             after: bool = False) -> NessieError:
    """The error at the origin if that is in the user's own text, else at the nearest call that is. `step`: where the
    step that fails stands; `after`: it comes after all steps of what stands there."""
    return world.effects.failed(shown_at(world, message, origin, values), world.calls, step, after)


def shown_at(world: World, message: str, origin: Origin, values: str = "") -> NessieError:
    for place in (origin, *[call.site.origin for call in reversed(world.calls) if call.site]):
        if span := user_span(place):
            return NessieError(message, (span, values))
    return NessieError(message)


def too_deep(world: World) -> NessieError:
    found = shown_at(world, f"recursion is deeper than {world.nested - 1:,} calls", ())
    found.hint = world.deeper
    return found
