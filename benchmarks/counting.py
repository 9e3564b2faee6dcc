"""Counts what a launch of a kernel does, by running it in the reference executor.

    counted(kernel, arguments, context, in_place)       amounts by name (predictions.FEATURES), of a launch

What depends on the data is counted as it comes: survivors, branches taken, rounds of loops, lengths of rows, and where
reads and writes at computed indices go. An expression counts once, however often it is written; where it is the same in
all elements of a row, once a row; where it is the same everywhere, not at all. Operators of reductions and scans count
once an element, as written. `in_place`: the results that take the memory of an argument.

An access jumps if it is not next to the one before it: in a walk that of the element before, in a loop of a scalar
function that of the round before. A cache misses jumps that it has no room for, by the bytes that all of them touch,
and the first access to each line of an array for which it has no room.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import FUNCTION, OPS
from nessie.lambda_cu.parts import subexpressions, thunks
from nessie.lambda_cu.reference.calls import Arrays
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import Launch
from nessie.lambda_cu.reference.lanes import Indices, Lanes, Values
from nessie.lambda_cu.reference.monoids import Segments
from nessie.lambda_cu.reference.operators import MEANINGS
from nessie.lambda_cu.reference.thunks import Evaluator
from nessie.lambda_cu.running.traffic import reads, total_of
from nessie.lambda_cu.scope import space_of
from nessie.lambda_cu.selection import selection
from nessie.lambda_cu.typing import Scope

CACHES = {"l1": 32 << 10, "l2": 512 << 10, "l3": 4 << 20, "far": 32 << 20}      # bytes; l3 is shared with others
LINE = 64
SHORT, MEDIUM = 32, 65536               # elements of rows that ORDER sorts in its three ways (skeletons.cpu.order)
ENTRY = 16                              # bytes of an entry of a table of hashes
NONE, FAR = np.zeros(0, np.int64), -1000


class Counts(Counter[str]):
    """Amounts."""

    def jumps(self, kind: str, count: int, lines: Indices, size: int) -> None:
        """So many jumps among these lines of an array of so many bytes."""
        seen = np.zeros(size // LINE + 2, np.bool_)
        seen[np.clip(lines, 0, len(seen) - 1)] = True
        distinct = int(np.count_nonzero(seen))
        for cache, room in CACHES.items():
            again = count * max(0.0, 1 - room / max(1, LINE * distinct))
            first = min(count, distinct) * max(0.0, 1 - room / max(1, size))
            self[f"{kind}_{cache}"] += max(again, first)


class Counting(Evaluator):
    """An evaluator that counts. `deep`: of a scalar function, whose rounds each lane goes through by itself."""

    def __init__(self, context: Context, outside: Mapping[str, Any], types: Mapping[str, ir.Type], counts: Counts,
                 deep: bool = False) -> None:
        super().__init__(context, outside, types)
        self.counts, self.deep = counts, deep
        self.lines: dict[int, Indices] = {}             # of reads in rounds, by expression: each lane's last line
        self.done: dict[int, tuple[Lanes, set[ir.Exp]]] = {}        # what has been counted, by lanes
        self.operators: set[int] = set()
        self.of_rows: set[int] = set()                  # expressions that are the same in all elements of a row
        self.rows = 0

    def inside(self, function: ir.ScalarFunction, arrays: Arrays) -> Evaluator:
        types: dict[str, ir.Type] = {param.name: ir.Array(str(param.type), "_") for param in function.arrays}
        return Counting(self.context, dict(zip(types, arrays, strict=True)), types, self.counts, True)

    def components(self, exp: ir.Exp, lanes: Lanes) -> Values:
        if id(exp) in self.operators:
            return Evaluator(self.context, self.outside, self.types).components(exp, lanes)
        return super().components(exp, lanes)

    def value(self, exp: ir.Exp, lanes: Lanes) -> Any:
        match exp:
            case ir.Op(op, parts):
                values = [self.value(part, lanes) for part in parts]
                self.count(kind_of(op, values), self.times(exp, values, lanes))
                return MEANINGS[op](*values)
            case ir.Read(array, index):
                at = self.value(index, lanes)
                if np.ndim(at) and (times := self.times(exp, [at], lanes)):
                    self.reading(exp, at, times, lanes)
                return self.element(array, at)
            case ir.CallScalar():
                self.count("calls", len(lanes.index))
        return super().value(exp, lanes)

    def conditional(self, condition: Any, then: ir.Exp, orelse: ir.Exp, lanes: Lanes) -> Any:
        if np.ndim(condition):
            self.count("branches", len(lanes.index))
            self.count("turns", int(np.count_nonzero(condition[1:] != condition[:-1])))
        return super().conditional(condition, then, orelse, lanes)

    def count(self, kind: str, times: int) -> None:
        self.counts[f"deep_{kind}" if self.deep else kind] += times

    def times(self, exp: ir.Exp, values: Sequence[Any], lanes: Lanes) -> int:
        """How often the expression of these values is computed for these lanes."""
        if lanes.outer is None and id(lanes) not in self.done:
            self.done.clear()
        around: Lanes | None = lanes
        while around is not None:
            kept = self.done.get(id(around))
            if kept is not None and exp in kept[1]:
                return 0
            around = around.outer
        self.done.setdefault(id(lanes), (lanes, set()))[1].add(exp)
        if self.deep:
            return len(lanes.index)
        if not any(np.ndim(value) for value in values):
            return 0
        return min(self.rows, len(lanes.index)) if id(exp) in self.of_rows else len(lanes.index)

    def reading(self, exp: ir.Read, at: Indices, times: int, lanes: Lanes) -> None:
        array = self.outside[exp.array]
        lines = at * array.itemsize // LINE
        if self.deep:
            place = lanes.place
            last = self.lines.get(id(exp), NONE)
            if len(last) <= place.max():
                last = np.append(last, np.full(place.max() + 1 - len(last), FAR))
            far = np.abs(lines - last[place]) > 1
            last[place] = lines
            self.lines[id(exp)] = last
            self.count("reads", times)
        else:
            far = np.append(True, np.abs(np.diff(lines)) > 1)
            apart = int(np.count_nonzero(np.abs(np.diff(at)) > 1))
            self.count("gathers", min(times, apart))
            self.count("reads", times - min(times, apart))
        self.counts.jumps("deep_jumps" if self.deep else "jumps", int(np.count_nonzero(far)), lines, array.nbytes)


def kind_of(op: str, values: Sequence[Any]) -> str:
    if op in ("/", "rem", "mod"):
        return "divisions" if values[0].dtype.kind == "f" else "quotients"
    if op == "sqrt":
        return "divisions"
    return {"exp": "exponentials", "ln": "exponentials"}.get(op, "functions" if OPS[op].cost == FUNCTION
                                                             else "operations")


class Counted(Launch):
    """A launch in the reference executor, which counts."""

    def __init__(self, kernel: ir.Kernel, arguments: Sequence[Any], context: Context) -> None:
        types = {param.name: param.type for param in kernel.params}
        super().__init__(dict(zip(types, arguments, strict=True)), Scope(types, context.scalar_functions), context)
        self.counts = Counts()
        self.counting = self.evaluator = Counting(context, self.values, self.scope.names, self.counts)
        self.streams: set[str] = set()
        for bind in kernel.binds:
            if isinstance(bind.soac, ir.Reduce | ir.Scan | ir.ReduceByIndex):
                self.counting.operators.add(id(bind.soac.operator.body))
            for thunk in thunks(bind.soac):
                if len(thunk.params) == 3:
                    self.counting.of_rows |= of_rows(thunk)
            self.bind(bind)
            self.beyond(bind)

    def at(self, thunk: ir.Thunk, over: Segments, chosen: Indices, types: tuple[str, ...]) -> Arrays:
        self.counting.rows = int(np.count_nonzero(over.lengths))
        return super().at(thunk, over, chosen, types)

    def beyond(self, bind: ir.Bind) -> None:
        """What the SOAC does beside its thunks."""
        soac, space, counts = bind.soac, space_of(bind.soac), self.counts
        self.streams.update(array for array, _, in_order in reads(soac, space) if in_order)
        total = 1 if space is None else self.size(total_of(space))
        counts["visits"] = max(counts["visits"], total)
        if isinstance(space, ir.Segmented):
            self.rows_of(space)
            counts["inside"] = max(counts["inside"], total)
        if isinstance(soac, ir.Reduce | ir.Scan | ir.ReduceByIndex):
            for kind, number in operations(soac.operator.body, self.context).items():
                counts[kind] += total * number
        if isinstance(soac, ir.Scan):
            counts["scanned"] += total
        if selection(bind):
            counts["filtered"] += total
        if isinstance(soac, ir.Partition):
            counts["writes"] += total * (len(bind.names) - 2) // 2
        if isinstance(soac, ir.Order):
            self.ordered(soac, bind.names[0])

    def rows_of(self, space: ir.Segmented) -> None:
        lengths, counts = self.segments(space).lengths, self.counts
        full = int(np.count_nonzero(lengths))
        counts["rows"] = max(counts["rows"], full)
        counts["empty"] = max(counts["empty"], len(lengths) - full)
        counts["uneven"] = max(counts["uneven"], int(np.count_nonzero(np.diff(lengths))))
        if isinstance(space, ir.Irregular):
            self.streams.add(space.offsets)

    def ordered(self, soac: ir.Order, name: str) -> None:
        """The words that sorting moves, by the way in which rows are sorted; of the greatest row, too."""
        over, counts = self.segments(soac.space), self.counts
        lengths = over.lengths
        if soac.firsts:
            distinct = int(np.count_nonzero(self.values[name] == np.arange(over.total)))
            counts["hashed"] += over.total
            counts.jumps("stores", over.total, np.arange(distinct * ENTRY // LINE), distinct * ENTRY)
            return
        if soac.values and isinstance(soac.space, ir.Flat):
            counts["library"] += over.total * np.log2(over.total + 2)
            return
        keys = Evaluator(self.context, self.values, self.scope.names)
        lanes = Lanes(np.arange(over.total), dict(zip(soac.thunk.params, over.parameters(
            np.arange(over.total), len(soac.thunk.params)), strict=True)))
        found = np.broadcast_to(keys.components(soac.thunk.body, lanes)[0], over.total)
        digits = digits_of(found)
        long, medium = lengths[lengths > MEDIUM], lengths[(lengths > SHORT) & (lengths <= MEDIUM)]
        short = lengths[lengths <= SHORT]
        counts["ordered rows"] += len(lengths)
        counts["inserted"] += float(np.sum(short * short)) / 4
        counts["moved"] += float(np.sum(medium)) * min(digits, 4)
        counts["moved far"] += float(np.sum(long)) * digits
        counts["alone"] = max(float(np.max(lengths, initial=0)) / max(1, over.total), counts["alone"])

    def filter(self, value: ir.Thunk, predicate: ir.Thunk, over: Segments, types: tuple[ir.Type, ...],
               flat: bool) -> Sequence[Any]:
        self.evaluator = Evaluator(self.context, self.values, self.scope.names)
        holds = self.everywhere(predicate, over, ("bool",))[0]
        self.counts["chosen"] += int(np.count_nonzero(np.diff(holds)))
        self.evaluator = self.counting
        return super().filter(value, predicate, over, types, flat)

    def writes(self, soac: ir.Write, over: Segments, types: tuple[ir.Type, ...]) -> tuple[Indices, Arrays]:
        index, columns = super().writes(soac, over, types)
        for column in columns:
            lines = index * column.itemsize // LINE
            far = int(np.count_nonzero(np.abs(np.diff(lines)) > 1)) + 1 if len(lines) else 0
            self.counts["writes"] += len(lines)
            self.counts.jumps("stores", far, lines, self.size(soac.size) * column.itemsize)
        return index, columns


def digits_of(keys: np.ndarray[Any, Any]) -> int:
    """The digits of eight bits in which keys differ."""
    if len(keys) == 0:
        return 0
    words = keys.view(np.int64) if keys.dtype.kind == "f" and keys.flags.c_contiguous else keys.astype(np.int64)
    differing = int(np.bitwise_or.reduce(words ^ words[0])) & ((1 << 64) - 1)
    lowest = (differing & -differing).bit_length() - 1 if differing else 0
    return -(-(differing.bit_length() - lowest) // 8)


def operations(exp: ir.Exp, context: Context) -> Counter[str]:
    """Of an operator, as written, with the functions that it calls."""
    found: Counter[str] = Counter()
    for part in subexpressions(exp):
        match part:
            case ir.Op("rem" | "mod", _):
                found["quotients"] += 1
            case ir.Op() | ir.If():
                found["operations"] += 1
            case ir.CallScalar(function, _):
                found += operations(context.scalar_functions[function].body, context)
    return found


def of_rows(thunk: ir.Thunk) -> set[int]:
    """The expressions of a thunk over segments that are the same in all elements of a row."""
    varying, found = set(thunk.params[1:]), set[int]()

    def same(exp: ir.Exp) -> bool:
        match exp:
            case ir.Var(name):
                return name not in varying
            case ir.Let(names, value, body):
                if not same(value):
                    varying.update(names)
                return same(body)
            case ir.Op(_, parts) | ir.CallScalar(_, parts):
                holds = all([same(part) for part in parts])
            case ir.Read(_, index):
                holds = same(index)
            case ir.If(condition, then, orelse):
                holds = all([same(condition), same(then), same(orelse)])
            case ir.Tuple(items):
                holds = all([same(item) for item in items])
            case _:
                return True
        if holds:
            found.add(id(exp))
        return holds

    same(thunk.body)
    return found


def counted(kernel: ir.Kernel, arguments: Sequence[Any], context: Context, in_place: Set[str]) -> Counts:
    """What a launch does; bytes `read` and `stored` in order, and `held` by all its arrays."""
    with np.errstate(all="ignore"):
        launch = Counted(kernel, arguments, context)
    sizes = {name: launch.values[name].nbytes for name in {*(p.name for p in kernel.params), *kernel.returns}
             if np.ndim(launch.values[name])}
    given, made = {param.name for param in kernel.params}, set(kernel.returns) - in_place
    found = launch.counts
    found["read"] = sum(size for name, size in sizes.items() if name in launch.streams & given)
    found["stored"] = sum(size for name, size in sizes.items() if name in made)
    found["held"] = sum(sizes.values()) - sum(sizes[name] for name in in_place)
    found["words"] = len(kernel.params) + len(kernel.returns)
    return found
