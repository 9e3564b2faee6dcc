"""Substitution and renaming. Nothing is captured: what a let or a fold binds is renamed if what comes in has the name.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.parts import updated
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import EXPRESSIONS, NAMES, THUNKS, children, map_children, subexpressions
from nessie.lambda_cu.scope import binds, bound_names, free_names

# Expressions ------------------------------------------------------------------------------------


def substitute(exp: ir.Exp, mapping: Mapping[str, ir.Exp]) -> ir.Exp:
    """The expression with free names replaced. An array can only be replaced by a name."""
    incoming = {name for value in mapping.values() for name in free_names(value)}
    clashing = incoming.intersection(bound_names(exp)) if incoming else set()
    names = Names(incoming | mapping.keys() | all_names(exp)) if clashing else Names()
    return _substitute(exp, mapping, clashing, names)


def _substitute(exp: ir.Exp, mapping: Mapping[str, ir.Exp], clashing: set[str], names: Names) -> ir.Exp:
    match exp:
        case ir.Var(name):
            return mapping.get(name, exp)
        case ir.Read(array, index):
            return ir.Read(as_name(mapping.get(array, ir.Var(array))), _substitute(index, mapping, clashing, names))
        case ir.CallScalar(arrays=(_, *_)):
            exp = replace(exp, arrays=tuple([as_name(mapping.get(array, ir.Var(array))) for array in exp.arrays]))
        case ir.Let() | ir.Fold():
            bound = binds(exp)
            renamed = {name: names.fresh(name) for name in bound if name in clashing}
            inner = {name: value for name, value in mapping.items() if name not in bound} \
                if renamed or not mapping.keys().isdisjoint(bound) else mapping
            if renamed:
                inner = {**inner, **{old: ir.Var(new) for old, new in renamed.items()}}
            outside = [_substitute(part, mapping, clashing, names) for part in children(exp)[:-1]]
            return binding(exp, renamed, outside, _substitute(exp.body, inner, clashing, names))
    return map_children(exp, lambda part: _substitute(part, mapping, clashing, names))


def binding(exp: ir.Let | ir.Fold, renamed: Mapping[str, str], outside: list[ir.Exp], body: ir.Exp) -> ir.Exp:
    """The let or fold with other names, and other parts before the body."""
    names = tuple([renamed.get(name, name) for name in exp.names])
    if isinstance(exp, ir.Let):
        (value,) = outside
        return ir.Let(names, value, body)
    count, start = outside
    return ir.Fold(renamed.get(exp.index, exp.index), count, names, start, body)


def as_name(exp: ir.Exp) -> str:
    if not isinstance(exp, ir.Var):
        raise TypeError("an array can only be replaced by another array")
    return exp.name


def all_names(exp: ir.Exp) -> set[str]:
    """Every name in the expression, free or bound."""
    names: set[str] = set()
    for e in subexpressions(exp):
        match e:
            case ir.Var(name) | ir.Read(name, _):
                names.add(name)
            case ir.Let() | ir.Fold():
                names.update(binds(e))
            case ir.CallScalar():
                names.update(e.arrays)
    return names


def rename(exp: ir.Exp, mapping: Mapping[str, str]) -> ir.Exp:
    """The expression with free names, of scalars or arrays, renamed; the same object where it has none of them."""
    found = {old: ir.Var(mapping[old]) for old in free_names(exp) if mapping.get(old, old) != old}
    return substitute(exp, found) if found else exp


def freshen(exp: ir.Exp, names: Names, mapping: Mapping[str, str] | None = None) -> ir.Exp:
    """The expression with all names that it binds fresh (and free names renamed by the mapping)."""
    return _freshen(exp, names, dict(mapping or {}))


def _freshen(exp: ir.Exp, names: Names, renamed: dict[str, str]) -> ir.Exp:
    match exp:
        case ir.Var(name):
            return ir.Var(renamed[name]) if name in renamed else exp
        case ir.Read(array, index):
            return ir.Read(renamed.get(array, array), _freshen(index, names, renamed))
        case ir.CallScalar(arrays=(_, *_)):
            exp = replace(exp, arrays=tuple([renamed.get(array, array) for array in exp.arrays]))
        case ir.Let() | ir.Fold():
            outside = [_freshen(part, names, renamed) for part in children(exp)[:-1]]
            bound = binds(exp)
            outer = {name: renamed.get(name) for name in bound}
            renamed.update((name, names.fresh(name)) for name in bound if name != "_")
            result = binding(exp, {name: renamed.get(name, name) for name in bound}, outside,
                             _freshen(exp.body, names, renamed))
            restore(renamed, outer)
            return result
    return map_children(exp, lambda part: _freshen(part, names, renamed))


def restore(mapping: dict[str, str], entries: Mapping[str, str | None]) -> None:
    """Set the entries to what they were."""
    for key, value in entries.items():
        if value is None:
            mapping.pop(key, None)
        else:
            mapping[key] = value


def replace_reads(exp: ir.Exp, change: Callable[[ir.Read], ir.Exp | None]) -> ir.Exp:
    """The expression with those reads replaced for which `change` gives something; indices first."""
    exp = map_children(exp, lambda part: replace_reads(part, change))
    if isinstance(exp, ir.Read):
        return change(exp) or exp
    return exp


# Thunks -----------------------------------------------------------------------------------------


def rename_thunk(thunk: ir.Thunk, mapping: Mapping[str, str]) -> ir.Thunk:
    """The thunk with the kernel's names renamed; parameters and lets that would clash get other names."""
    mapping = {old: new for old, new in mapping.items() if old != new and old in thunk.using}
    if not mapping:
        return thunk
    clashing = [param for param in thunk.params if param in mapping.values()]
    names = Names(all_names(thunk.body) | set(thunk.params) | set(thunk.using) | set(mapping.values()))
    fresh = {param: names.fresh(param) for param in clashing}
    using = tuple(dict.fromkeys(mapping.get(name, name) for name in thunk.using))
    return ir.Thunk(tuple(fresh.get(param, param) for param in thunk.params),
                    rename(thunk.body, {**mapping, **fresh}), using)


def freshen_thunk(thunk: ir.Thunk, names: Names) -> ir.Thunk:
    """The thunk with its own names (parameters, lets) fresh from the supply."""
    params = {param: names.fresh(param) for param in thunk.params if param != "_"}
    return ir.Thunk(tuple(params.get(param, param) for param in thunk.params),
                    freshen(thunk.body, names, params), thunk.using)


def instantiate(thunk: ir.Thunk, arguments: tuple[ir.Exp, ...], names: Names) -> ir.Exp:
    """The body for these arguments. Names and constants are put in; what must be computed is bound by a let,
    once, to a fresh name. The body's lets get fresh names too, so it can stand beside other instances."""
    atoms: dict[str, ir.Exp] = {}
    lets: list[tuple[str, ir.Exp]] = []
    for param, argument in zip(thunk.params, arguments, strict=True):
        if isinstance(argument, ir.Var | ir.Const):
            atoms[param] = argument
        else:
            name = names.fresh(param)
            atoms[param] = ir.Var(name)
            lets.append((name, argument))
    body = substitute(freshen(thunk.body, names), atoms)
    for name, argument in reversed(lets):
        body = ir.Let((name,), argument, body)
    return body


# Kernels ----------------------------------------------------------------------------------------


def rename_size(size: ir.Size, mapping: Mapping[str, str]) -> ir.Size:
    return mapping.get(size, size) if isinstance(size, str) else size


def rename_type(type_: ir.Type, mapping: Mapping[str, str]) -> ir.Type:
    return updated(type_, size=rename_size(type_.size, mapping)) if isinstance(type_, ir.Array) else type_


def rename_param(param: ir.Param, mapping: Mapping[str, str]) -> ir.Param:
    """The binding and the size in its type, renamed."""
    return updated(param, name=mapping.get(param.name, param.name), type=rename_type(param.type, mapping))


def rename_space(space: ir.Space, mapping: Mapping[str, str]) -> ir.Space:
    return NAMES.map(space, lambda size: rename_size(size, mapping))


def rename_soac(soac: ir.Soac, mapping: Mapping[str, str]) -> ir.Soac:
    """The SOAC with the kernel's names renamed everywhere: thunks, identities, space and sizes."""
    soac = THUNKS.map(soac, lambda thunk: rename_thunk(thunk, mapping))
    soac = EXPRESSIONS.map(soac, lambda exp: rename(exp, mapping))
    return NAMES.map(soac, lambda size: rename_size(size, mapping))


def rename_bind(bind: ir.Bind, mapping: Mapping[str, str]) -> ir.Bind:
    """The binding with the kernel's names renamed, the ones it binds too."""
    return replace(bind, names=tuple(mapping.get(name, name) for name in bind.names),
                   soac=rename_soac(bind.soac, mapping))


def rename_kernel(kernel: ir.Kernel, mapping: Mapping[str, str]) -> ir.Kernel:
    """The kernel with its own names (parameters and bindings) renamed; its name stays."""
    return replace(kernel, params=tuple(rename_param(param, mapping) for param in kernel.params),
                   binds=tuple(rename_bind(bind, mapping) for bind in kernel.binds),
                   returns=tuple(mapping.get(name, name) for name in kernel.returns))
