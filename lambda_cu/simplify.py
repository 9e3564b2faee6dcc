"""Pass: make a program of lambda_cu smaller without changing what it computes, which failures it has or what fuses.

  in    lambda_cu, flat or fused
  out   lambda_cu in which no binding, result, parameter, function, kernel or site is unused, no two kernels are equal
        up to names, and no run repeats an earlier one. Never unused are what may fail, what the entry takes and gives,
        a component of a REDUCE or SCAN that another is wanted of, and what a recursion only hands round
  how   lets are tidied once; then dead code and sharing, in turns until nothing changes. Each turn makes the program
        smaller, so this ends
"""
from __future__ import annotations

from dataclasses import replace

from nessie.lambda_cu import ir
from nessie.lambda_cu.dead_code import drop_dead_code
from nessie.lambda_cu.lets import tidy_lets
from nessie.lambda_cu.scope import reachable, soac_expressions, statements, subexpressions
from nessie.lambda_cu.shape import Shape, shape
from nessie.lambda_cu.sharing import number_kernels, share_kernels, share_parameters, share_runs


def simplify(program: ir.Program) -> ir.Program:
    program = tidy_lets(drop_uncalled(program))
    shapes: dict[int, tuple[ir.Kernel, Shape]] = {}         # of the kernels met so far, which passes leave if they can

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
    """Without the functions, kernels, scalar functions and sites that the entry does not lead to."""
    program = drop_uncalled(program)
    exps = expressions(program)
    calls = {f.name: called(f.body) for f in program.scalar_functions}
    wanted = reachable(calls, {name for exp in exps for name in called(exp)})
    scalars = tuple(f for f in program.scalar_functions if f.name in wanted)
    failing = {part.site for exp in (*exps, *(f.body for f in scalars)) for part in subexpressions(exp)
               if isinstance(part, ir.Fail)}
    sites = tuple(site for site in program.sites if site.name in failing)
    return replace(program, sites=sites, scalar_functions=scalars)


def drop_uncalled(program: ir.Program) -> ir.Program:
    """Without the functions and kernels that the entry does not lead to."""
    calls = {f.name: {s.function for s in statements(f.body) if isinstance(s, ir.Call)} for f in program.functions}
    reached = reachable(calls, (program.entry.function,))
    functions = tuple(f for f in program.functions if f.name in reached)
    run = {s.kernel for f in functions for s in statements(f.body) if isinstance(s, ir.Run)}
    return replace(program, functions=functions, kernels=tuple(k for k in program.kernels if k.name in run))


def expressions(program: ir.Program) -> list[ir.Exp]:
    """The expressions of the host and kernel levels."""
    host = [s.value for f in program.functions for s in statements(f.body) if isinstance(s, ir.HostLet)]
    return host + [exp for kernel in program.kernels for bind in kernel.binds for exp in soac_expressions(bind.soac)]


def called(exp: ir.Exp) -> set[str]:
    return {part.function for part in subexpressions(exp) if isinstance(part, ir.CallScalar)}
