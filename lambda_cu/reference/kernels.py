"""Kernels in the reference executor: bindings run one after another, each SOAC over its whole space in NumPy."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nessie.base.values import DTYPES
from nessie.base.widths import FULL
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import thunks
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.lanes import Indices, Lanes, Values
from nessie.lambda_cu.reference.monoids import Segments, join_segments, known_monoid, reduce_segments, scan_segments
from nessie.lambda_cu.reference.thunks import Evaluator, constant
from nessie.lambda_cu.running.traffic import bytes_moved
from nessie.lambda_cu.scope import outer_axes, space_names
from nessie.lambda_cu.text.soacs import upper
from nessie.lambda_cu.typing import Scope, bound_types

Arrays = tuple[NDArray[Any], ...]


def run_kernel(kernel: ir.Kernel, arguments: Sequence[Any], context: Context, spare: Collection[str] = ()) -> list[Any]:
    """Run the kernel; return its results, NumPy scalars and arrays. `spare`: the parameters that nothing but this
    launch holds."""
    values = {param.name: value for param, value in zip(kernel.params, arguments, strict=True)}
    scope = Scope({param.name: param.type for param in kernel.params}, context.scalar_functions)
    launch = Launch(values, scope, context, written_in_place(kernel, spare))
    elements = sum([launch.bind(bind) for bind in kernel.binds])
    found = context.idle_when(kernel)
    launched = found is None or any(arguments[number] for number in found.sizes)
    if launched:
        context.stats.count(elements)
    if launched and context.stats.detailed:
        moved = bytes_moved(context.traffic_of(kernel), values) - 2 * sum([values[n].nbytes for n in launch.in_place])
        context.stats.count_kernel(kernel.name, elements, int(moved))
    return [values[name] for name in kernel.returns]


def written_in_place(kernel: ir.Kernel, spare: Collection[str]) -> frozenset[str]:
    """Return those of the parameters that one write begins as, and nothing else in the kernel reads."""
    if not spare:
        return frozenset()
    used: Counter[str] = Counter()
    begun: Counter[str] = Counter()
    for bind in kernel.binds:
        used.update([name for thunk in thunks(bind.soac) for name in thunk.using])
        if isinstance(bind.soac, ir.Write):
            begun.update([exp.name for exp in bind.soac.before if isinstance(exp, ir.Var)])
        elif not isinstance(bind.soac, ir.Once):
            used.update(space_names(bind.soac.space))
    return frozenset([name for name in spare if begun[name] == 1 and name not in used])


class Launch:
    """One launch of a kernel, with the values of the names bound so far. `in_place`: the arrays that count as written
    where they lie."""

    def __init__(self, values: dict[str, Any], scope: Scope, context: Context, in_place: Collection[str] = ()) -> None:
        self.values, self.scope, self.context, self.in_place = values, scope, context, in_place
        self.evaluator = Evaluator(context, values, scope.names)

    def bind(self, bind: ir.Bind) -> int:
        """Bind the SOAC's results; return the number of elements walked."""
        soac = bind.soac
        types = bound_types(bind, self.scope)
        if isinstance(soac, ir.Once):
            walked = 1
            results: Sequence[Any] = self.evaluator.components(soac.thunk.body, Lanes(np.zeros(1, np.int64), {}))
            results = [np.asarray(value).reshape(-1)[0] for value in results]
        else:
            walked = self.size(soac.space.size if isinstance(soac.space, ir.Flat) else soac.space.total)
            self.reserve(types, walked)
            results = self.walk(soac, self.segments(soac.space), types)
        for name, type_, value in zip(bind.names, types, results, strict=True):
            if isinstance(type_, ir.Array):
                value = np.asarray(value, DTYPES[type_.base])
                self.context.hold(value)
            if name != "_":
                self.values[name], self.scope.names[name] = value, type_
        return walked + self.beside(soac)

    def beside(self, soac: ir.Soac) -> int:
        """Return how much a SOAC walks beside the elements of its space: the ends of segments, and all that a write
        fills, and copies."""
        if isinstance(soac, ir.Once):
            return 0
        ends = 0 if isinstance(soac.space, ir.Flat) else self.size(soac.space.segments)
        if not isinstance(soac, ir.Write):
            return ends
        filled = any([isinstance(exp, ir.Const) for exp in soac.before])
        copies = [exp.name for exp in soac.before if isinstance(exp, ir.Var) and exp.name not in self.in_place]
        return ends + self.size(soac.size) * (filled + len(copies))

    def walk(self, soac: ir.Soac, over: Segments, types: tuple[ir.Type, ...]) -> Sequence[Any]:
        match soac:
            case ir.Map():
                return self.split(soac, over, bases(types))
            case ir.Reduce(_, _, operator, space):
                items = self.split(soac, over, bases(types))
                sums = reduce_segments(items, self.identity(soac), operator, over, self.evaluator)
                return [column[0] for column in sums] if isinstance(space, ir.Flat) else sums
            case ir.Scan(thunk, _, operator, _, total):
                items = self.everywhere(thunk, over, bases(types))
                return scan_segments(items, self.identity(soac), operator, over, total, self.evaluator)
            case ir.Filter(value, predicate, space):
                return self.filter(value, predicate, over, types, isinstance(space, ir.Flat))
            case ir.Partition(value, predicate, _):
                return self.partition(value, predicate, over, types)
            case ir.Permute():
                return self.permute(soac, over, types)
            case ir.ReduceByIndex():
                return self.reduce_by_index(soac, over, types)
            case ir.Order(thunk, space, descending, values, firsts):
                keys = self.everywhere(thunk, over, (self.key_type(thunk, space),))[0]
                if firsts:
                    return [first_equals(keys, over)]
                order = ordered(keys, over, descending)
                return [keys[order] if values else order]
        raise TypeError(soac)

    # Thunks

    def everywhere(self, thunk: ir.Thunk, over: Segments, types: tuple[str, ...]) -> Arrays:
        """Return the thunk's components at every index of the space."""
        return self.at(thunk, over, np.arange(over.total), types)

    def at(self, thunk: ir.Thunk, over: Segments, chosen: Indices, types: tuple[str, ...]) -> Arrays:
        """Return the thunk's components, which are of these types, at the chosen indices."""
        count = len(chosen)
        if count == 0:
            return tuple(np.zeros(0, DTYPES[type_]) for type_ in types)
        lanes = Lanes(chosen, dict(zip(thunk.params, over.parameters(chosen, len(thunk.params)), strict=True)))
        values = self.evaluator.components(thunk.body, lanes)
        return tuple(np.array(np.broadcast_to(value, count)) for value in values)

    def split(self, soac: ir.Map | ir.Reduce, over: Segments, types: tuple[str, ...]) -> Arrays:
        """Return the thunk's components at every index. In the interior, and in each part, its own thunk must give the
        same; parts have each index once."""
        pending = self.context.error
        found = self.everywhere(soac.thunk, over, types)
        if pending is not None or over.total == 0:
            return found
        failed = self.context.error
        if soac.interior is not None:
            self.compare("an interior", soac.thunk, soac.interior.thunk, over, self.inside(soac.interior, over), types)
        chosen = [self.inside(part.inside, over, part) for part in soac.parts]
        for part, indices in zip(soac.parts, chosen, strict=True):
            self.compare("a part", soac.thunk, part.inside.thunk, over, indices, types)
        if chosen and np.any(np.bincount(np.concatenate(chosen), minlength=over.total) != 1):
            self.context.error = None
            self.context.inconsistent("parts do not have each index once")
        self.context.error = failed
        return found

    def compare(self, what: str, thunk: ir.Thunk, inside: ir.Thunk, over: Segments, chosen: Indices,
                types: tuple[str, ...]) -> None:
        """Raise InternalError unless the two thunks are the same at the chosen indices."""
        outcomes = [self.apart(f, over, chosen, types) for f in (inside, thunk)]
        (values, error), (expected, other) = outcomes
        same = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(values, expected, strict=True))
        if error != other or (error is None and not same):
            self.context.error = None
            self.context.inconsistent(f"{what} is not what its thunk is")

    def apart(self, thunk: ir.Thunk, over: Segments, chosen: Indices,
              types: tuple[str, ...]) -> tuple[Arrays, int | None]:
        """Return the thunk's components at the chosen indices, and the first failure there."""
        self.context.error = None
        values = self.at(thunk, over, chosen, types)
        return values, self.context.error

    def inside(self, interior: ir.Interior, over: Segments, part: ir.Part | None = None) -> Indices:
        """Return the indices of the interior; those of a part, if it is one's."""
        one = Lanes(np.zeros(1, np.int64), {})
        axes = 1 + len(over.outer or (0,))
        steps = list(zip(part.steps, part.widths, strict=True)) if part is not None else [(1, 1)] * axes
        if interior.rows is None:
            low, high = [int(value) for value in self.evaluator.components(interior.range.body, one)]
            indices = np.arange(max(low, 0), min(high, over.total))
            return indices[(indices - max(low, 0)) % steps[-1][0] < steps[-1][1]]
        self.context.error = None
        places = [int(value) for value in self.evaluator.components(interior.rows.body, one)]
        rows = np.flatnonzero(over.lengths)
        for low, high, axis in zip(places[::2], places[1::2], range(len(places) // 2), strict=True):
            at = over.axes(rows)[axis]
            rows = rows[(low <= at) & (at < high) & ((at - low) % steps[axis][0] < steps[axis][1])]
        if len(rows) == 0:
            return rows
        known = (*over.axes(rows), rows)[-len(interior.range.params):]
        lanes = Lanes(rows, dict(zip(interior.range.params, known, strict=True)))
        lows, highs = [np.broadcast_to(value, len(rows)) for value in
                       self.evaluator.components(interior.range.body, lanes)]
        lows, highs = np.maximum(lows, 0), np.minimum(highs, over.lengths[rows])
        counts = np.maximum(highs - lows, 0)
        places = np.arange(int(np.sum(counts))) - np.repeat(np.cumsum(counts) - counts, counts)
        found: Indices = (np.repeat(over.offsets[rows] + lows, counts) + places)[places % steps[-1][0] < steps[-1][1]]
        return found

    def identity(self, soac: ir.Reduce | ir.Scan) -> Values:
        lanes = Lanes(np.zeros(1, np.int64), {})
        return tuple(np.asarray(self.evaluator.value(exp, lanes)).reshape(-1)[0] for exp in soac.identity)

    def key_type(self, thunk: ir.Thunk, space: ir.Space) -> str:
        keys = bound_types(ir.Bind(("_",), ir.Map(thunk, space)), self.scope)
        return bases(keys)[0]

    # SOACs that move elements

    def filter(self, value: ir.Thunk, predicate: ir.Thunk, over: Segments, types: tuple[ir.Type, ...],
               flat: bool) -> Sequence[Any]:
        chosen = np.flatnonzero(self.everywhere(predicate, over, ("bool",))[0])
        offsets = [] if flat else [np.searchsorted(chosen, over.offsets).astype(np.int64)]
        kept = types[1:] if flat else types[1:-1]
        return [np.int64(len(chosen)), *self.at(value, over, chosen, bases(kept)), *offsets]

    def partition(self, value: ir.Thunk, predicate: ir.Thunk, over: Segments,
                  types: tuple[ir.Type, ...]) -> Sequence[Any]:
        holds = self.everywhere(predicate, over, ("bool",))[0]
        columns = self.everywhere(value, over, bases(types[2:2 + (len(types) - 3) // 2]))
        position = np.where(holds, np.cumsum(holds), np.cumsum(~holds)) - 1
        count = np.int64(np.count_nonzero(holds))
        return [count, np.int64(over.total) - count, *[column[holds] for column in columns],
                *[column[~holds] for column in columns], position.astype(np.int64)]

    def writes(self, soac: ir.Write, over: Segments, types: tuple[ir.Type, ...]) -> tuple[Indices, Arrays]:
        """Return where something is written, in order, and what."""
        size = self.size(soac.size)
        columns = self.everywhere(soac.value, over, bases(types))
        index = self.everywhere(soac.index, over, ("int",))[0]
        inside = (index >= 0) & (index < size)
        if not np.all(inside | (index == -1)) and self.context.error is None:
            self.context.inconsistent(f"a {upper(type(soac))} writes outside its result")
        return index[inside], tuple([column[inside] for column in columns])

    def reduce_by_index(self, soac: ir.ReduceByIndex, over: Segments, types: tuple[ir.Type, ...]) -> Arrays:
        """Combine values in order, where NumPy knows the operator; else sort what is written by place, behind what is
        there before, and reduce it place by place."""
        size = self.size(soac.size)
        target, columns = self.writes(soac, over, types)
        known = known_monoid(soac.operator)
        if known in (np.add, np.multiply):              # of others brackets make no difference
            (result,) = [self.before(exp, size) for exp in soac.before]
            known.at(result, target, columns[0])
            return (result,)
        places = np.append(np.arange(size), target)
        order = np.argsort(places, kind="stable")
        items = tuple([np.append(self.before(exp, size), column)[order]
                       for exp, column in zip(soac.before, columns, strict=True)])
        return join_segments(items, np.bincount(places, minlength=size), soac.operator, self.evaluator)

    def permute(self, soac: ir.Permute, over: Segments, types: tuple[ir.Type, ...]) -> Arrays:
        size = self.size(soac.size)
        target, columns = self.writes(soac, over, types)
        if soac.mode == "distinct" and np.bincount(target, minlength=1).max() > 1 and self.context.error is None:
            self.context.inconsistent("a PERMUTE of mode distinct writes twice to one place")
        if soac.mode == "all" and (np.bincount(target, minlength=size) != 1).any() and self.context.error is None:
            self.context.inconsistent("a PERMUTE of mode all does not write once to each place")
        if any([isinstance(exp, ir.Var) and size - len(self.values[exp.name]) > np.count_nonzero(
                target >= len(self.values[exp.name])) for exp in soac.before]) and self.context.error is None:
            self.context.inconsistent("a PERMUTE leaves places behind the end of what is there before")
        results = tuple(self.before(exp, size) for exp in soac.before)
        for result, column in zip(results, columns, strict=True):
            result[target] = column                     # NumPy keeps the last of several
        return results

    def before(self, exp: ir.Exp, size: int) -> NDArray[Any]:
        """Return what places hold before something is written, in memory of its own; anything behind an array's end."""
        if isinstance(exp, ir.Const):
            return np.full(size, constant(exp))
        assert isinstance(exp, ir.Var)
        return np.resize(self.values[exp.name], size)

    # Sizes and spaces

    def size(self, size: ir.Size) -> int:
        return size if isinstance(size, int) else int(self.values[size])

    def segments(self, space: ir.Space) -> Segments:
        """Return the space's segments; a flat space is one segment."""
        match space:
            case ir.Flat(size):
                offsets = np.array([0, self.size(size)], np.int64)
            case ir.Uniform(segments, length):
                offsets = self.numbers(segments) * self.size(length)
            case ir.Closed(segments, terms, _):
                s = self.numbers(segments)[:-1]
                offsets = np.concatenate([[0], np.cumsum(sum([self.term(term, s) for term in terms]))])
            case ir.Nested(rows, lengths, sums, _):
                offsets = self.nested(self.segments(rows).offsets, lengths, sums)
            case ir.Irregular(_, name, _):
                offsets = self.values[name]
        total = self.size(space.size if isinstance(space, ir.Flat) else space.total)
        if offsets[0] != 0 or offsets[-1] != total or np.any(np.diff(offsets) < 0):
            self.context.inconsistent(f"the segments of a space of {total} elements are not consistent")
        outer = tuple(map(self.size, outer_axes(space)))
        if outer and len(offsets) > 1 and prod(outer) != len(offsets) - 1:
            self.context.inconsistent(f"the axes of a space are not of {len(offsets) - 1} segments")
        return Segments(offsets, outer)

    def nested(self, rows: Indices, lengths: tuple[ir.Term, ...], sums: tuple[ir.Term, ...]) -> Indices:
        """Return the offsets of segments that are the elements of rows, which start there: lengths, added up; those of
        a row are as many as the sums say."""
        row = np.repeat(np.arange(len(rows) - 1), np.diff(rows))
        j = np.arange(len(row)) - rows[row]
        parts = [self.term(c, row) * binomials(j, k) for k, c in enumerate(lengths)]
        offsets = np.concatenate([[0], np.cumsum(sum(parts))])
        expected = sum([self.term(term, np.arange(len(rows) - 1)) for term in sums])
        if np.any(np.diff(offsets[rows]) != expected):
            self.context.inconsistent("the sums of a nested space are not those of its lengths")
        return offsets

    def term(self, term: ir.Term, s: Indices) -> Indices:
        """Return the term of a length for each of these segments; starts are sums, added up one by one."""
        match term:
            case ir.Binomial(_, coefficients, doubling):
                value = np.zeros_like(s)
                for k, c in enumerate(coefficients):
                    value += self.size(c) * binomials(s, k)
                value = value << np.minimum(s, 63) if doubling else value
            case ir.Floor(_, factor, offset, divisor):
                value = self.size(factor) * ((s + self.size(offset)) // divisor)
        return np.where(s >= self.size(term.first), value, 0)

    def numbers(self, segments: ir.Size) -> Indices:
        """Return 0 .. segments, from which offsets and lengths are made. There may be more segments than elements."""
        count = self.size(segments) + 1
        self.context.reserve(8 * 3 * count)
        return np.arange(count, dtype=np.int64)

    def reserve(self, types: tuple[ir.Type, ...], walked: int) -> None:
        """Reserve the greatest number of bytes that the results can take, and those of the indices and of a thunk's two
        operands."""
        words = sum(self.size(type_.size) + type_.plus if not isinstance(type_.size, str) or type_.size in self.values
                    else walked for type_ in types if isinstance(type_, ir.Array))
        self.context.reserve(8 * (words + 3 * walked))


def binomials(x: Indices, k: int) -> Indices:
    """Return C(x, k), which wraps."""
    return np.array([FULL.wrapped(comb(at, k)) for at in x.tolist()], np.int64)


def bases(types: Sequence[ir.Type]) -> tuple[str, ...]:
    """Return the types' scalar types; for arrays, those of the elements."""
    return tuple(type_.base if isinstance(type_, ir.Array) else type_ for type_ in types)


def ordered(keys: NDArray[Any], over: Segments, descending: bool) -> Indices:
    """Return the positions in stable order of the keys within each segment, NaN last."""
    order = np.argsort(keys, kind="stable")
    if descending:
        order = len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]
        missing = np.isnan(keys[order]) if keys.dtype.kind == "f" else np.zeros(len(keys), np.bool_)
        order = np.concatenate([order[~missing], order[missing]])
    return order[np.argsort(over.segment[order], kind="stable")].astype(np.int64)


def first_equals(keys: NDArray[Any], over: Segments) -> Indices:
    """Return for each position the first in its segment that has an equal key; NaN equals nothing."""
    _, codes = np.unique(keys, return_inverse=True, equal_nan=False)
    _, first, group = np.unique(over.segment * (len(keys) + 1) + codes, return_index=True, return_inverse=True)
    found: Indices = first[group].astype(np.int64)
    return found
