"""Chunks, in which the CPU walks a root space: of about equal size, by lengths alone.

A flat space is cut every `width` elements. A segmented space is cut every `width` *items*: the elements in order and,
after the elements of each segment, its end. So chunks are equally long however long segments are, empty segments count
too. A chunk finds its first segment by binary search:

    item d lies in the last segment s with start(s) + s <= d, at element d - s

A segment is cut only every `width` elements from its own start: a cut elsewhere in it moves on to the next such place,
or to the segment's end, which belongs to the chunk that has its last element. So the *blocks* that a segment falls
into, and with them the order in which its elements are added up, are the same wherever it starts. A chunk has one block
of a segment at most, since their starts are `width` items apart.

    for chunk:  (s0, i0), (s1, i1) = where the chunk begins and ends
        for s in s0 .. s1:
            for i in max(start(s), i0) .. min(start(s+1), i1) - 1:      element i of segment s
            if s < s1:                                                  the end of segment s
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.nested import RowsWalked
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.rows import has_row, row_at
from nessie.lambda_cu.spaces.segments import length_at, start_at

Bounds = Callable[[loops.Exp], tuple[loops.Exp, loops.Exp]]     # of a segment: its start and its end
SEGMENT, ELEMENT = ir.Var("#segment"), ir.Var("#element")
FIRST, LAST = (loops.Name(name) for name in loops.CHUNK_RANGE)
CHUNK_RANGE_PARAMETERS = tuple(loops.Parameter(name, "int") for name in loops.CHUNK_RANGE)
ABOUT_BORDER = """\
The segment and the element of an item, by bisection: the last segment s with start(s) + s <= item. Segments
are cut at whole blocks from their own starts: inside of a block it is the next, or the segment after it."""


@dataclass(frozen=True)
class Chunks:
    """The cut of a root: `width` items a chunk; all in one where segments write in order, since `finish` is what ends
    segments that lie in several chunks."""
    root: ir.Space
    width: int
    border: str                 # the name of the device function that says where an item's chunk begins
    whole: bool = False

    def items(self, code: Code) -> loops.Exp:
        if isinstance(self.root, ir.Flat):
            return code.size(self.root.size)
        return op("+", code.size(self.root.total), code.size(self.root.segments))

    def count(self, items: loops.Exp) -> loops.Exp:
        """The number of chunks that so many items take."""
        if self.whole:
            return op("min", items, integer(1))
        return count_of(items, self.width)

    def bounds(self, code: Code, chunk: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        """The chunk's first item, and the first of the next."""
        items = code.let_int("items", self.items(code))
        if self.whole:
            return integer(0), items
        low = code.let_int("low", op("*", chunk, integer(self.width)))
        return low, code.let_int("high", op("min", op("+", low, integer(self.width)), items))


@dataclass(frozen=True)
class Span:
    """A chunk of a segmented root: from element i0 of segment s0 to before element i1 of segment s1. `whole`: it is all
    of the root, so that each segment begins and ends in it."""
    s0: loops.Exp
    i0: loops.Exp
    s1: loops.Exp
    i1: loops.Exp
    whole: bool = False


def whole_of(code: Code, root: ir.Segmented) -> Span:
    return Span(integer(0), integer(0), code.size(root.segments), code.size(root.total), whole=True)


def each_chunk(code: Code, body: Callable[[loops.Exp], None], low: loops.Exp = FIRST, high: loops.Exp = LAST) -> None:
    chunk = code.fresh("chunk")
    with code.block() as statements:
        body(loops.Name(chunk))
    code.add(loops.For(chunk, low, high, tuple(statements)))


def span(code: Code, chunks: Chunks, chunk: loops.Exp) -> Span:
    low, high = chunks.bounds(code, chunk)
    block, within = integer(chunks.width), (integer(0), code.size(segmented(chunks.root).segments))
    return Span(*border(code, chunks, low, block, within, "s0", "i0"),
                *border(code, chunks, high, block, within, "s1", "i1"))


def first_element(code: Code, chunks: Chunks, chunk: loops.Exp) -> loops.Exp:
    low, _ = chunks.bounds(code, chunk)
    if isinstance(chunks.root, ir.Flat):
        return low
    block, within = integer(chunks.width), (integer(0), code.size(chunks.root.segments))
    return border(code, chunks, low, block, within, "s0", "i0")[1]


def segmented_chunk(code: Code, root: ir.Segmented, part: Span, begin: Callable[[loops.Exp], None],
                    elements: Callable[[loops.Exp, loops.Exp, loops.Exp, loops.Exp], None],
                    end: Callable[[loops.Exp], None], nest: Nest | None = None,
                    beside: Callable[[Bounds, loops.Exp, list[loops.Stmt]], None] | None = None) -> None:
    """begin(s), then elements(low, high, s, start) for those of it here, then end(s) if s ends here; or what `beside`
    makes of these statements, given how bounds are walked and s. `nest`: how the segments are walked, if they are
    several axes whose indices are asked for."""
    bounds = bounds_walked(code, root, part.s0)

    def walked(segment: loops.Exp) -> None:
        start, stop = bounds(segment)
        with code.block() as alone:
            begin(segment)
            low, high = (start, stop) if part.whole else (op("max", start, part.i0), op("min", stop, part.i1))
            elements(low, high, segment, start)
            with code.block() as ending:
                end(segment)
            if ending:
                code.statements += ending if part.whole else [loops.If(op("<", segment, part.s1), tuple(ending))]
        if beside is None:
            code.statements += alone
        else:
            beside(bounds, segment, alone)

    beyond = part.s1 if part.whole else op("min", op("+", part.s1, integer(1)), code.size(root.segments))
    if nest is not None and nest.axes:
        def told(segment: loops.Exp, indices: Sequence[loops.Exp]) -> None:
            nest.counted(segment, indices)
            walked(segment)

        each_index(code, nest.axes, part.s0, code.let_int("beyond", beyond), told)
    else:
        each_segment(code, part.s0, beyond, walked)


def each_segment(code: Code, low: loops.Exp, high: loops.Exp, body: Callable[[loops.Exp], None]) -> None:
    segment = loops.Name(code.fresh("s"))
    with code.block() as statements:
        body(segment)
    code.add(loops.For(segment.name, low, high, tuple(statements)))


class Nest(Protocol):
    """Who asks for the indices of axes, and is told them."""

    @property
    def axes(self) -> tuple[ir.Size, ...]:
        """How long they are; none, where nobody asks."""

    def counted(self, segment: loops.Exp, indices: Sequence[loops.Exp]) -> None:
        """The segment is at these indices."""


def each_index(code: Code, axes: Sequence[ir.Size], low: loops.Exp, high: loops.Exp,
               body: Callable[[loops.Exp, Sequence[loops.Exp]], None]) -> None:
    """The body for each number from low to before high, with its index of each axis: loops in loops, one an axis, so
    that no number is divided. The outer ones are over those rows that have some of the numbers:

    for (q = low / m; q < (high + m - 1) / m; q += 1) {
      int begin = q * m;
      for (s = max(low, begin); s < min(high, begin + m); s += 1) { ... at q, s - begin ... }
    }
    """
    if len(axes) == 1:
        each_segment(code, low, high, lambda index: body(index, (index,)))
        return
    size = code.size(axes[-1])
    first = code.let_int("first", op("/", low, size))
    beyond = code.let_int("beyond", op("/", op("+", high, op("-", size, integer(1))), size))

    def row(number: loops.Exp, outer: Sequence[loops.Exp]) -> None:
        begin = code.let_int("begin", op("*", number, size))
        bounds = op("max", low, begin), op("min", high, op("+", begin, size))
        each_segment(code, *bounds, lambda index: body(index, (*outer, code.let_int("axis", op("-", index, begin)))))

    each_index(code, axes[:-1], first, beyond, row)


# Segments ---------------------------------------------------------------------------------------


def bounds_walked(code: Code, root: ir.Segmented, first: loops.Exp) -> Bounds:
    """Where segments start and stop, in a loop over them that begins with segment `first`. A closed length is less to
    compute than a start is: each segment starts where the one before it stops."""
    if isinstance(root, ir.Nested):
        return RowsWalked(code, root, first, partial(position, code))
    if isinstance(root, ir.Closed):
        begins = code.var("start", "int", integer(0))
        ends = code.var("stop", "int", start_of(code, root, first))

        def walked(segment: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
            start, stop = loops.Name(begins), loops.Name(ends)
            code.add(loops.Set(begins, stop))
            length = position(code, length_at(root, SEGMENT), {SEGMENT.name: segment})
            code.add(loops.Set(ends, op("+", start, length)))
            return start, stop
        return walked

    def computed(segment: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        start = code.let_int("start", start_of(code, root, segment))
        return start, start_of(code, root, op("+", segment, integer(1)))
    return computed


def start_of(code: Code, root: ir.Segmented, segment: loops.Exp) -> loops.Exp:
    """The start of a segment's elements; a closed form unless the root is irregular."""
    return position(code, start_at(root, SEGMENT), {SEGMENT.name: segment})


def position(code: Code, exp: ir.Exp, known: Mapping[str, loops.Exp]) -> loops.Exp:
    """An expression of lambda_cu.spaces.segments where these names are known."""
    match exp:
        case ir.Var(name):
            return known[name] if name in known else code.size(name)
        case ir.Let((name,), value, body):
            return position(code, body, {**known, name: code.let_int("part", position(code, value, known))})
        case ir.Const(value, base):
            return loops.Const(value, base)
        case ir.Read(array, index):
            place = position(code, index, known)
            return code.starts[array](place) if array in code.starts else loops.Load(code.array(array, "int"), place)
        case ir.Op(name, arguments):
            return op(name, *[position(code, argument, known) for argument in arguments])
        case ir.If(condition, then, orelse):
            return op("select", *[position(code, part, known) for part in (condition, then, orelse)])
    raise TypeError(exp)


def segmented(root: ir.Space) -> ir.Segmented:
    assert not isinstance(root, ir.Flat)
    return root


def border(code: Code, chunks: Chunks, item: loops.Exp, block: loops.Exp, within: tuple[loops.Exp, loops.Exp],
           *hints: str) -> tuple[loops.Exp, loops.Exp]:
    """The segment and the element at which begins what is cut at this item, by the kernel's function. `block`: elements
    between two places at which a segment is cut; `within`: the least and the greatest segment that it may be."""
    probe = border_function(chunks)
    arguments: list[loops.Exp] = [item, block, *within]
    for parameter in probe.parameters[len(arguments):]:
        if parameter.array:
            code.array(parameter.name, parameter.type)
        else:
            code.scalar(parameter.name, parameter.type)
        arguments.append(loops.Name(parameter.name))
    segment, element = map(code.fresh, hints)
    code.add(loops.Call((segment, element), chunks.border, tuple(arguments)))
    return loops.Name(segment), loops.Name(element)


def border_function(chunks: Chunks) -> loops.Function:
    """item, block, least, most -> segment, element"""
    root = segmented(chunks.root)
    code = Code({}, {})
    first = tuple(loops.Parameter(code.fresh(name), "int") for name in ("item", "block", "least", "most"))
    item, block, least, most = (loops.Name(parameter.name) for parameter in first)
    segment = segment_with(code, root, item, (least, most))
    element = code.let_int("element", op("-", item, segment))
    cut(code, root, segment, element, block, lambda *found: (loops.Return(found),))
    code.add(loops.Return((segment, element)))
    return loops.Function(chunks.border, "device", (*first, *code.parameters.values()), tuple(code.statements),
                          ("int", "int"), about=ABOUT_BORDER)


def segment_with(code: Code, root: ir.Segmented, item: loops.Exp, within: tuple[loops.Exp, loops.Exp]) -> loops.Exp:
    """The segment that an item lies in."""
    if isinstance(root, ir.Uniform):
        found = op("/", item, op("+", code.size(root.length), integer(1)))
        return code.let_int("segment", op("max", within[0], op("min", found, within[1])))
    return last(code, *within, lambda s: op("<=", op("+", start_of(code, root, s), s), item))


def cut(code: Code, root: ir.Segmented, segment: loops.Exp, element: loops.Exp, block: loops.Exp,
        moved: Callable[[loops.Exp, loops.Exp], tuple[loops.Stmt, ...]]) -> None:
    """Where a segment may not be cut at the element, do this with the segment and the element at which it is cut."""
    start = code.let_int("start", start_of(code, root, segment))
    with code.block() as inside:
        blocks = op("/", op("+", op("-", element, start), op("-", block, integer(1))), block)
        place = code.let_int("cut", op("+", start, op("*", blocks, block)))
        following = code.let_int("following", op("+", segment, integer(1)))
        stop = code.let_int("stop", start_of(code, root, following))
        code.add(loops.If(op("<", place, stop), moved(segment, place), moved(following, stop)))
    code.add(loops.If(op("<", start, element), tuple(inside)))


def segment_of(code: Code, root: ir.Segmented, element: loops.Exp) -> loops.Exp:
    """The segment that an element lies in: the last that starts no later."""
    if has_row(root):
        return code.let_int("segment", position(code, row_at(root, ELEMENT), {ELEMENT.name: element}))
    most = op("-", code.size(root.segments), integer(1))
    return last(code, integer(0), most, lambda s: op("<=", start_of(code, root, s), element))


def last(code: Code, least: loops.Exp, most: loops.Exp, holds: Callable[[loops.Exp], loops.Exp]) -> loops.Exp:
    """The last number in least..most for which it holds, as it does for the least; by bisection."""
    low, high = code.var("low", "int", least), code.var("high", "int", most)
    with code.block() as body:
        middle = code.let_int("middle", op("rshift", op("+", op("+", loops.Name(low), loops.Name(high)), integer(1)),
                                           integer(1)))
        code.add(loops.If(holds(middle), (loops.Set(low, middle),), (loops.Set(high, op("-", middle, integer(1))),)))
    code.add(loops.While(op("<", loops.Name(low), loops.Name(high)), tuple(body)))
    return loops.Name(low)
