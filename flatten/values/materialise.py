"""Stores pull values: one MAP with several results over a domain, or scalars on the host.

Only the bounds of a sequence are stored, never its payload. A value that is stored already, is constant, or belongs to
a domain further out stays as it is.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from nessie.base.source import Origin
from nessie.base.widths import wide
from nessie.flatten.ranges.intervals import INTS
from nessie.flatten.ranges.proofs import doubtful
from nessie.flatten.ranges.ranges import Range, is_named
from nessie.flatten.ranges.step_forms import has_step_form
from nessie.flatten.values.contexts import AlikeContext, Context, where_some
from nessie.flatten.values.domains import HOST, TRUE, ZERO, At, Domain, atom_of, op, plus
from nessie.flatten.values.emitter import PLUS, Emitter
from nessie.flatten.values.values import (
    Both,
    Leaf,
    PairTerm,
    Pull,
    Scalar,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    components,
    delayed,
    element,
    name_pull,
    pull,
    rebuilt,
    seq_of,
    stored,
    zero_at,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.spaces.polynomials import names

INT = "int"
LIGHT, BOUND, WINDOW = 7, 24, 150       # parts of expressions: any, where a row starts, elements of windows
MOST_PARTS = 100                # parts of the bounds of a result's sequences
Kept = dict[Value, Value]       # a value that is not computed again, and the value that stands for it


def store(emitter: Emitter, domain: Domain, context: Context, parts: list[tuple[ir.Exp, str]], hint: str) -> list[str]:
    """Emit one MAP over the domain with these results, under the context's bindings."""
    results = context.declare(parts, domain.size, hint)
    body = context.elements(parts)
    emitter.run(ir.Map(scope.thunk(domain.params, body), emitter.walked(domain)), results)
    return [result.name for result in results]


def run_for_errors(emitter: Emitter, domain: Domain, context: Context) -> None:
    """Emit a MAP over the domain whose one result nobody reads: it only checks."""
    store(emitter, domain, context, [(ir.Const(0, INT), INT)], "checked")


def check_all(emitter: Emitter, domain: Domain, context: Context, condition: ir.Exp, message: str,
              origin: Origin) -> bool:
    """Let each element of the domain check the condition, which is the context's; the host does it where it is the same
    for all. Return whether each element does."""
    condition = doubtful(context.ranges, condition)
    if condition == TRUE:
        return False
    if domain is HOST or (not context.failing and context.hosts(condition)):
        emitter.require(where_some(domain, [context.used(condition)]), message, origin)
        return False
    context.check(condition, ir.Const(0, INT), INT, message, origin)
    run_for_errors(emitter, domain, context)
    return True


def check_before(emitter: Emitter, domain: Domain, context: Context, condition: ir.Exp, message: str,
                 origin: Origin) -> None:
    """Let each element of the domain check the condition, and the host wait: later kernels may rely on it."""
    right = context.check(condition, ZERO, INT, message, origin)
    [checked] = store(emitter, domain, context, [(right, INT)], "checked")
    failures = emitter.declare("failures", INT)
    each = scope.thunk(("i",), ir.Read(checked, ir.Var("i")))
    emitter.run(ir.Reduce(each, (ZERO,), PLUS, ir.Flat(domain.size)), [failures])
    emitter.require(op("==", ir.Var(failures.name), ZERO), message, origin)


def solid(emitter: Emitter, value: Value, domain: Domain, hint: str = "a", light: bool = False) -> Value:
    """Return the value with everything that is computed at this domain stored; `light`: except what is cheaper to
    compute."""
    if domain is HOST:
        return host_value(emitter, value, hint)
    context = Context(emitter, domain)
    missing: list[tuple[ir.Exp, str]] = []
    kept = note_missing(value, domain, domain.here(), context, missing, light)
    if any([context.hosts(exp) for exp, _ in missing]) and context.failures_alike():
        alike = alike_on_host(emitter, value, domain, hint)
        if alike:
            return solid(emitter, replaced(value, alike), domain, hint, light)
    return completed(emitter, value, domain, context, missing, kept, hint)


def alike_on_host(emitter: Emitter, value: Value, domain: Domain, hint: str) -> dict[Value, Scalar]:
    """Compute those scalars of the value on the host that all elements of the domain have alike, and return them. What
    can fail is checked where there are elements."""
    context, here = AlikeContext(emitter, domain), domain.here()
    found: dict[Value, Scalar] = {}
    for part in parts_of(value):
        if isinstance(part, Scalar) and not is_stored(part, domain):
            trial = Context(emitter, domain)
            if trial.alike(part.pull(here, trial)):
                found[part] = on_host(emitter, context, part.pull(here, context), part.base, hint, trial.failing)
    return found


def on_host(emitter: Emitter, context: AlikeContext, exp: ir.Exp, base: str, hint: str, guarded: bool) -> Scalar:
    """Return what all elements have alike as a scalar of the host; `guarded`: zero where there are no elements, as it
    takes what they check."""
    domain, exp = context.domain, context.used(exp)
    assert domain is not None
    if not guarded or (isinstance(domain.size, int) and domain.size > 0):
        return host_scalar(emitter, exp, base, hint)
    ranges = emitter.host().ranges
    form = ranges.form(exp) if wide(base) == INT else None
    held = host_scalar(emitter, ir.If(op("==", atom_of(domain.size), ZERO), zero_at(base), exp), base, hint)
    assert held.name is not None
    emitter.tables.zero_with[held.name] = domain.size
    if form is not None and is_named(form):
        emitter.learn_range(held.name, frozenset((domain.size,)),
                            Range(*(ranges.interval(exp) or INTS), (form,), (form,)))
    return held


def replaced(value: Value, by: Mapping[Value, Value]) -> Value:
    if isinstance(value, Both):
        return Both(replaced(value.first, by), replaced(value.second, by))
    return by.get(value, value)


def completed(emitter: Emitter, value: Value, domain: Domain, context: Context, missing: list[tuple[ir.Exp, str]],
              kept: Kept, hint: str) -> Value:
    """Return the value with the missing parts stored; what can fail runs in any case."""
    if not missing:
        if context.failing:
            run_for_errors(emitter, domain, context)
        return filled(value, domain, iter(()), kept)
    return filled(value, domain, iter(store(emitter, domain, context, missing, hint)), kept)


def with_scalars(emitter: Emitter, value: Value, domain: Domain, hint: str) -> Value:
    """Return the value with all its scalars computed at this domain stored together, because each may compute the
    others."""
    parts = parts_of(value)
    if len([None for part in parts if isinstance(part, Scalar) and not is_stored(part, domain)]) < 2:
        return value
    context, here = Context(emitter, domain), domain.here()
    missing: list[tuple[ir.Exp, str]] = []
    kept: Kept = {}
    for part in parts:
        kept |= note_missing(part, domain, here, context, missing, False) if isinstance(part, Scalar) else {part: part}
    return completed(emitter, value, domain, context, missing, kept, hint)


def parts_of(value: Value) -> list[Scalar | Sequence]:
    """Return the components of the value as a tuple."""
    pending, found = [value], list[Scalar | Sequence]()
    while pending:
        part = pending.pop()
        if isinstance(part, Both):
            pending += [part.second, part.first]
        else:
            found.append(part)
    return found


def with_short_bounds(emitter: Emitter, value: Value, domain: Domain, hint: str) -> Value:
    """Return the value, with bounds of sequences stored if they take more than MOST_PARTS parts to compute. The bounds
    of the elements are computed from them, and so on inwards."""
    if isinstance(value, Both):
        return Both(with_short_bounds(emitter, value.first, domain, hint),
                    with_short_bounds(emitter, value.second, domain, hint))
    if isinstance(value, Scalar) or domain is HOST or is_stored(value, domain):
        return value
    context = Context(emitter, domain)
    start, length = components(pull(value, domain, domain.here(), context))
    parts = subexpressions(context.result([start[0], length[0]]))
    return value if len(list(islice(parts, MOST_PARTS + 1))) <= MOST_PARTS else solid(emitter, value, domain, hint)


def is_stored(value: Scalar | Sequence, domain: Domain) -> bool:
    if isinstance(value, Scalar):
        return value.home is not domain or value.name is not None
    if value.home is not domain or value.dense:
        return True
    return value.start_name is not None and (value.even or value.length_name is not None)


def note_missing(value: Value, domain: Domain, at: At, context: Context,
                 missing: list[tuple[ir.Exp, str]], light: bool) -> Kept:
    """Add to `missing` the expressions to store, in the order of `filled`. Return the value that stands for each other
    part: itself, or one that an existing array holds."""
    if isinstance(value, Both):
        first = note_missing(value.first, domain, at, context, missing, light)
        return first | note_missing(value.second, domain, at, context, missing, light)
    if is_stored(value, domain):
        return {value: value}
    parts = list(components(pull(value, domain, at, context)))
    if isinstance(value, Sequence) and value.even:
        del parts[1]
    if isinstance(value, Scalar):
        array = own_element(parts[0][0], domain, context)
        if array is not None and context.emitter.types[array] == ir.Array(value.base, domain.size):
            return {value: stored(domain, array, value.base)}
    if light and all(is_light(exp, base, domain, context) for exp, base in parts):
        return {value: value}
    missing += parts
    return {}


def own_element(exp: ir.Exp, domain: Domain, context: Context) -> str | None:
    """Return the array whose element at the domain's own index this is."""
    exp = context.ranges.defined(exp)
    return exp.array if isinstance(exp, ir.Read) and exp.index == domain.here().i else None


def is_light(exp: ir.Exp, base: str, domain: Domain, context: Context) -> bool:
    """Is it no dearer to compute than to read? This holds for an element stored elsewhere at the same index, for those
    of a window, for an int that is a step polynomial of a few indices and sizes, and for a length that bounds give."""
    if context.failing:
        return False
    if is_window(exp, domain, context) or is_start(exp, context) or is_length(exp, context):
        return True
    if parts_up_to(exp, LIGHT) > LIGHT:
        return False
    if own_element(exp, domain, context) is not None:
        return True
    if wide(base) != INT:
        return False
    if context.noted(exp) is not None:
        return True
    known = known_at(context)
    return not scope.arrays_read(exp) and (
        known.issuperset(names(context.ranges.form(exp))) or has_step_form(context.ranges, exp, known))


def parts_up_to(exp: ir.Exp, most: int) -> int:
    """Count the parts of the expression, up to one more than the most."""
    return len([None for _, _ in zip(subexpressions(exp), range(most + 1))])


def is_start(exp: ir.Exp, context: Context) -> bool:
    """Is it where a row of one length, or a slice of one, starts, of indices that are quickly computed?"""
    start = context.ranges.defined(exp)
    return (any([isinstance(part, ir.Op) and part.op == "*" and context.noted(part) is not None
                 for part in summands(start, context)])
            and not scope.arrays_read(start) and parts_up_to(context.close(exp), BOUND) <= BOUND)


def summands(exp: ir.Exp, context: Context) -> list[ir.Exp]:
    exp = context.ranges.defined(exp)
    if isinstance(exp, ir.Op) and exp.op == "+":
        return [found for part in exp.arguments for found in summands(part, context)]
    return [exp]


def is_length(exp: ir.Exp, context: Context) -> bool:
    """Is it the length of a part whose lengths are a formula?"""
    return (context.noted(exp) is not None and not scope.arrays_read(exp)
            and parts_up_to(context.close(exp), BOUND) <= BOUND
            and has_step_form(context.ranges, exp, known_at(context)))


def known_at(context: Context) -> set[str]:
    """Return the names of indices and of the host."""
    assert context.domain is not None
    return {*context.domain.params, *context.emitter.types}


def is_window(exp: ir.Exp, domain: Domain, context: Context) -> bool:
    """Is it the element of a sequence, stored elsewhere, whose neighbours are this one's neighbours, or itself?"""
    exp = context.ranges.defined(exp)
    if domain.is_flat or not isinstance(exp, ir.Read):
        return False
    slopes = slopes_of(exp.index, context)
    return slopes is not None and slopes != {0} and parts_up_to(context.close(exp), WINDOW) <= WINDOW


def slopes_of(exp: ir.Exp, context: Context) -> set[int] | None:
    """Return by how much the int grows with the place j in a row, other than where it jumps: by one of -1, 0 and 1;
    None where that is not known."""
    exp = context.ranges.defined(exp)
    match exp:
        case ir.Var("j"):
            return {1}
        case ir.Op("+" | "-" as operator, (one, other)):
            a, b = slopes_of(one, context), slopes_of(other, context)
            if a is None or b is None:
                return None
            found = {x + y if operator == "+" else x - y for x in a for y in b}
            return found if found <= {-1, 0, 1} else None
        case ir.Op("min" | "max", (one, other)) | ir.If(_, one, other):
            a, b = slopes_of(one, context), slopes_of(other, context)
            return None if a is None or b is None else a | b
        case ir.Op("mod" | "rem", (one, other)) if slopes_of(other, context) == {0}:
            return slopes_of(one, context)
    return None if mentions(exp, "j", context) else {0}


def mentions(exp: ir.Exp, name: str, context: Context) -> bool:
    """Does the expression, with the definitions of what it mentions, mention the name?"""
    waiting, seen = [exp], set[str]()
    while waiting:
        for named in scope.free_names(waiting.pop()):
            if named == name:
                return True
            found = context.ranges.definition(named)
            if named not in seen and found is not None and not isinstance(found, Range):
                seen.add(named)
                waiting.append(found)
    return False


def filled(value: Value, domain: Domain, arrays: Iterator[str], kept: Kept) -> Value:
    """Return the value with the missing parts read from these arrays."""
    if value in kept:
        return kept[value]
    if isinstance(value, Both):
        first = filled(value.first, domain, arrays, kept)
        return Both(first, filled(value.second, domain, arrays, kept))
    if isinstance(value, Scalar):
        return stored(domain, next(arrays), value.base)
    start = next(arrays)
    if value.even:
        return replace(value, start=name_pull(domain, start), start_name=start)
    return view(domain, start, next(arrays), value.leaves)


def view(domain: Domain, start: str, length: str, leaves: tuple[Leaf, ...]) -> Sequence:
    """Return sequences over the domain whose bounds are stored."""
    return Sequence(domain, name_pull(domain, start), name_pull(domain, length), leaves,
                    False, start, length)


def host_value(emitter: Emitter, value: Value, hint: str) -> Value:
    """Return the value on the host with its scalars bound."""
    match value:
        case Both(first, second):
            return Both(host_value(emitter, first, hint), host_value(emitter, second, hint))
        case Scalar(name=None) | Sequence(dense=False):
            context = emitter.host()
            return from_host_term(emitter, pull(value, HOST, HOST.here(), context), hint)
    return value


def from_host_term(emitter: Emitter, term: Term, hint: str) -> Value:
    """Return the host's term as a value, its scalars bound to names."""
    match term:
        case ScalarTerm(exp, base):
            return host_scalar(emitter, exp, base, hint)
        case PairTerm(first, second):
            return Both(from_host_term(emitter, first, hint), from_host_term(emitter, second, hint))
        case SeqTerm(start, length, leaves):
            bounds = host_scalar(emitter, start, INT, hint), host_scalar(emitter, length, INT, hint)
            return Sequence(HOST, bounds[0].pull, bounds[1].pull, leaves, False, bounds[0].name, bounds[1].name)


def host_scalar(emitter: Emitter, exp: ir.Exp, base: str, hint: str) -> Scalar:
    match exp:
        case ir.Const():
            return Scalar(HOST, base, constant_pull(exp))
        case ir.Var(name):
            return stored(HOST, name, base)
    name = emitter.fresh(hint)
    emitter.host_let(name, exp, base)
    return stored(HOST, name, base)


def constant_pull(exp: ir.Const) -> Pull:
    return lambda at, context: exp


def elements(emitter: Emitter, sequence: Sequence, space: Domain, domain: Domain, guarded: bool = False) -> Value:
    """Return the elements, over `space`, of the sequences over the domain. `guarded`: a sequence may be shorter or
    longer than its segment of the space; then none of it is read. The test depends on the segment alone, not on the
    element."""
    if sequence.dense and sequence.home is domain and sequence.space is space:
        return sequence.leaves[0].value

    def term_at(at: At, context: Context) -> Term:
        up = context.climb(space, domain, at)
        bounds = seq_of(pull(sequence, domain, up, context))
        position = plus(bounds.start, context.within(space, at))
        if not guarded:
            return element(bounds.leaves, position, context)
        shape = element(bounds.leaves, position, Context(emitter, outer=context))
        return context.branch(ir.Op("==", (bounds.length, space.length(up.i))),
                              lambda inner: element(bounds.leaves, position, inner), lambda inner: zeros(shape))
    return delayed(space, term_at, term_at(space.here(), Context(emitter, space)))


def zeros(term: Term) -> Term:
    """Return a term of this shape that reads nothing."""
    return rebuilt(term, (zero_at(base) for _, base in components(term)))
