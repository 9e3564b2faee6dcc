"""The validator of lambda_cu: check(program) raises IllFormed where an invariant of lambda_cu.nodes's header is broken.

Beyond that header it holds what the header takes for granted: kernels, functions, scalar functions and sites have
different names and exist where they are mentioned; bindings have as many names as results; a thunk's own names differ
from those of its kernel; the entry's parameters and results are those of its layouts.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import check_tunable
from nessie.lambda_cu.check_expressions import (
    Place,
    check_expression,
    check_scalar_function,
    check_thunk,
    distinct,
)
from nessie.lambda_cu.check_host import Tables, check_entry, check_function
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.cover import mistake
from nessie.lambda_cu.mappings.kernels import extents_of, natural_of, root_of, space_of_part, why_not
from nessie.lambda_cu.parts import EXPRESSIONS, thunks
from nessie.lambda_cu.scope import type_names
from nessie.lambda_cu.typing import Scope, bound_types, check_type, functions_of, require


def check(program: ir.Program) -> None:
    """Raise IllFormed, naming the place and the invariant, unless the program is well formed."""
    for what, named in (("site", program.sites), ("scalar function", program.scalar_functions),
                        ("tunable", program.tunables), ("kernel", program.kernels), ("function", program.functions)):
        with within(what):
            distinct((item.name, item) for item in named)
    sites = {site.name for site in program.sites}
    scalars = functions_of(program)
    for function in program.scalar_functions:
        with within(f"scalar function {function.name}"):
            check_scalar_function(function, scalars, sites)
    types = {}
    for kernel in program.kernels:
        with within(f"kernel {kernel.name}"):
            types[kernel.name] = check_kernel(kernel, scalars, sites)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for tunable in program.tunables:
        with within(f"tunable {tunable.name}"):
            check_tunable(tunable)
    tables = Tables(kernels, types, {f.name: f for f in program.functions}, scalars, sites,
                    frozenset([tunable.name for tunable in program.tunables]))
    for host in program.functions:
        with within(f"function {host.name}"):
            check_function(host, tables)
    with within("entry"):
        check_entry(program.entry, tables)


@contextmanager
def within(place: str) -> Iterator[None]:
    """Prefix what is raised inside with the place."""
    try:
        yield
    except IllFormed as error:
        error.args = (f"{place}: {error}",)
        raise


def check_kernel(kernel: ir.Kernel, functions: Mapping[str, ir.ScalarFunction],
                 sites: Collection[str]) -> tuple[ir.Type, ...]:
    """The types of what it returns."""
    taken = distinct([(param.name, param) for param in kernel.params] +
                     [(name, b) for b in kernel.binds for name in b.names])
    place = Place(Scope({}, functions), taken, sites)
    for param in kernel.params:
        check_parameter(param, place.scope)
    for binding in kernel.binds:
        with within(f"let {', '.join(binding.names)}"):
            check_binding(binding, place)
    refused = why_not(kernel)
    require(refused is None, refused.message if refused else "")
    check_parts(kernel)
    return returned(kernel.returns, place.scope)


def check_parts(kernel: ir.Kernel) -> None:
    """One binding has parts at most, of the space that the kernel walks, and these have each index once."""
    cut = [soac for bind in kernel.binds if isinstance(soac := bind.soac, ir.Map | ir.Reduce) and soac.parts]
    if not cut:
        return
    require(isinstance(kernel.by, maps.Cases), "it has parts, but no mapping with cases")
    require(len(cut) == 1 and cut[0].space == root_of(kernel), "its parts are none of the space that it walks")
    wrong = mistake([space_of_part(part) for part in cut[0].parts], extents_of(cut[0].space), natural_of(kernel))
    require(not wrong, wrong)


def check_parameter(param: ir.Param, scope: Scope) -> None:
    if param.type != "site":
        check_type(param.type, scope)
    bind(param.name, param.type, scope)


def returned(names: tuple[str, ...], scope: Scope) -> tuple[ir.Type, ...]:
    """The types of what is returned."""
    for name in names:
        require(name != "_", "_ is returned")
        require(name in scope.names, f"{name} is returned, but not bound")
    return tuple(scope.names[name] for name in names)


def check_binding(binding: ir.Bind, place: Place) -> None:
    """The binding is well formed; what it binds comes into scope."""
    for thunk in thunks(binding.soac):
        check_thunk(thunk, place)
    for exp in EXPRESSIONS.of(binding.soac):
        check_expression(exp, place)
    types = bound_types(binding, place.scope)
    require(len(types) == len(binding.names), f"{len(binding.names)} names are bound to {len(types)} results")
    if isinstance(binding.soac, ir.ReduceByIndex):
        require(len({name == "_" for name in binding.names}) == 1, "REDUCE_BY_INDEX names all its results, or none")
    for name, type_ in zip(binding.names, types, strict=True):
        bind(name, type_, place.scope)
    for name, type_ in zip(binding.names, types, strict=True):
        if name != "_":
            require("_" not in type_names(type_), f"{name} is as long as a count says that has no name, but _")
            check_type(type_, place.scope)


def bind(name: str, type_: ir.Type, scope: Scope) -> None:
    """Bring the name into scope; `_` binds nothing."""
    if name != "_":
        scope.names[name] = type_
