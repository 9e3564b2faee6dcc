"""Evaluates thread expressions in the reference executor: each for all its lanes at once, in NumPy.

A lane is one index for which a thunk runs. A value is a NumPy scalar, the same in all lanes, or an array with one
element per lane; a tuple expression gives a tuple of values. An `if` evaluates each branch for exactly the lanes that
take it. Nothing is ever evaluated for no lanes at all.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nessie.base.values import DTYPES
from nessie.base.widths import WIDE
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.calls import Arrays, Called, run_calls
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.lanes import Lanes, Values, merged, pick, replaced, split
from nessie.lambda_cu.reference.operators import MEANINGS, Value

NO_TYPES: Mapping[str, ir.Type] = {}


class Evaluator:
    """Evaluates expressions where the names of `outside` (a kernel's, a host function's, or the arrays of a scalar
    function) are in scope. `types` has those of arrays whose elements are narrow."""

    def __init__(self, context: Context, outside: Mapping[str, Any], types: Mapping[str, ir.Type] = NO_TYPES) -> None:
        self.context, self.outside, self.types = context, outside, types

    def components(self, exp: ir.Exp, lanes: Lanes) -> Values:
        """Return the values of all components as a tuple, even of one."""
        value = self.value(exp, lanes)
        return value if isinstance(value, tuple) else (value,)

    def value(self, exp: ir.Exp, lanes: Lanes) -> Any:
        match exp:
            case ir.Const():
                return constant(exp)
            case ir.Var(name):
                value = lanes.local(name)
                return self.outside[name] if value is None else value
            case ir.Op(op, parts):
                return MEANINGS[op](*[self.value(part, lanes) for part in parts])
            case ir.Read(array, index):
                return self.element(array, self.value(index, lanes))
            case ir.If(condition, then, orelse):
                return self.conditional(self.value(condition, lanes), then, orelse, lanes)
            case ir.Let(names, value, body):
                lanes.names.update(zip(names, self.components(value, lanes), strict=True))
                return self.value(body, lanes)
            case ir.Fold():
                return self.fold(exp, lanes)
            case ir.Tuple(items):
                return tuple([self.value(item, lanes) for item in items])
            case ir.Fail(site, type_):
                told = lanes.fail()
                if len(told):
                    self.context.record(site, int(told.min()))
                return DTYPES[type_].type(0)
            case ir.CallScalar():
                return self.call(exp, lanes)
        raise TypeError(exp)

    def element(self, name: str, index: Value) -> Value:
        """Read elements of an array, as wide as they are computed with."""
        found, type_ = self.read(name, index), self.types.get(name)
        if isinstance(type_, ir.Array) and type_.base in WIDE:
            return found.astype(DTYPES[WIDE[type_.base]])
        return found

    def read(self, name: str, index: Value) -> Value:
        """Read elements of an array. After a failure an index may be wrong, and is clamped; before, it is an error of
        the compiler."""
        array = self.outside[name]
        if np.any(index < 0) or np.any(index >= len(array)):
            if self.context.error is None:
                self.context.inconsistent(f"an index is out of the range of {name}")
            if len(array) == 0:
                return array.dtype.type(0)
            index = np.clip(index, 0, len(array) - 1)
        return array[index]

    def inside(self, function: ir.ScalarFunction, arrays: Arrays) -> Evaluator:
        """Return what evaluates the scalar function's body when it reads these arrays."""
        types: dict[str, ir.Type] = {param.name: ir.Array(str(param.type), "_") for param in function.arrays}
        return Evaluator(self.context, dict(zip(types, arrays, strict=True)), types)

    def conditional(self, condition: Value, then: ir.Exp, orelse: ir.Exp, lanes: Lanes) -> Any:
        branches = split(condition, then, orelse, lanes)
        return merged([(self.value(branch, some), some) for branch, some in branches], lanes)

    def fold(self, exp: ir.Fold, lanes: Lanes) -> Any:
        """Go round with all lanes as long as any goes round; the others keep what they have."""
        counts = self.value(exp.count, lanes)
        held = self.components(exp.start, lanes)
        for at in range(int(np.max(counts))):
            self.context.poll()
            going = lanes if np.all(counts > at) else lanes.choose(np.flatnonzero(counts > at))
            going.names[exp.index] = np.int64(at)
            going.names.update(zip(exp.names, [pick(value, going.chosen) if going is not lanes else value
                                               for value in held], strict=True))
            found = self.components(exp.body, going)
            held = found if going is lanes else tuple([
                replaced(value, going.chosen, new, len(lanes.index)) for value, new in zip(held, found, strict=True)])
        return held[0] if len(held) == 1 else held

    def call(self, exp: ir.CallScalar, lanes: Lanes) -> Any:
        arguments = tuple([self.value(part, lanes) for part in exp.arguments])
        arrays = tuple([self.outside[array] for array in exp.arrays])
        results = run_calls(self, Called(exp.function, arguments, arrays), lanes.index)
        return results[0] if len(results) == 1 else results


def constant(const: ir.Const) -> Value:
    """The constant as a NumPy scalar; a char is its code point."""
    return DTYPES[const.type].type(ord(const.value) if isinstance(const.value, str) else const.value)
