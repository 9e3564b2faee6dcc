"""Pass: make a program of lambda_cu smaller without changing what it computes, which failures it has or what fuses.

  in    lambda_cu, flat or fused
  out   lambda_cu in which no binding, result, parameter, function, kernel or site is unused (what may fail is never
        unused), no two kernels are equal up to names, and no run repeats an earlier one
  how   lets are tidied once; then dead code and sharing, in turns until nothing changes. Each turn makes the program
        smaller, so this ends
"""
from __future__ import annotations

from dataclasses import replace

from nessie.lambda_cu import ir
from nessie.lambda_cu.dead_code import drop_dead_code
from nessie.lambda_cu.lets import tidy_lets
from nessie.lambda_cu.scope import reachable, results, statements, subexpressions, thunks
from nessie.lambda_cu.sharing import share_kernels, share_parameters, share_runs


def simplify(program: ir.Program) -> ir.Program:
    program = tidy_lets(drop_unreachable(program))
    before: tuple[int, ...] = ()
    while (size := measure(program)) != before:
        before = size
        program = drop_dead_code(share_parameters(share_runs(share_kernels(program))))
    return share_kernels(drop_unreachable(program))


def measure(program: ir.Program) -> tuple[int, ...]:
    """How much of everything there is."""
    hosts = [statement for function in program.functions for statement in statements(function.body)]
    names = [param.name for statement in hosts for param in results(statement)]
    binds = [bind for kernel in program.kernels for bind in kernel.binds]
    bound = [name for bind in binds for name in bind.names]
    return (len(program.kernels), len(hosts), len(names), names.count("_"), len(binds), bound.count("_"),
            sum(len(kernel.params) + len(kernel.returns) for kernel in program.kernels),
            sum(len(f.using) for bind in binds for f in thunks(bind.soac)))


def drop_unreachable(program: ir.Program) -> ir.Program:
    """Without the functions, kernels, scalar functions and sites that the entry does not lead to."""
    reached = reached_functions(program)
    functions = tuple(f for f in program.functions if f.name in reached)
    run = {s.kernel for f in functions for s in statements(f.body) if isinstance(s, ir.Run)}
    kernels = tuple(kernel for kernel in program.kernels if kernel.name in run)
    exps = expressions(functions, kernels)
    calls = {f.name: called(f.body) for f in program.scalar_functions}
    wanted = reachable(calls, {name for exp in exps for name in called(exp)})
    scalars = tuple(f for f in program.scalar_functions if f.name in wanted)
    failing = {part.site for exp in (*exps, *(f.body for f in scalars)) for part in subexpressions(exp)
               if isinstance(part, ir.Fail)}
    sites = tuple(site for site in program.sites if site.name in failing)
    return replace(program, sites=sites, scalar_functions=scalars, kernels=kernels, functions=functions)


def reached_functions(program: ir.Program) -> set[str]:
    calls = {f.name: {s.function for s in statements(f.body) if isinstance(s, ir.Call)} for f in program.functions}
    return reachable(calls, (program.entry.function,))


def expressions(functions: tuple[ir.Function, ...], kernels: tuple[ir.Kernel, ...]) -> list[ir.Exp]:
    """The expressions of the host and kernel levels."""
    found: list[ir.Exp] = [s.value for f in functions for s in statements(f.body) if isinstance(s, ir.HostLet)]
    for kernel in kernels:
        for bind in kernel.binds:
            found += [f.body for f in thunks(bind.soac)]
            found += bind.soac.identity if isinstance(bind.soac, ir.Reduce | ir.Scan) else ()
    return found


def called(exp: ir.Exp) -> set[str]:
    return {part.function for part in subexpressions(exp) if isinstance(part, ir.CallScalar)}
