"""Pass: sort what GPUs cannot combine by an atomic operation.

  in    flat lambda_cu
  out   flat lambda_cu in which each REDUCE_BY_INDEX has an operator that is an atomic operation
  how   what goes to each place is brought together, in order, and reduced:

            A = REDUCE_BY_INDEX {i => e} {i => p} v (+) n into m B
            -----------------------------------------------------------------------------
            at = MAP {i => p} n; x = MAP {i => e} n
            o = ORDER {i => at[i]} n                           stable: elements stay in order
            c = REDUCE_BY_INDEX {i => 1} {i => at[i] + 1} 0 + n into m + 1 (0)       -1 comes first
            d = SCAN {s => c[s]} 0 + (m + 1) total
            r = SEG_REDUCE {(s, j, i) => x[o[i]]} v (+) irregular(d, m + 1, n)
            A = MAP {s => B[s] (+) r[s + 1]} m
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops, rename, scope
from nessie.lambda_cu.passes.replacing import ONE, ZERO, Replacing, with_runs_replaced

PLUS = ir.Thunk(("x", "y"), ir.Op("+", (ir.Var("x"), ir.Var("y"))))


def sort_reductions(program: ir.Program) -> ir.Program:
    return with_runs_replaced(program, must_sort, Sorting)


def must_sort(kernel: ir.Kernel) -> bool:
    return any(isinstance(bind.soac, ir.ReduceByIndex) and not atomic_operation(bind.soac) for bind in kernel.binds)


def atomic_operation(soac: ir.ReduceByIndex) -> str:
    """The atomic operation that does what the operator says, in any order the same; '' if there is none."""
    match soac.operator.body, soac.identity:
        case ir.Op(name, (ir.Var(a), ir.Var(b))), (ir.Const(_, base),) if {a, b} == {*soac.operator.params}:
            return ops.OPS[name].atomic.get(base, "")
    return ""


class Sorting(Replacing):
    """The kernels and statements that do what one run of a REDUCE_BY_INDEX did."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        soac = self.bind.soac
        assert isinstance(soac, ir.ReduceByIndex)
        operator = rename.freshen_thunk(soac.operator, self.local)          # none of whose names is the host's
        self.soac = replace(soac, operator=operator)

    def statements(self) -> Iterator[ir.Statement]:
        soac, total, origin = self.soac, self.total, self.run.origin
        bases = [result.type.base for result in self.run.results if isinstance(result.type, ir.Array)]
        at, more = self.local.fresh("at"), self.local.fresh("places")
        values = [self.local.fresh("x") for _ in bases]
        yield self.map_of(soac.index, ((at, "int"),), total)
        yield self.map_of(soac.value, tuple(zip(values, bases, strict=True)), total)
        yield ir.HostLet(ir.Param(more, "int"), ir.Op("+", (self.atom(soac.size), ONE)), origin=origin)
        order, counts, offsets = (self.local.fresh(name) for name in ("o", "count", "offset"))
        read = scope.thunk(("i",), ir.Read(at, ir.Var("i")))
        yield self.of(ir.Order(read, ir.Flat(total)), {order: ir.Array("int", total)}, {at: ir.Array("int", total)})
        place = scope.thunk(("i",), ir.Op("+", (ir.Read(at, ir.Var("i")), ONE)))
        yield self.of(ir.ReduceByIndex(ir.Thunk(("i",), ONE), place, (ZERO,), PLUS, ir.Flat(total), more, (ZERO,)),
                      {counts: ir.Array("int", more)}, {at: ir.Array("int", total)})
        yield self.of(ir.Scan(scope.thunk(("i",), ir.Read(counts, ir.Var("i"))), (ZERO,), PLUS, ir.Flat(more), True),
                      {offsets: ir.Array("int", more, 1)}, {counts: ir.Array("int", more)})
        sums = [self.local.fresh("sum") for _ in bases]
        sorted_ = tuple([ir.Read(name, ir.Read(order, ir.Var("i"))) for name in values])
        yield self.of(ir.Reduce(scope.thunk(("s", "j", "i"), one_or_tuple(sorted_)), soac.identity, soac.operator,
                                ir.Irregular(more, offsets, total)),
                      {name: ir.Array(base, more) for name, base in zip(sums, bases, strict=True)},
                      {order: ir.Array("int", total), offsets: ir.Array("int", more, 1),
                       **{name: ir.Array(base, total) for name, base in zip(values, bases, strict=True)}})
        yield self.finish(sums, more)

    def finish(self, sums: list[str], more: str) -> ir.Run:
        """What was there before, combined with the sums."""
        soac, kernel, index = self.soac, self.kernel, ir.Var("i")
        before = [ir.Read(exp.name, index) if isinstance(exp, ir.Var) else exp for exp in soac.before]
        types = {name: ir.Array(result.type.base, more) for name, result in zip(sums, self.run.results, strict=True)
                 if isinstance(result.type, ir.Array)}
        own = Names([*(p.name for p in kernel.params), *self.bind.names])
        size, inner = own.fresh("places"), {name: own.fresh(name) for name in types}
        after = [ir.Read(inner[name], ir.Op("+", (index, ONE))) for name in sums]
        body = rename.instantiate(soac.operator, (*before, *after), Names({*own.taken, "i"}))
        params = (ir.Param(size, "int"),
                  *(ir.Param(inner[name], replace(type_, size=size)) for name, type_ in types.items()))
        bind = replace(self.bind, soac=ir.Map(scope.thunk(("i",), body), ir.Flat(soac.size)))
        made = replace(kernel, name=self.names.fresh(kernel.name), params=(*kernel.params, *params), binds=(bind,))
        self.kernels.append(made)
        return replace(self.run, kernel=made.name, arguments=(*self.run.arguments, ir.Var(more), *map(ir.Var, sums)))


def one_or_tuple(items: tuple[ir.Exp, ...]) -> ir.Exp:
    return items[0] if len(items) == 1 else ir.Tuple(items)
