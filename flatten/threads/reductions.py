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
from nessie.mono.walk import expressions, map_parts, mentioned

REDUCE = "reduce_"
WRONG_RANGE = "In [s:e:l], e must be >= to s, and l must be positive."


def together(name: str, value: mono.Exp, exp: mono.Exp) -> mono.Exp | None:
    """Return the reduction `exp` of what is made of the elements of `value`, which has that name, as one of value's own
    elements: sum({e : x in {d : y in s}}) is sum({let x = d in e : y in s})."""
    match exp, value:
        case mono.Prim(reduce, (mono.Each(body, (mono.Generator(_, mono.Var(source)),)) as each,)), \
                mono.Each() if source == name and reduce.startswith(REDUCE) and name not in mentioned(body):
            joined = of_elements(each, value)
            return joined and replace(exp, arguments=(joined,))
    return None


def of_elements(each: mono.Each, source: mono.Each) -> mono.Each | None:
    """Return an apply-to-each over what `source` makes as one over source's own elements; None where a failure of one
    element would come before that of another, which is the first."""
    made = [exp for exp in (source.body, source.filter) if exp is not None]
    if each.filter is not None or not (total(each.body) or all(map(total, made))):
        return None
    (generator,) = each.generators
    body = mono.Let(generator.name, source.body, each.body, origin=source.origin)
    return mono.Each(body, source.generators, source.filter, origin=each.origin)


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
