"""The parts of reductions, for the pass that keeps them in an element's thread: their elements, and copies of these."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import Origin
from nessie.base.types import BOOL, Base, Type
from nessie.flatten.threads import scalars
from nessie.lambda_cu import ops
from nessie.mono import nodes as mono
from nessie.mono.node_types import element_type
from nessie.mono.walk import expressions, is_trivial, map_parts, mentioned

REDUCE = "reduce_"
WRONG_RANGE = "In [s:e:l], e must be >= to s, and l must be positive."


def together(name: str, value: mono.Exp, exp: mono.Exp, places: Mapping[str, int],
             after: mono.Exp | None = None) -> mono.Exp | None:
    """Return the reduction `exp` of what is made of the elements of `value`, which has that name, as one of value's own
    elements: sum({e : x in {d : y in s}}) is sum({let x = d in e : y in s}). The elements may be numbered, too.
    `places`: of the functions that reduce, which argument is the sequence. None if anything else mentions the name,
    `after` as well."""
    each = reduced_each(exp, places)
    joined = of_elements(each, value, name) if each is not None and isinstance(value, mono.Each) else None
    if joined is None:
        return None
    made = with_reduced(exp, joined, places)
    others = [made] if after is None else [made, after]
    return None if any([name in mentioned(other) for other in others]) else made


def reduced_each(exp: mono.Exp, places: Mapping[str, int]) -> mono.Each | None:
    """Return the apply-to-each whose elements the expression reduces."""
    match exp:
        case mono.Prim(reduce, (mono.Each() as each,)) if reduce.startswith(REDUCE):
            return each
        case mono.Call(function, arguments) if function in places:
            source = arguments[places[function]]
            return source if isinstance(source, mono.Each) else None
    return None


def with_reduced(exp: mono.Exp, each: mono.Each, places: Mapping[str, int]) -> mono.Exp:
    """Return the reduction of another apply-to-each."""
    match exp:
        case mono.Call(function, arguments):
            place = places[function]
            return replace(exp, arguments=(*arguments[:place], each, *arguments[place + 1:]))
        case mono.Prim():
            return replace(exp, arguments=(each,))
    raise TypeError(exp)


def with_own_elements(each: mono.Each) -> mono.Each:
    """Return the apply-to-each over what other apply-to-eaches make as one over their elements, as far as that goes."""
    while len(each.generators) == 1 and isinstance(source := each.generators[0].source, mono.Each):
        joined = of_elements(each, source)
        if joined is None:
            break
        each = joined
    return each


def of_elements(each: mono.Each, source: mono.Each, name: str = "") -> mono.Each | None:
    """Return an apply-to-each over what `source` makes, which may have that name, as one over source's own elements;
    None where a failure of one element would come before that of another, which is the first."""
    made = [exp for exp in (source.body, source.filter) if exp is not None]
    if each.filter is not None or not (total(each.body) or all(map(total, made))):
        return None
    generator, *numbers = sorted(each.generators, key=lambda g: not (g.source is source or is_name(g.source, name)))
    if numbers and (source.filter is not None or not is_at_hand(source.generators[0].source)):
        return None
    numbered = [number_from(g, name, source.generators[0].source) for g in numbers]
    if not all(numbered) or not (generator.source is source or is_name(generator.source, name)):
        return None
    body = mono.Let(generator.name, source.body, each.body, origin=source.origin)
    return mono.Each(body, (*source.generators, *[g for g in numbered if g is not None]), source.filter,
                     origin=source.origin)


def is_at_hand(source: mono.Exp) -> bool:
    """Is its length free to compute, once more?"""
    match source:
        case mono.Prim("iseq", arguments):
            return all(map(is_trivial, arguments))
    return is_trivial(source)


def is_name(exp: mono.Exp, name: str) -> bool:
    return isinstance(exp, mono.Var) and exp.name == name


def number_from(generator: mono.Generator, name: str, other: mono.Exp) -> mono.Generator | None:
    """Return the generator of the numbers of the named sequence's elements for another sequence; None if it makes
    anything else."""
    match generator.source:
        case mono.Let(n, length, mono.Prim("iseq", (start, step, end)) as numbers) if is_name(end, n):
            pass
        case mono.Prim("iseq", (start, step, length)) as numbers:
            pass
        case _:
            return None
    match start, step, length:
        case mono.Const(0), mono.Const(1), mono.Prim("length", (whole,)) if is_name(whole, name):
            count = replace(length, arguments=(other,))
            return mono.Generator(generator.name, replace(numbers, arguments=(start, step, count)))
    return None


def identity(operator: str, type_: Type) -> mono.Const:
    assert isinstance(type_, Base)
    return mono.Const(scalars.identity(operator, type_.name).value, type_)


def total(exp: mono.Exp, safe: Collection[str] = ()) -> bool:
    """Can the expression, which is pure, not fail, whatever its variables are? The `safe` functions cannot."""
    for e in expressions(exp):
        match e:
            case mono.Prim(name):
                if name != "length" and (name not in ops.OPS or ops.OPS[name].domain):
                    return False
            case mono.Call(function) if function not in safe:
                return False
            case mono.Each():
                return False
    return True


def range_length(start: mono.Const, end: mono.Exp, origin: Origin) -> mono.Exp:
    right = mono.Prim("<=", (start, end), BOOL, origin=origin)
    return mono.Prim("check", (right, mono.String(WRONG_RANGE), mono.Prim("-", (end, start), start.type)),
                     start.type, origin=origin)


def element(source: mono.Exp, k: int, each: mono.Each, ints: Type) -> mono.Exp:
    """Return element k of the source; `ints` is the type of the program's ints."""
    match source:
        case mono.Literal(elements):
            return elements[k]
        case mono.Prim("iseq", (mono.Const(int(start), type_), mono.Const(int(step)), _)):
            return mono.Const(start + step * k, type_)
    return mono.Prim("elt", (source, mono.Const(k, ints)), element_type(source), origin=each.origin)


def free_variables(each: mono.Each, sources: list[mono.Exp]) -> dict[str, mono.Var]:
    """Return the variables that the sources, and the elements of the apply-to-each, mention and do not bind."""
    inside = [e for exp in (*sources, each.filter, each.body) if exp is not None for e in expressions(exp)]
    bound = {g.name for g in each.generators} | {e.name for e in inside if isinstance(e, mono.Let)}
    return {e.name: mono.Var(e.name, e.type) for e in inside if isinstance(e, mono.Var) and e.name not in bound}


def copied(exp: mono.Exp, by: Mapping[str, str], names: Names) -> mono.Exp:
    """Return a copy with these variables renamed, and with fresh names for those that it binds."""
    match exp:
        case mono.Var(name, type_):
            return mono.Var(by[name], type_, origin=exp.origin) if name in by else exp
        case mono.Let(name, value, body):
            fresh = names.fresh(name)
            return mono.Let(fresh, copied(value, by, names), copied(body, {**by, name: fresh}, names),
                            origin=exp.origin)
    return map_parts(exp, lambda part: copied(part, by, names))
