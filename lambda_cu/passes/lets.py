"""Tidies the lets of thunks, scalar functions and host expressions.

    x + 0, 1 * x, x / 1, ...      ==>  x                                 on ints (lambda_cu.ops: units)
    let y = x in e                ==>  e with x for y                    (also for a constant)
    let (a, b) = (e1, e2) in e    ==>  let a = e1 in let b = e2 in e
    let x = e in x                ==>  e                                 (also for a tuple)
    let x = e1 in e               ==>  e                                 x is not read and e1 cannot fail
    let (x, y) = e1 in e          ==>  let y = e1's second in e          x is not read and e1's first cannot fail

An expression that can fail stays evaluated wherever it was. No let binds a name that another around it binds, so names
can be carried inwards as they are.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from nessie.base.parts import updated
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import OPS
from nessie.lambda_cu.parts import map_children, map_thunks, subexpressions
from nessie.lambda_cu.scope import binds, can_fail, failing_functions, kept_items, map_statements, thunk


def tidy_lets(program: ir.Program) -> ir.Program:
    """Tidy the whole program."""
    failing = failing_functions(program.scalar_functions)

    def tidy(exp: ir.Exp) -> ir.Exp:
        return tidy_expression(exp, failing)

    program = tidy_kernels(program, {kernel.name for kernel in program.kernels})
    return updated(
        program,
        scalar_functions=tuple(updated(f, body=tidy(f.body)) for f in program.scalar_functions),
        functions=tuple(updated(f, body=tidy_block(f.body, tidy)) for f in program.functions))


def tidy_kernels(program: ir.Program, names: Collection[str]) -> ir.Program:
    """Tidy these kernels."""
    failing = failing_functions(program.scalar_functions)

    def tidy_thunk(f: ir.Thunk) -> ir.Thunk:
        body = tidy_expression(f.body, failing)
        return f if body is f.body else thunk(f.params, body)

    def tidy_bind(bind: ir.Bind) -> ir.Bind:
        return updated(bind, soac=map_thunks(bind.soac, tidy_thunk))

    return updated(program, kernels=tuple(
        updated(k, binds=tuple(map(tidy_bind, k.binds))) if k.name in names else k for k in program.kernels))


def tidy_expression(exp: ir.Exp, failing: Collection[str]) -> ir.Exp:
    return without_dead_lets(without_copies(exp, {}), failing)


def tidy_block(block: ir.Block, tidy: Callable[[ir.Exp], ir.Exp]) -> ir.Block:
    return map_statements(block, lambda s: updated(s, value=tidy(s.value)) if isinstance(s, ir.HostLet) else s)


def without_copies(exp: ir.Exp, known: dict[str, ir.Exp]) -> ir.Exp:
    """Apply the first four rules; `known` are the names bound so far that only repeat a name or a constant."""
    if isinstance(exp, ir.Var):
        return known.get(exp.name, exp)
    if not isinstance(exp, ir.Let):
        for name in binds(exp):
            known.pop(name, None)           # as below
        return without_unit(map_children(exp, lambda part: without_copies(part, known)))
    value = without_copies(exp.value, known)
    match value:
        case ir.Tuple(items) if len(items) == len(exp.names):
            return without_copies_among(tuple(zip(exp.names, items, strict=True)), exp.body, known)
    if len(exp.names) == 1:
        return without_copies_among(((exp.names[0], value),), exp.body, known)
    for name in exp.names:
        known.pop(name, None)               # the name may be a copy in another branch
    body = without_copies(exp.body, known)
    return value if repeats(exp.names, body) else ir.Let(exp.names, value, body)


def without_unit(exp: ir.Exp) -> ir.Exp:
    """Apply the first rule. Constants are typed, and both operands have the same type."""
    match exp:
        case ir.Op(op, (x, ir.Const(value, "int"))) if OPS[op].right == value:
            return x
        case ir.Op(op, (ir.Const(value, "int"), x)) if OPS[op].left == value:
            return x
    return exp


def without_copies_among(bound: tuple[tuple[str, ir.Exp], ...], body: ir.Exp, known: dict[str, ir.Exp]) -> ir.Exp:
    """Tidy let x = e in ... body, for each x and e; every e is tidy already."""
    copies = {name: value for name, value in bound if isinstance(value, ir.Var | ir.Const)}
    for name, _ in bound:
        known.pop(name, None)
    known.update(copies)
    result = without_copies(body, known)
    for name, value in reversed(bound):
        if name not in copies:
            result = value if repeats((name,), result) else ir.Let((name,), value, result)
    return result


def repeats(names: tuple[str, ...], body: ir.Exp) -> bool:
    """Does the body only repeat the names?"""
    if len(names) == 1:
        return isinstance(body, ir.Var) and body.name == names[0]
    return isinstance(body, ir.Tuple) and len(body.items) == len(names) and all(
        isinstance(item, ir.Var) and item.name == name for item, name in zip(body.items, names, strict=True))


def without_dead_lets(exp: ir.Exp, failing: Collection[str]) -> ir.Exp:
    """Apply the last rules. Inner lets go first, so that what only they read goes too."""
    if not any([isinstance(part, ir.Let) for part in subexpressions(exp)]):
        return exp
    count: Counter[str] = Counter()

    def tally(part: ir.Exp, by: int) -> None:
        for e in subexpressions(part):
            if isinstance(e, ir.Var):
                count[e.name] += by

    def visit(part: ir.Exp) -> ir.Exp:
        if not isinstance(part, ir.Let):
            return map_children(part, visit)
        body = visit(part.body)
        if not any(count[name] for name in part.names) and not can_fail(part.value, failing):
            tally(part.value, -1)
            return body
        keep = kept_components(part.value, [count[name] > 0 for name in part.names], failing)
        if all(keep):
            value = visit(part.value)
            return part if value is part.value and body is part.body else ir.Let(part.names, value, body)
        tally(part.value, -1)
        value = with_components(part.value, keep)
        tally(value, 1)
        return ir.Let(kept_items(part.names, keep), visit(value), body)

    tally(exp, 1)
    return visit(exp)


# Components of tuples -----------------------------------------------------------------------------


def kept_components(exp: ir.Exp, wanted: Sequence[bool], failing: Collection[str]) -> list[bool]:
    """Return flags of the components that are wanted or may fail; at least one is kept."""
    keep = [need or not is_total(exp, at, failing) for at, need in enumerate(wanted)]
    return keep if any(keep) else [True, *keep[1:]]


def is_total(exp: ir.Exp, at: int, failing: Collection[str]) -> bool:
    """Can this component of a tuple be left out? What precedes the tuple still runs."""
    match exp:
        case ir.Tuple(items):
            return not can_fail(items[at], failing)
        case ir.Let(_, _, body):
            return is_total(body, at, failing)
        case ir.If(_, then, orelse):
            return is_total(then, at, failing) and is_total(orelse, at, failing)
    return False


def with_components(exp: ir.Exp, keep: Sequence[bool]) -> ir.Exp:
    """Return the expression with only these components."""
    match exp:
        case ir.Tuple(items):
            kept = kept_items(items, keep)
            return kept[0] if len(kept) == 1 else ir.Tuple(kept)
        case ir.Let(names, value, body):
            return ir.Let(names, value, with_components(body, keep))
        case ir.If(condition, then, orelse):
            return ir.If(condition, with_components(then, keep), with_components(orelse, keep))
    raise TypeError(exp)
