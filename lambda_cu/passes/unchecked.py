"""Pass: leave checks out (--unchecked).

  in    lambda_cu
  out   lambda_cu without conditionals that only choose between a value and a failure
  how   bottom up, in every expression of kernels, scalar functions and the host:

            if c then e else fail s    ==>    e          c cannot fail; likewise with the sides exchanged

        An expression that fails in any case (c is false: the user's own error) still fails.

A program in which no check fails computes the same, since each such conditional gave e. A program in which a check
would have failed computes anything, or reads and writes out of bounds.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import map_children, map_thunks
from nessie.lambda_cu.passes.lets import tidy_block
from nessie.lambda_cu.scope import can_fail, failing_functions, thunk

FALSE = ir.Const(False, "bool")


def unchecked(program: ir.Program) -> ir.Program:
    failing = failing_functions(program.scalar_functions)

    def unchecked(exp: ir.Exp) -> ir.Exp:
        exp = map_children(exp, unchecked)
        match exp:
            case ir.If(condition, then, orelse) if condition != FALSE and not can_fail(condition, failing):
                if only_fails(orelse):
                    return then
                return orelse if only_fails(then) else exp
        return exp

    def in_bind(bind: ir.Bind) -> ir.Bind:
        soac = map_thunks(bind.soac, lambda f: thunk(f.params, unchecked(f.body)))
        if isinstance(soac, ir.Reduce | ir.Scan):
            soac = replace(soac, identity=tuple(map(unchecked, soac.identity)))
        return replace(bind, soac=soac)

    return replace(
        program,
        scalar_functions=tuple(replace(f, body=unchecked(f.body)) for f in program.scalar_functions),
        kernels=tuple(replace(k, binds=tuple(map(in_bind, k.binds))) for k in program.kernels),
        functions=tuple(replace(f, body=tidy_block(f.body, unchecked)) for f in program.functions))


def only_fails(exp: ir.Exp) -> bool:
    """Does evaluating this do nothing but fail?"""
    match exp:
        case ir.Fail():
            return True
        case ir.Tuple(items):
            return bool(items) and all([only_fails(item) for item in items])
        case ir.Let(_, value):
            return only_fails(value)
    return False
