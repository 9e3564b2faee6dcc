"""Where a write goes, and that it goes nowhere else.

    int target = is[i];                                     a place that is checked
    if (target >= 0 and target < n) {                       bool test = 0 <= ix and ix < n;
      out[target] = value;                                  if (test) { out[ix] = value; }
    }                                                       else { failed = min(failed, ...); }

Places outside the array are left out: -1 is meant so, and a failed check gives any index. A checked place has a branch
already; where the check is that it lies in the array, it needs no other.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.thunks import Tables, after_lets, scalar
from nessie.cudagen.loops import nodes as loops
from nessie.lambda_cu import nodes as ir


@contextmanager
def target(code: Code, tables: Tables, soac: ir.Write, arguments: tuple[Value, ...]) -> Iterator[loops.Exp]:
    """Do what is written meanwhile at the place, if there is one."""
    code.values.update(zip(soac.index.params, arguments, strict=True))
    exp = after_lets(code, tables, soac.index.body)
    if not (isinstance(exp, ir.If) and is_nowhere(exp.orelse)):
        place = code.let("target", scalar(code, tables, exp)).exp
        with code.block() as inside:
            yield place
        code.add(loops.If(in_array(code, place, soac.size), tuple(inside)))
        return
    test = code.let("test", scalar(code, tables, exp.condition)).exp
    with code.block() as then:
        place = code.let("target", scalar(code, tables, exp.then)).exp
        with code.block() as inside:
            yield place
        code.statements += inside if is_in_array(exp.condition, exp.then, soac.size) else [
            loops.If(in_array(code, place, soac.size), tuple(inside))]
    with code.block() as orelse:
        scalar(code, tables, exp.orelse)
    code.add(loops.If(test, tuple(then), tuple(orelse)))


def in_array(code: Code, place: loops.Exp, size: ir.Size) -> loops.Exp:
    return op("and", op(">=", place, integer(0)), op("<", place, code.size(size)))


def is_nowhere(exp: ir.Exp) -> bool:
    """Is it -1, perhaps after a failure?"""
    while isinstance(exp, ir.Let):
        exp = exp.body
    return isinstance(exp, ir.Const) and exp.value == -1


def is_in_array(condition: ir.Exp, place: ir.Exp, size: ir.Size) -> bool:
    """Does the condition say that the place lies in an array of this size?"""
    match condition:
        case ir.Op("and", (ir.Op("<=", (ir.Const(0), ir.Var(low))), ir.Op("<", (ir.Var(high), ir.Var(n))))):
            return isinstance(place, ir.Var) and low == high == place.name and n == size
    return False
