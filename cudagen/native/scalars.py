"""Scalar expressions of the host level as records.

    values(exp, names, out)     slots with the expression's components, and their types; NotNative, if something in it
                                is left to Python: a function of the C library, a scalar function, very deep nesting
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.base.widths import wide
from nessie.cudagen.native.records import Records
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import result_type

DEEPEST = 100

Typed = tuple[int, ir.Type]                     # a slot of the frame, and the type of what it holds


class NotNative(Exception):
    """Python computes this."""


def values(exp: ir.Exp, names: Mapping[str, Typed], sites: Mapping[str, int], out: Records,
           depth: int = 0) -> list[tuple[int, str]]:
    """`sites`: the numbers of sites by name."""
    def parts(part: ir.Exp, known: Mapping[str, Typed] = names) -> list[tuple[int, str]]:
        return values(part, known, sites, out, depth + 1)

    if depth > DEEPEST:
        raise NotNative
    match exp:
        case ir.Const(_, type_):
            return [(out.constant(exp), type_)]
        case ir.Var(name):
            slot, found = names[name]
            assert isinstance(found, str)
            return [(slot, wide(found))]
        case ir.Op(op, arguments):
            given = [one for argument in arguments for one in parts(argument)]
            result = result_type(op, tuple([type_ for _, type_ in given]))
            if f"{op} {given[0][1]}" not in out.handlers or result is None:
                raise NotNative
            return [(out.operate(op, given[0][1], *[slot for slot, _ in given]), wide(result))]
        case ir.Read(array, index):
            (at, _), = parts(index)
            slot, read = names[array]
            assert isinstance(read, ir.Array)
            found_at = out.temporary()
            out.put(f"read {read.base}", found_at, slot, at)
            return [(found_at, wide(read.base))]
        case ir.Tuple(items):
            return [one for item in items for one in parts(item)]
        case ir.Let(bound, value, body):
            return parts(body, {**names, **dict(zip(bound, parts(value), strict=True))})
        case ir.Fail(site, type_):
            out.put("fail", sites[site])
            return [(out.temporary(), type_)]
        case ir.If():
            return conditional(exp, names, sites, out, depth)
    raise NotNative


def conditional(exp: ir.If, names: Mapping[str, Typed], sites: Mapping[str, int], out: Records,
                depth: int) -> list[tuple[int, str]]:
    """Both sides leave their results in the same slots."""
    (condition, _), = values(exp.condition, names, sites, out, depth + 1)
    otherwise = out.put("unless", condition, 0)
    then = values(exp.then, names, sites, out, depth + 1)
    results = [(out.temporary(), type_) for _, type_ in then]
    for (slot, _), (source, _) in zip(results, then, strict=True):
        out.put("move", slot, source)
    end = out.put("jump", 0)
    out.come_to(otherwise)
    orelse = values(exp.orelse, names, sites, out, depth + 1)
    for (slot, _), (source, _) in zip(results, orelse, strict=True):
        out.put("move", slot, source)
    out.come_to(end)
    return results
