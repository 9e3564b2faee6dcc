"""Marks the failures that can tell the element of an apply-to-each: those whose index is the position the user sees.

    {10 / a : a in v}                       position 2 is a = v[2]
    {10 / a : a in v | a < 3}               position in v: a pure body runs within the filter's walk
    {sum(r) / a : ... | a < 3}              no: the index is a position among the survivors
    {{10 / a : a in v} : v in vv}           no: the index is a position in all of the v together

So a site tells its element under three conditions: it fails only in kernels that the entry runs over the elements of
one sequence, or in functions that only these call for an element; none of these elements were selected; and the user
wrote the code.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from nessie.base.call_graph import reachable
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import calls_in, results, soac_expressions, space_of, statements
from nessie.lambda_cu.selection import selection


def with_element_sites(program: ir.Program) -> ir.Program:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    functions = sites_of_functions(program)
    main = next(f for f in program.functions if f.name == program.entry.function)
    chosen, told, others = selections(program, main), set[str](), set[str]()
    runs = [s for f in program.functions for s in statements(f.body) if isinstance(s, ir.Run)]
    of_main = {id(s) for s in statements(main.body)}
    for run in runs:
        for bind in kernels[run.kernel].binds:
            each = id(run) in of_main and over_elements(bind, chosen)
            for exp in soac_expressions(bind.soac):
                (told if each else others).update(sites_in(exp, functions))
    for exp in host_expressions(program):
        others.update(sites_in(exp, functions))
    return replace(program, sites=tuple(replace(site, element=site.name in told - others) for site in program.sites))


def selections(program: ir.Program, main: ir.Function) -> set[ir.Size]:
    """Return the sizes that are not one sequence as the user sees it: survivors, sides, or all of some segments
    together."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    found: set[ir.Size] = set()
    for kernel in program.kernels:
        for bind in kernel.binds:
            space = space_of(bind.soac)
            if space is not None and not isinstance(space, ir.Flat):
                found.add(space.total)
    for statement in statements(main.body):
        selects = isinstance(statement, ir.Run) and any(
            selection(bind) for bind in kernels[statement.kernel].binds)
        if selects or isinstance(statement, ir.Call):
            found.update(result.name for result in results(statement))
    return found


def over_elements(bind: ir.Bind, chosen: set[ir.Size]) -> bool:
    space = space_of(bind.soac)
    return (isinstance(space, ir.Flat) and space.size not in chosen and not isinstance(bind.soac, ir.Scan)
            and bool(bind.origin) and not bind.origin[0].source.library)


def sites_of_functions(program: ir.Program) -> dict[str, set[str]]:
    """Return the sites at which each scalar function can fail, in its own code or in what it calls."""
    bodies = {f.name: f.body for f in program.scalar_functions}
    calls = {name: {call.function for call in calls_in(body)} for name, body in bodies.items()}
    own = {name: sites_in(body, {}) for name, body in bodies.items()}
    return {name: set().union(*[own[called] for called in reachable(calls, (name,))]) for name in bodies}


def sites_in(exp: ir.Exp, functions: Mapping[str, Set[str]]) -> set[str]:
    """Return the sites of the expression's failures, and of the functions that it calls."""
    found = set[str]()
    for part in subexpressions(exp):
        if isinstance(part, ir.Fail):
            found.add(part.site)
        elif isinstance(part, ir.CallScalar):
            found |= functions.get(part.function, set())
    return found


def host_expressions(program: ir.Program) -> Iterator[ir.Exp]:
    for function in program.functions:
        yield from (s.value for s in statements(function.body) if isinstance(s, ir.HostLet))
