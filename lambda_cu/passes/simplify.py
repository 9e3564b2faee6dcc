"""Pass: make a program of lambda_cu smaller without changing what it computes, which failures it has or what fuses.

  in    lambda_cu, flat or fused
  out   lambda_cu in which no binding, result, parameter, function, kernel or site is unused, no two kernels are equal
        up to names, and no run repeats an earlier one. These count as used: what may fail, the entry's parameters and
        results, a component of a REDUCE or SCAN if another is wanted, and what a recursion only passes round
  how   tidy the lets of new code once; then drop dead code and share, in turns until nothing changes. Each turn makes
        the program smaller, so this ends
"""
from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from nessie.base.call_graph import reachable
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.passes.dead_code import drop_dead_code
from nessie.lambda_cu.passes.lets import tidy_kernels, tidy_lets
from nessie.lambda_cu.passes.sharing import number_kernels, share_kernels, share_parameters, share_runs
from nessie.lambda_cu.scope import calls_of_functions, soac_expressions, statements
from nessie.lambda_cu.shape import Shape, shape


def simplify(program: ir.Program, untidy: Collection[str] | None = None) -> ir.Program:
    """Simplify the program. `untidy`: the kernels that are new in a program that was simplified before."""
    program = drop_uncalled(program)
    program = tidy_lets(program) if untidy is None else tidy_kernels(program, untidy)
    shapes: dict[int, tuple[ir.Kernel, Shape]] = {}         # by identity: passes keep kernels where they can

    def shape_of(kernel: ir.Kernel) -> Shape:
        if id(kernel) not in shapes:
            shapes[id(kernel)] = kernel, shape(kernel)
        return shapes[id(kernel)][1]

    before = None
    while program is not before:
        before = program
        program = drop_dead_code(share_parameters(share_runs(share_kernels(program, shape_of))))
    return number_kernels(drop_unreachable(program))


def drop_unreachable(program: ir.Program) -> ir.Program:
    """Drop the functions, kernels, scalar functions and sites that the entry does not lead to."""
    program = drop_uncalled(program)
    calls, failing = mentioned(expressions(program))
    inside = {f.name: mentioned((f.body,)) for f in program.scalar_functions}
    wanted = reachable({name: called for name, (called, _) in inside.items()}, calls)
    failing = failing.union(*(sites for name, (_, sites) in inside.items() if name in wanted))
    return replace(program, sites=tuple(site for site in program.sites if site.name in failing),
                   scalar_functions=tuple(f for f in program.scalar_functions if f.name in wanted))


def drop_uncalled(program: ir.Program) -> ir.Program:
    """Drop the functions and kernels that the entry does not lead to."""
    reached = reachable(calls_of_functions(program), (program.entry.function,))
    functions = tuple(f for f in program.functions if f.name in reached)
    run = {s.kernel for f in functions for s in statements(f.body) if isinstance(s, ir.Run)}
    return replace(program, functions=functions, kernels=tuple(k for k in program.kernels if k.name in run))


def expressions(program: ir.Program) -> list[ir.Exp]:
    """Return the expressions of the host and kernel levels."""
    host = [s.value for f in program.functions for s in statements(f.body) if isinstance(s, ir.HostLet)]
    return host + [exp for kernel in program.kernels for bind in kernel.binds for exp in soac_expressions(bind.soac)]


def mentioned(exps: Iterable[ir.Exp]) -> tuple[set[str], set[str]]:
    """Return the scalar functions that are called, and the sites of failures."""
    called, sites = set(), set()
    for exp in exps:
        for part in subexpressions(exp):
            if isinstance(part, ir.CallScalar):
                called.add(part.function)
            elif isinstance(part, ir.Fail):
                sites.add(part.site)
    return called, sites
