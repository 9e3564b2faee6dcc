"""Runs kernels for tests: a plan by the loops interpreter, and a kernel's meaning, its bindings one after another."""
from __future__ import annotations

from dataclasses import replace
from functools import cmp_to_key
from math import comb
from random import Random
from typing import Any

import numpy as np

from nessie.base.values import DTYPES
from nessie.cudagen.cpu import interpreted
from nessie.cudagen.cpu.interpreted import Interpreted
from nessie.cudagen.generate import generate
from nessie.cudagen.host.device import INDEX_BITS, MOST_ROUNDS, NO_FAILURE, Array
from nessie.cudagen.loops import interpreter as loops_interpreter
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.meanings import MEANINGS
from nessie.cudagen.loops.plan import EPOCH, THREADS, TICKETS
from nessie.cudagen.loops.unread import unread
from nessie.lambda_cu import nodes as ir

BASES = {dtype: base for base, dtype in DTYPES.items()}
EARLIER = 12                    # the epoch of a launch on a GPU that is not the first


def wrapped(value: int) -> int:
    """As ints of 64 bits have it."""
    return (value + 2**63) % 2**64 - 2**63


def program_of(kernel: ir.Kernel, sites: int = 4, scalars: tuple[ir.ScalarFunction, ...] = ()) -> ir.Program:
    return ir.Program(tuple(ir.Site(f"s{n}", f"site {n}") for n in range(sites)), scalars, (kernel,), (),
                      ir.Entry("none", (), ir.ScalarLayout("int")))


# Plans, interpreted -----------------------------------------------------------------------------


def run_plan(kernel: ir.Kernel, arguments: list[Any], width: int, program: ir.Program | None = None,
             order: int = 1) -> tuple[list[Any], int]:
    """The results and the error word. Chunks run one call each; backwards where `order` is -1."""
    device = Interpreted(replace(program or program_of(kernel), kernels=(kernel,)), width, order)
    found = device.launch(kernel.name, [device.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a
                                        for a in arguments])
    return [plain(value) for value in found], device.failure()


def plain(value: Any) -> Any:
    """A result, an array as a list."""
    if not isinstance(value, Array):
        return value
    return [chr(code) for code in value.buffer] if value.base == "char" else value.buffer.tolist()


# Meaning ----------------------------------------------------------------------------------------


class Meaning:
    """The bindings of a kernel one after another, element by element, on lists."""

    def __init__(self, kernel: ir.Kernel, arguments: list[Any], program: ir.Program | None = None) -> None:
        self.program = program or program_of(kernel)
        self.numbers = {site.name: n for n, site in enumerate(self.program.sites)}
        self.failed = NO_FAILURE
        self.values: dict[str, Any] = {p.name: a.tolist() if isinstance(a, np.ndarray) else a
                                       for p, a in zip(kernel.params, arguments, strict=True)}
        for bind in kernel.binds:
            self.values.update(zip(bind.names, self.soac(bind), strict=True))
        self.results = [self.values[name] for name in kernel.returns]

    def size(self, size: ir.Size) -> int:
        return size if isinstance(size, int) else self.values[size]

    def rows(self, space: ir.Space) -> list[list[tuple[int, ...]]]:
        match space:
            case ir.Flat(n):
                return [[(i,) for i in range(self.size(n))]]
            case ir.Uniform(segments, length, _):
                lengths = [self.size(length)] * self.size(segments)
            case ir.Closed(segments, terms, _):
                lengths = [sum([self.term(term, s) for term in terms]) for s in range(self.size(segments))]
            case ir.Nested(outer, terms, _, _):
                lengths = [sum([self.term(term, r) * comb(j, k) for k, term in enumerate(terms)])
                           for r, row in enumerate(self.rows(outer)) for j in range(len(row))]
            case ir.Irregular(_, offsets, _):
                ends = self.values[offsets]
                lengths = [b - a for a, b in zip(ends, ends[1:])]
        rows, flat = [], 0
        axes = [self.size(size) for size in space.outer] if isinstance(space, ir.Uniform) else []
        places: list[tuple[int, ...]] = list(np.ndindex(*axes)) if axes else [()] * len(lengths)
        for s, (outer, length) in enumerate(zip(places, lengths)):
            rows.append([(*outer, s, j, flat + j) for j in range(length)])
            flat += length
        return rows

    def term(self, term: ir.Term, s: int) -> int:
        """What the term adds to the length of a segment."""
        if s < self.size(term.first):
            return 0
        match term:
            case ir.Binomial(_, coefficients, doubling):
                times = 2 ** s if doubling else 1
                return sum([self.size(c) * comb(s, k) for k, c in enumerate(coefficients)]) * times
            case ir.Floor(_, factor, offset, divisor):
                return self.size(factor) * ((s + self.size(offset)) // divisor)

    def apply(self, thunk: ir.Thunk, arguments: tuple[Any, ...], index: int = 0) -> tuple[Any, ...]:
        return self.exp(thunk.body, dict(zip(thunk.params, arguments)), index)

    def exp(self, exp: ir.Exp, env: dict[str, Any], index: int) -> tuple[Any, ...]:
        match exp:
            case ir.Const(value):
                return (value,)
            case ir.Var(name):
                return (env[name] if name in env else self.values[name],)
            case ir.Op(name, arguments):
                return (MEANINGS[name](*(self.exp(a, env, index)[0] for a in arguments)),)
            case ir.Read(array, at):
                (k,) = self.exp(at, env, index)
                return (self.values[array][k] if 0 <= k < len(self.values[array]) else 0,)
            case ir.If(condition, then, orelse):
                return self.exp(then if self.exp(condition, env, index)[0] else orelse, env, index)
            case ir.Let(names, value, body):
                return self.exp(body, {**env, **dict(zip(names, self.exp(value, env, index)))}, index)
            case ir.Tuple(items):
                return tuple(self.exp(item, env, index)[0] for item in items)
            case ir.Fail(site, type_):
                self.failed = min(self.failed, (self.numbers[site] << INDEX_BITS) + index)
                return ({"int": 0, "float": 0.0, "bool": False, "char": "\0"}[type_],)
        raise TypeError(exp)

    def soac(self, bind: ir.Bind) -> list[Any]:
        soac = bind.soac
        if isinstance(soac, ir.Once):
            return list(self.apply(soac.thunk, ()))
        rows = self.rows(soac.space)
        flat = [at for row in rows for at in row]
        segmented = not isinstance(soac.space, ir.Flat)
        match soac:
            case ir.Map(thunk):
                return columns([self.apply(thunk, at, at[-1]) for at in flat], width(thunk))
            case ir.Reduce(thunk, identity, operator):
                totals = [self.fold(thunk, identity, operator, row)[1] for row in rows]
                return columns(totals, len(identity)) if segmented else list(totals[0])
            case ir.Scan(thunk, identity, operator, _, total):
                folds = [self.fold(thunk, identity, operator, row) for row in rows]
                return columns([x for before, _ in folds for x in before] + ([folds[0][1]] if total else []),
                               len(identity))
            case ir.Filter(value, predicate):
                kept = [at for at in flat if self.apply(predicate, at, at[-1])[0]]
                ends = [sum(at[-3] < s for at in kept) for s in range(len(rows) + 1)] if segmented else None
                return [len(kept), *columns([self.apply(value, at, at[-1]) for at in kept], width(value)),
                        *([ends] if segmented else [])]
            case ir.Partition():
                return self.partition(soac, flat)
            case ir.Permute() | ir.ReduceByIndex():
                return self.permute(soac, flat)
            case ir.Order(thunk, firsts=True):
                keys = {at: self.apply(thunk, at, at[-1])[0] for at in flat}
                return [[next((other[-1] for other in row if keys[other] == keys[at]), at[-1])
                         for row in rows for at in row]]
            case ir.Order(thunk, _, descending, values):
                order = [at for row in rows for at in self.ordered(thunk, row, descending)]
                return [[self.apply(thunk, at, at[-1])[0] if values else at[-1] for at in order]]
        raise TypeError(soac)

    def fold(self, thunk: ir.Thunk, identity: Any, operator: ir.Thunk, row: list[Any]) -> tuple[list[Any], Any]:
        now, before = tuple(self.exp(e, {}, 0)[0] for e in identity), []
        for at in row:
            before.append(now)
            now = self.apply(operator, now + self.apply(thunk, at, at[-1]))
        return before, now

    def partition(self, soac: ir.Partition, flat: list[Any]) -> list[Any]:
        tests = [self.apply(soac.predicate, at, at[-1])[0] for at in flat]
        values = [self.apply(soac.value, at, at[-1]) for at in flat]
        sides = [[v for v, t in zip(values, tests) if t == side] for side in (True, False)]
        positions = [tests[:at].count(test) for at, test in enumerate(tests)]
        w = width(soac.value)
        return [len(sides[0]), len(sides[1]), *columns(sides[0], w), *columns(sides[1], w), positions]

    def permute(self, soac: ir.Write, flat: list[Any]) -> list[Any]:
        size = self.size(soac.size)
        arrays = [[c.value] * size if isinstance(c, ir.Const) else
                  [*self.values[c.name], *[None] * (size - len(self.values[c.name]))] for c in soac.before]
        for at in flat:
            values, (target,) = self.apply(soac.value, at, at[-1]), self.apply(soac.index, at, at[-1])
            if 0 <= target < self.size(soac.size):
                if isinstance(soac, ir.ReduceByIndex):
                    values = self.apply(soac.operator, tuple(array[target] for array in arrays) + values)
                for array, value in zip(arrays, values):
                    array[target] = value
        return arrays

    def ordered(self, thunk: ir.Thunk, row: list[Any], descending: bool) -> list[Any]:
        keys = {at: self.apply(thunk, at, at[-1])[0] for at in row}

        def compare(a: Any, b: Any) -> int:
            x, y = keys[a], keys[b]
            if x != x or y != y:
                return int(x != x) - int(y != y)
            return (int(x > y) - int(x < y)) * (-1 if descending else 1)

        return sorted(row, key=cmp_to_key(compare))


def width(thunk: ir.Thunk) -> int:
    body = thunk.body
    while isinstance(body, (ir.Let, ir.If)):
        body = body.body if isinstance(body, ir.Let) else body.then
    return len(body.items) if isinstance(body, ir.Tuple) else 1


def columns(rows: list[Any], count: int) -> list[Any]:
    return [[row[c] for row in rows] for c in range(count)]


# The GPU's plans, interpreted -------------------------------------------------------------------


def run_cuda(kernel: ir.Kernel, arguments: list[Any], seed: int, width: int | None = None) -> tuple[list[Any], int]:
    """As run_plan, on threads in an order that the seed draws. `width`: items a thread."""
    module = unread(generate(program_of(kernel), "cuda", width))
    check(module)
    (plan,) = module.plans
    memory: dict[str, Any] = {p.name: a for p, a in zip(plan.parameters, arguments, strict=True)}
    memory["cells"] = np.zeros(plan.cells, np.int64)
    memory["errors"] = np.array([NO_FAILURE, MOST_ROUNDS, 0, 0, 0], np.int64)
    memory["interrupt"], memory[TICKETS], memory[EPOCH] = np.zeros(1, np.int64), np.zeros(2, np.int64), EARLIER
    for phase in plan.phases:
        interpreted.take_buffers(phase, memory)
        function = next(f for f in module.functions if f.name == phase.function)
        given = interpreted.arguments(function, phase, memory)
        sizes = [interpreted.size(size, memory) for size in (*phase.shape.grid, *phase.shape.block)] if phase.shape \
            else [1 if phase.chunks is None else interpreted.size(phase.chunks, memory), 1, 1, THREADS, 1, 1]
        if all(sizes):
            x, y, z, *threads = sizes
            loops_interpreter.launch(module, phase.function, given, (x, y, z), (threads[0], threads[1], threads[2]),
                                     order=Random(seed))
            assert not memory[TICKETS].any()
    bases = {buffer.name: buffer.base for phase in plan.phases for buffer in phase.buffers}
    return [plain(interpreted.result(r, memory, bases)) for r in plan.results], int(memory["errors"][0])
