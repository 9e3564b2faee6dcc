"""Pass: where equal keys stand first is found by sorting them, as GPUs do not hash.

  in    flat lambda_cu
  out   flat lambda_cu without ORDERs of firsts
  how   in stable order equal keys are neighbours, and the first of them is in front:

            A = ORDER {i => k} n firsts
            -----------------------------------------------------------------------------------
            x = MAP {i => k} n
            o = ORDER {i => x[i]} n
            h = MAP {i => if i == 0 then 0 else if x[o[i]] /= x[o[i - 1]] then i else 0} n
            m = SCAN {i => h[i]} 0 max n                              the head before each
            A = PERMUTE {i => o[max(m[i], h[i])]} {i => o[i]} n into n (0) all

        over segments, whose positions stay in them, with `if j == 0 then i` instead of `if i == 0 then 0`. NaN differs
        from NaN, so each is its own first.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import NAMES
from nessie.lambda_cu.passes.replacing import ONE, ZERO, Replacing, with_runs_replaced
from nessie.lambda_cu.typing import Scope, index_thunk_types

MAX = ir.Thunk(("x", "y"), ir.Op("max", (ir.Var("x"), ir.Var("y"))))
HERE = ir.Var("i")


def sort_firsts(program: ir.Program) -> ir.Program:
    return with_runs_replaced(program, finds_firsts, Firsts)


def finds_firsts(kernel: ir.Kernel) -> bool:
    return any(isinstance(bind.soac, ir.Order) and bind.soac.firsts for bind in kernel.binds)


class Firsts(Replacing):
    """The kernels and statements that do what one run of an ORDER of firsts did."""

    def statements(self) -> Iterator[ir.Statement]:
        soac, total = self.bind.soac, self.total
        assert isinstance(soac, ir.Order)
        known = Scope({p.name: p.type for p in self.kernel.params}, self.functions)
        (base,) = index_thunk_types(soac.thunk, soac.space, known)
        space, ends = self.in_host_names(soac.space)
        keys, order, heads, before = map(self.local.fresh, ("key", "o", "head", "before"))
        key_type, int_type = ir.Array(base, total), ir.Array("int", total)
        yield self.map_of(soac.thunk, ((keys, base),), total)
        params = scope.indices(space)
        sort = ir.Order(scope.thunk(params, ir.Read(keys, HERE)), space)
        yield self.of(sort, {order: int_type}, {keys: key_type, **ends})
        last = ir.Read(keys, ir.Read(order, ir.Op("-", (HERE, ONE))))
        new = ir.If(ir.Op("/=", (ir.Read(keys, ir.Read(order, HERE)), last)), HERE, ZERO)
        first = ir.Op("==", (ir.Var(params[-2]) if len(params) > 1 else HERE, ZERO))
        body = ir.If(first, HERE, new)
        yield self.of(ir.Map(scope.thunk(params, body), space), {heads: int_type},
                      {keys: key_type, order: int_type, **ends})
        yield self.of(ir.Scan(scope.thunk(("i",), ir.Read(heads, HERE)), (ZERO,), MAX, ir.Flat(total)),
                      {before: int_type}, {heads: int_type})
        head = ir.Op("max", (ir.Read(before, HERE), ir.Read(heads, HERE)))
        (result,) = self.run.results
        move = ir.Permute(scope.thunk(("i",), ir.Read(order, head)), scope.thunk(("i",), ir.Read(order, HERE)),
                          ir.Flat(total), total, (ZERO,), "all")
        yield self.of(move, {result.name: int_type}, {before: int_type, heads: int_type, order: int_type})

    def in_host_names(self, space: ir.Space) -> tuple[ir.Space, dict[str, ir.Array]]:
        """The space as the host has it, and its offsets."""
        match space:
            case ir.Flat(size):
                return ir.Flat(self.size(size)), {}
            case ir.Uniform() | ir.Closed() | ir.Nested():
                return NAMES.map(space, self.size), {}
            case ir.Irregular(segments, offsets, total):
                count, ends = self.size(segments), self.given[offsets]
                assert isinstance(ends, ir.Var)
                return ir.Irregular(count, ends.name, self.size(total)), {ends.name: ir.Array("int", count, 1)}
