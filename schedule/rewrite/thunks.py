"""Puts thunks together: the tools that the fusion rules share."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import rename, scope
from nessie.lambda_cu.parts import children, map_children, subexpressions


@dataclass(frozen=True)
class Setting:
    """A rule's view of its kernel. `names`: the supply of names; `kept`: the results of the two bindings that are
    returned or that other bindings use; `failing`: the scalar functions that may fail."""
    names: Names
    kept: frozenset[str]
    failing: Collection[str] | None = None

    def fails(self, *exps: ir.Exp) -> bool:
        return any(scope.can_fail(exp, self.failing) for exp in exps)


def items(body: ir.Exp, count: int) -> tuple[ir.Exp, ...] | None:
    """The components of a body with `count` results, if it is a tuple of them or one result; else None."""
    if count == 1:
        return (body,)
    return body.items if isinstance(body, ir.Tuple) else None


def tuple_of(parts: Sequence[ir.Exp]) -> ir.Exp:
    return parts[0] if len(parts) == 1 else ir.Tuple(tuple(parts))


def beside(bodies: Sequence[tuple[ir.Exp, int]], names: Names) -> ir.Exp:
    """One body with the results of all bodies, in order; each is given with its number of results."""
    parts: list[ir.Exp] = []
    lets: list[tuple[tuple[str, ...], ir.Exp]] = []
    for body, count in bodies:
        components = items(body, count)
        if components is None:
            fresh = tuple(names.fresh("x") for _ in range(count))
            lets.append((fresh, body))
            components = tuple(map(ir.Var, fresh))
        parts += components
    result = tuple_of(parts)
    for fresh, body in reversed(lets):
        result = ir.Let(fresh, body, result)
    return result


def bound_to(names: Sequence[str], value: ir.Exp, body: ir.Exp) -> ir.Exp:
    """Return `let names = value in body`, with one let for each name if the value is a tuple."""
    components = items(value, len(names))
    if components is None:
        return ir.Let(tuple(names), value, body)
    for name, component in reversed(list(zip(names, components, strict=True))):
        body = ir.Let((name,), component, body)
    return body


def elements_for(arrays: Sequence[str], names: Names) -> dict[str, str]:
    """Fresh names for one element of each array."""
    return {array: names.fresh(array) for array in arrays if array != "_"}


def with_elements(body: ir.Exp, index: str, elements: Mapping[str, str]) -> ir.Exp:
    """Replace reads of the arrays at the index by their elements."""
    def change(read: ir.Read) -> ir.Exp | None:
        own = isinstance(read.index, ir.Var) and read.index.name == index
        return ir.Var(elements[read.array]) if own and read.array in elements else None

    return rename.replace_reads(body, change)


def reads_at_own_index(thunk: ir.Thunk, arrays: Collection[str]) -> bool:
    """Does the thunk read these arrays at its own index only?"""
    return set(arrays).isdisjoint(scope.passed(thunk.body)) and all(
        isinstance(read.index, ir.Var) and read.index.name == thunk.params[-1]
        for read in scope.reads(thunk.body) if read.array in arrays)


def index_only_reads(thunk: ir.Thunk, arrays: Collection[str]) -> bool:
    """Does the thunk use its index only to read these arrays, and its position, if it has one, for nothing?"""
    own = thunk.params[-1]
    hidden = {*thunk.params[-2:]}
    stack = [thunk.body]
    while stack:
        exp = stack.pop()
        match exp:
            case ir.Read(array, ir.Var(name)) if name == own and array in arrays:
                continue
            case ir.Var(name) if name in hidden:
                return False
        stack.extend(children(exp))
    return True


def at(thunk: ir.Thunk, params: Sequence[str], names: Names) -> ir.Exp:
    """The thunk's body at these indices, with fresh names of its own. A flat thunk takes the last index."""
    wanted = tuple(ir.Var(param) for param in params[len(params) - len(thunk.params):])
    return rename.instantiate(thunk, wanted, names)


def with_element_of(producer: ir.Thunk, arrays: Sequence[str], consumer: ir.Thunk, names: Names,
                    keep: Sequence[str] = (), count: int = 1) -> ir.Thunk:
    """The consumer's thunk, with the producer's results at the same index bound once. `keep`: the producer's results
    that the thunk returns too, before the consumer's own `count` results."""
    params = max(consumer.params, producer.params, key=len)
    elements = elements_for(arrays, names)
    body = with_elements(at(consumer, params, names), params[-1], elements)
    kept = [(ir.Var(elements[array]), 1) for array in keep]
    body = beside([*kept, (body, count)], names) if kept else body
    bound = [elements.get(array, "_") for array in arrays]
    return scope.thunk(params, bound_to(bound, at(producer, params, names), body))


# Tidying ----------------------------------------------------------------------------------------

def tidy(thunk: ir.Thunk, names: Names, failing: Collection[str] | None = None) -> ir.Thunk:
    """Tidy a thunk: read once each element that it surely reads, replace copies, and drop unread lets that cannot
    fail."""
    body = read_once(thunk.body, thunk.params, names)
    return scope.thunk(thunk.params, without_needless_lets(body, failing))


def read_once(body: ir.Exp, params: Collection[str], names: Names) -> ir.Exp:
    """Put a let around the body for each element at a parameter that it reads more than once, and at least once
    whatever the conditions are."""
    counts: dict[tuple[str, str], int] = {}
    sure: set[tuple[str, str]] = set()
    stack = [(body, True)]
    while stack:
        exp, always = stack.pop()
        match exp:
            case ir.Read(array, ir.Var(index)) if index in params:
                counts[array, index] = counts.get((array, index), 0) + 1
                if always:
                    sure.add((array, index))
            case ir.If(condition, then, orelse):
                stack += [(orelse, False), (then, False), (condition, always)]
                continue
            case ir.Fold():
                stack += [(exp.body, False), (exp.start, always), (exp.count, always)]
                continue
        stack += [(part, always) for part in reversed(children(exp))]
    elements = {key: names.fresh(key[0]) for key, count in counts.items() if count > 1 and key in sure}
    if not elements:
        return body

    def change(read: ir.Read) -> ir.Exp | None:
        key = (read.array, read.index.name) if isinstance(read.index, ir.Var) else ("", "")
        return ir.Var(elements[key]) if key in elements else None

    body = rename.replace_reads(body, change)
    for (array, index), element in reversed(elements.items()):
        body = ir.Let((element,), ir.Read(array, ir.Var(index)), body)
    return body


def without_needless_lets(body: ir.Exp, failing: Collection[str] | None) -> ir.Exp:
    """Replace names that are bound to names and constants, and drop unread lets, inner ones first. Every name in the
    body is bound once."""
    copies: dict[str, ir.Exp] = {}

    def put_in(exp: ir.Exp) -> ir.Exp:
        if isinstance(exp, ir.Var):
            return copies.get(exp.name, exp)
        if isinstance(exp, ir.Let) and len(exp.names) == 1:
            return lets_before(exp.names, put_in(exp.value), exp.body)
        return map_children(exp, put_in)

    def lets_before(names: tuple[str, ...], value: ir.Exp, body: ir.Exp) -> ir.Exp:
        """Return `let names = value in body`, with the value's own lets around it."""
        if isinstance(value, ir.Let):
            return ir.Let(value.names, value.value, lets_before(names, value.body, body))
        if isinstance(value, ir.Var | ir.Const):
            copies[names[0]] = value
            return put_in(body)
        if isinstance(body, ir.Var) and body.name == names[0]:
            return value
        return ir.Let(names, value, put_in(body))

    body = put_in(body)
    uses = Counter(exp.name for exp in subexpressions(body) if isinstance(exp, ir.Var))

    def drop(exp: ir.Exp) -> ir.Exp:
        if not isinstance(exp, ir.Let):
            return map_children(exp, drop)
        inner = drop(exp.body)
        if any(uses[name] for name in exp.names) or scope.can_fail(exp.value, failing):
            return ir.Let(exp.names, drop(exp.value), inner)
        uses.subtract(e.name for e in subexpressions(exp.value) if isinstance(e, ir.Var))
        return inner

    return drop(body)
