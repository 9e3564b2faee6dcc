"""The validator of lambda_cu: check(program) raises IllFormed where an invariant of lambda_cu.ir's header is broken.

Beyond that header it holds what the header takes for granted: kernels, functions, scalar functions and sites have
different names and exist where they are mentioned; bindings have as many names as results; a thunk's own names differ
from those of its kernel; the entry's parameters and results are those of its layouts.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from nessie.base.source import IllFormed
from nessie.lambda_cu import ir
from nessie.lambda_cu.check_host import check_entry, check_function
from nessie.lambda_cu.scope import free_names, subexpressions, thunks
from nessie.lambda_cu.typing import (
    SCALARS,
    Scope,
    bound_types,
    check_type,
    functions_of,
    require,
    shown,
    type_of,
)


def check(program: ir.Program) -> None:
    """Raise IllFormed, naming the place and the invariant, unless the program is well formed."""
    for what, named in (("site", program.sites), ("scalar function", program.scalar_functions),
                        ("kernel", program.kernels), ("function", program.functions)):
        check_distinct(what, [item.name for item in named])
    sites = {site.name for site in program.sites}
    functions = functions_of(program)
    for function in program.scalar_functions:
        with within(f"scalar function {function.name}"):
            check_scalar_function(function, functions, sites)
    types = {}
    for kernel in program.kernels:
        with within(f"kernel {kernel.name}"):
            types[kernel.name] = check_kernel(kernel, functions, sites)
    for host in program.functions:
        with within(f"function {host.name}"):
            check_function(host, program, types)
    with within("entry"):
        check_entry(program)


@contextmanager
def within(place: str) -> Iterator[None]:
    """Prefix what is raised inside with the place."""
    try:
        yield
    except IllFormed as error:
        raise IllFormed(f"{place}: {error}") from None


def check_distinct(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        require(name not in seen, f"{what} {name} is defined twice")
        seen.add(name)


# Thread level -----------------------------------------------------------------------------------


def check_scalar_function(function: ir.ScalarFunction, functions: Mapping[str, ir.ScalarFunction],
                          sites: set[str]) -> None:
    scope = Scope({}, functions)
    for param in function.params:
        require(param.type in SCALARS, f"the parameter {param.name} is not a scalar")
        bind(param.name, param.type, scope)
    check_expression(function.body, set(scope.names), sites)
    types = type_of(function.body, scope)
    require(types == function.results, f"the body gives {shown(types)}, but the results are {shown(function.results)}")


def check_expression(exp: ir.Exp, taken: set[str], sites: set[str]) -> None:
    """Sites exist, tuples have not one item, `_` is not read; no let binds a name that is taken or that a let
    around it binds."""
    for part in subexpressions(exp):
        match part:
            case ir.Fail(site, _):
                require(site in sites, f"the program has no site {site}")
            case ir.Tuple((_,)):
                raise IllFormed("a tuple has one item")
            case ir.Var("_") | ir.Read("_", _):
                raise IllFormed("_ is read")
    check_lets(exp, set(taken))


def check_lets(exp: ir.Exp, bound: set[str]) -> None:
    if isinstance(exp, ir.Let):
        check_lets(exp.value, bound)
        names = [name for name in exp.names if name != "_"]
        for name in names:
            require(name not in bound, f"let binds {name}, which is bound already")
            bound.add(name)
        check_lets(exp.body, bound)
        bound.difference_update(names)
        return
    match exp:
        case ir.Op(_, parts) | ir.CallScalar(_, parts) | ir.Tuple(parts):
            for part in parts:
                check_lets(part, bound)
        case ir.Read(_, index):
            check_lets(index, bound)
        case ir.If(condition, then, orelse):
            check_lets(condition, bound)
            check_lets(then, bound)
            check_lets(orelse, bound)


# Kernel level -----------------------------------------------------------------------------------


def check_kernel(kernel: ir.Kernel, functions: Mapping[str, ir.ScalarFunction], sites: set[str]) -> tuple[ir.Type, ...]:
    """The types of what it returns."""
    scope = Scope({}, functions)
    for param in kernel.params:
        if param.type != "site":
            check_type(param.type, scope)
        bind(param.name, param.type, scope)
    sites = sites | {param.name for param in kernel.params if param.type == "site"}
    taken = {param.name for param in kernel.params} | {name for b in kernel.binds for name in b.names}
    for binding in kernel.binds:
        with within(f"let {', '.join(binding.names)}"):
            check_binding(binding, scope, taken, sites)
    for name in kernel.returns:
        require(name != "_", "_ is returned")
        require(name in scope.names, f"{name} is returned, but not bound")
    return tuple(scope.names[name] for name in kernel.returns)


def check_binding(binding: ir.Bind, scope: Scope, taken: set[str], sites: set[str]) -> None:
    """The binding is well formed; what it binds comes into scope."""
    soac = binding.soac
    for thunk in thunks(soac):
        check_thunk(thunk, scope, taken, sites)
    if isinstance(soac, ir.Reduce | ir.Scan):
        for exp in soac.identity:
            check_expression(exp, taken, sites)
    types = bound_types(binding, scope)
    require(len(types) == len(binding.names), f"{len(binding.names)} names are bound to {len(types)} results")
    for name, type_ in zip(binding.names, types, strict=True):
        bind(name, type_, scope)
    for name, type_ in zip(binding.names, types, strict=True):
        if name != "_":
            check_type(type_, scope)


def check_thunk(thunk: ir.Thunk, scope: Scope, taken: set[str], sites: set[str]) -> None:
    params = [name for name in thunk.params if name != "_"]
    check_distinct("parameter", params)
    for name in params:
        require(name not in taken, f"the parameter {name} is a name of the kernel too")
    check_distinct("name in using", thunk.using)
    for name in thunk.using:
        require(name in scope.names, f"using lists {name}, which is not in scope")
    free = set(free_names(thunk.body)).difference(params)
    for name in sorted(free.difference(thunk.using, {"_"})):
        raise IllFormed(f"a thunk reads {name}, which its using does not list")
    for name in thunk.using:
        require(name in free, f"using lists {name}, which the thunk does not read")
    check_expression(thunk.body, taken.union(params), sites)


def bind(name: str, type_: ir.Type, scope: Scope) -> None:
    """Bring the name into scope; `_` binds nothing."""
    if name != "_":
        require(name not in scope.names, f"{name} is bound twice")
        scope.names[name] = type_
