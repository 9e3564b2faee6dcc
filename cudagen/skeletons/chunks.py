"""How the CPU walks a root space: chunks of equal size, by the space's length alone.

A flat space is cut every `width` elements. A segmented space is cut every `width` *items*: the elements in order and,
after the elements of each segment, its end. So chunks are equally long however long segments are, empty segments count
too, and each segment's end is in just one chunk. A chunk finds its first segment by binary search:

    item d lies in the last segment s with start(s) + s <= d, at element d - s

    for chunk:  (s0, i0), (s1, i1) = where the chunk begins and ends
        for s in s0 .. s1:
            for i in max(start(s), i0) .. min(start(s+1), i1) - 1:      element i of segment s
            if s < s1:                                                  the end of segment s
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.records import dataclass
from nessie.cudagen import loops
from nessie.cudagen.code import Code, integer, op
from nessie.lambda_cu import ir

FIRST, LAST = (loops.Name(name) for name in loops.CHUNK_RANGE)
CHUNK_RANGE_PARAMETERS = tuple(loops.Parameter(name, "int") for name in loops.CHUNK_RANGE)


@dataclass(frozen=True)
class Chunks:
    """How a root is cut: `width` items a chunk, or all in one where the walk must be sequential."""
    root: ir.Space
    width: int
    sequential: bool
    search: str                 # the name of the device function that finds the segment of an item

    def items(self, code: Code) -> loops.Exp:
        if isinstance(self.root, ir.Flat):
            return code.size(self.root.size)
        return op("+", code.size(self.root.total), code.size(self.root.segments))

    def count(self, items: loops.Exp) -> loops.Exp:
        """How many chunks so many items take."""
        if self.sequential:
            return op("min", items, integer(1))
        return op("/", op("+", items, integer(self.width - 1)), integer(self.width))

    def bounds(self, code: Code, chunk: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        """The chunk's first item, and the first of the next."""
        items = code.let_int("items", self.items(code))
        if self.sequential:
            return integer(0), items
        low = code.let_int("low", op("*", chunk, integer(self.width)))
        return low, code.let_int("high", op("min", op("+", low, integer(self.width)), items))


@dataclass(frozen=True)
class Span:
    """A chunk of a segmented root: from element i0 of segment s0 to before element i1 of segment s1."""
    s0: loops.Exp
    i0: loops.Exp
    s1: loops.Exp
    i1: loops.Exp


def each_chunk(code: Code, body: Callable[[loops.Exp], None], low: loops.Exp = FIRST, high: loops.Exp = LAST) -> None:
    chunk = code.fresh("chunk")
    with code.block() as statements:
        body(loops.Name(chunk))
    code.add(loops.For(chunk, low, high, tuple(statements)))


def flat_chunk(code: Code, chunks: Chunks, chunk: loops.Exp, element: Callable[[loops.Exp], None]) -> None:
    low, high = chunks.bounds(code, chunk)
    index = code.fresh("i")
    with code.block() as statements:
        element(loops.Name(index))
    code.add(loops.For(index, low, high, tuple(statements)))


def span(code: Code, chunks: Chunks, chunk: loops.Exp) -> Span:
    low, high = chunks.bounds(code, chunk)
    s0, s1 = find(code, chunks, low, "s0"), find(code, chunks, high, "s1")
    return Span(s0, code.let_int("i0", op("-", low, s0)), s1, code.let_int("i1", op("-", high, s1)))


def segmented_chunk(code: Code, chunks: Chunks, part: Span, begin: Callable[[loops.Exp], None],
                    element: Callable[[loops.Exp, loops.Exp, loops.Exp], None],
                    end: Callable[[loops.Exp], None]) -> None:
    """begin(s), then element(s, start, i) for each of its elements here, then end(s) if s ends here."""
    assert not isinstance(chunks.root, ir.Flat)
    segment = loops.Name(code.fresh("s"))
    with code.block() as statements:
        start = code.let_int("start", start_of(code, chunks.root, segment))
        stop = start_of(code, chunks.root, op("+", segment, integer(1)))
        begin(segment)
        index = loops.Name(code.fresh("i"))
        with code.block() as inner:
            element(segment, start, index)
        if inner:
            code.add(loops.For(index.name, op("max", start, part.i0), op("min", stop, part.i1), tuple(inner)))
        with code.block() as ending:
            end(segment)
        if ending:
            code.add(loops.If(op("<", segment, part.s1), tuple(ending)))
    beyond = op("min", op("+", part.s1, integer(1)), code.size(chunks.root.segments))
    code.add(loops.For(segment.name, part.s0, beyond, tuple(statements)))


# Segments ---------------------------------------------------------------------------------------


def start_of(code: Code, root: ir.Segmented, segment: loops.Exp) -> loops.Exp:
    """Where the elements of a segment start; a closed form unless the root is irregular."""
    match root:
        case ir.Uniform(_, length, _):
            return op("*", segment, code.size(length))
        case ir.Affine(_, slope, offset, _):
            pairs = op("rshift", op("*", segment, op("-", segment, integer(1))), integer(1))
            return op("+", op("*", code.size(slope), pairs), op("*", code.size(offset), segment))
        case ir.Irregular(_, offsets, _):
            return loops.Load(code.array(offsets, "int"), segment)
    raise TypeError(root)


def find(code: Code, chunks: Chunks, item: loops.Exp, hint: str) -> loops.Exp:
    """The segment of an item, by the kernel's search function."""
    assert not isinstance(chunks.root, ir.Flat)
    probe = search_function(chunks)
    arguments: list[loops.Exp] = [item]
    for parameter in probe.parameters[1:]:
        if parameter.array:
            code.array(parameter.name, parameter.type)
        else:
            code.scalar(parameter.name, parameter.type)
        arguments.append(loops.Name(parameter.name))
    name = code.fresh(hint)
    code.add(loops.Call((name,), chunks.search, tuple(arguments)))
    return loops.Name(name)


def search_function(chunks: Chunks) -> loops.Function:
    """item -> the last segment s with start(s) + s <= item."""
    root = chunks.root
    assert not isinstance(root, ir.Flat)
    code = Code({}, {})
    item = loops.Parameter(code.fresh("item"), "int")
    found = last(code, code.size(root.segments),
                 lambda s: op("<=", op("+", start_of(code, root, s), s), loops.Name(item.name)))
    code.add(loops.Return((found,)))
    return loops.Function(chunks.search, "device", (item, *code.parameters.values()), tuple(code.statements), ("int",),
                          about="The segment of an item: the last segment s with start(s) + s <= item, by bisection.")


def segment_of(code: Code, root: ir.Segmented, element: loops.Exp) -> loops.Exp:
    """The segment that an element lies in: the last that starts no later."""
    if isinstance(root, ir.Uniform):
        return code.let_int("segment", op("/", element, code.size(root.length)))
    most = op("-", code.size(root.segments), integer(1))
    return last(code, most, lambda s: op("<=", start_of(code, root, s), element))


def last(code: Code, most: loops.Exp, holds: Callable[[loops.Exp], loops.Exp]) -> loops.Exp:
    """The last number in 0..most for which it holds, as it does for 0; by bisection."""
    low, high = code.var("least", "int", integer(0)), code.var("most", "int", most)
    least, greatest = loops.Name(low), loops.Name(high)
    with code.block() as body:
        middle = code.let_int("middle", op("rshift", op("+", op("+", least, greatest), integer(1)), integer(1)))
        code.add(loops.If(holds(middle), (loops.Set(low, middle),), (loops.Set(high, op("-", middle, integer(1))),)))
    code.add(loops.While(op("<", least, greatest), tuple(body)))
    return least
