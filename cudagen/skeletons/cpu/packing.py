"""What rows and columns give to products (skeletons.cpu.products), computed once and packed.

    row 0:  0 ... 7    row 1:  0 ... 7    row 2:  0 ... 7    row 3:  0 ... 7    row 0:  8 ... 15    ...

A group's members lie together: of each eight elements those of the first member, then those of the second, ... A group
that has fewer members has its last one again. Failures are those of the first segment that has such a member.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.thunks import scalar
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Buffer
from nessie.cudagen.skeletons.chunks import each_chunk
from nessie.cudagen.skeletons.cpu.lanes import LANES
from nessie.cudagen.skeletons.cpu.tiles import count_of, loop
from nessie.cudagen.skeletons.elements import number_at
from nessie.cudagen.skeletons.kernel import Kernel, size_exp
from nessie.cudagen.skeletons.states import State
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.sides import Sides
from nessie.lambda_cu.spaces.strides import Stride, reads


@dataclass(frozen=True)
class Product:
    """A SEG_REDUCE of the walk. `names`: the arrays that its sides are packed in."""
    state: State
    thunk: ir.Thunk
    sides: Sides
    rows: Mapping[str, str]
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Group:
    """Members of one side that go together: `count` of `size` in all, whose indices are those of the outer axes from
    `first` on, of as many as there are `axes`."""
    use: str
    count: int
    first: int
    axes: tuple[ir.Size, ...]


def members(kernel: Kernel, group: Group) -> loops.Exp:
    return product_exp([size_exp(kernel, size) for size in group.axes])


def product_exp(sizes: Sequence[loops.Exp]) -> loops.Exp:
    return reduce(lambda a, b: op("*", a, b), sizes)


def padded(length: loops.Exp) -> loops.Exp:
    """The length, in whole eights."""
    return op("*", count_of(length, LANES), integer(LANES))


def group_count(kernel: Kernel, group: Group) -> loops.Exp:
    return count_of(members(kernel, group), group.count)


def packed(kernel: Kernel, root: ir.Uniform, products: Sequence[Product], rows: Group, columns: Group) -> None:
    """The phase that packs groups of rows, and then of columns: a chunk each."""
    code = kernel.code()
    length = code.size(root.length)
    first = code.let_int("row_groups", count_of(members_in(code, rows), rows.count))
    types: dict[str, str] = {}

    def chunk_body(chunk: loops.Exp) -> None:
        halves: list[tuple[loops.Stmt, ...]] = []
        for group, number in ((rows, chunk), (columns, op("-", chunk, first))):
            with code.block() as half:
                for product in products:
                    pack(kernel, code, root, product, group, number, length, types)
            halves.append(tuple(half))
        code.add(loops.If(op("<", chunk, first), *halves))

    each_chunk(code, chunk_body)
    buffers = [Buffer(array, types[array], product_exp([
        group_count(kernel, group), integer(group.count), padded(size_exp(kernel, root.length))]))
        for product in products for group, side in ((rows, product.rows), (columns, product.columns))
        for array in side.values()]
    kernel.phase("packed", code, op("+", group_count(kernel, rows), group_count(kernel, columns)), tuple(buffers))


def members_in(code: Code, group: Group) -> loops.Exp:
    return product_exp([code.size(size) for size in group.axes])


def pack(kernel: Kernel, code: Code, root: ir.Uniform, product: Product, group: Group, number: loops.Exp,
         length: loops.Exp, types: dict[str, str]) -> None:
    """What a group's members give, in the order in which most of it lies in memory."""
    rows = group.use == "rows"
    side, arrays = (product.sides.rows, product.rows) if rows else (product.sides.columns, product.columns)
    base = code.let_int("base", op("*", op("*", number, padded(length)), integer(group.count)))
    last = op("-", members_in(code, group), integer(1))
    low = code.let_int("low", op("*", number, integer(group.count)))
    parameters = product.thunk.params

    def values(indices: Sequence[loops.Exp], place: loops.Exp) -> list[tuple[str, Value]]:
        """By arrays, at indices of the group's axes: those of other axes are 0, where a failure is the first."""
        outer: list[loops.Exp] = [integer(0)] * len(root.outer)
        outer[group.first:group.first + len(indices)] = indices
        segment = number_at(outer, [code.size(size) for size in root.outer])
        code.order_index = op("+", op("*", segment, length), place)
        code.values.update(zip(parameters, [Value(exp, "int") for exp in (
            *outer, segment, place, code.order_index)], strict=True))
        return [(arrays[name], scalar(code, kernel.tables, exp)) for name, exp in side.items()]

    def keep(eight: loops.Exp, lane: loops.Exp, member: loops.Exp, found: list[tuple[str, Value]]) -> None:
        start = op("+", op("+", base, op("*", eight, integer(group.count))), op("*", member, integer(LANES)))
        for array, value in found:
            types[array] = value.type
            code.store(array, op("+", start, lane), value)

    def parts(place: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        return op("and", place, integer(-LANES)), op("and", place, integer(LANES - 1))

    if across(product, side, parameters[group.first + len(group.axes) - 1]):
        places = [indices_of(code, group, op("min", op("+", low, integer(member)), last))
                  for member in range(group.count)]
        with loop(code, "place", integer(0), length) as place:
            for at, indices in enumerate(places):
                with code.block() as one:
                    keep(*parts(place), integer(at), values(indices, place))
                code.statements += one
        return
    whole = code.let_int("whole", op("and", length, integer(-LANES)))
    with loop(code, "member", integer(0), integer(group.count)) as member:
        indices = indices_of(code, group, op("min", op("+", low, member), last))
        with loop(code, "eight", integer(0), whole, integer(LANES)) as eight, loop(
                code, "lane", integer(0), integer(LANES)) as lane:
            place = code.let_int("place", op("+", eight, lane))
            keep(eight, lane, member, values(indices, place))
        with loop(code, "place", whole, length) as place:
            keep(*parts(place), member, values(indices, place))


def across(product: Product, side: Mapping[str, ir.Exp], member: str) -> bool:
    """Do members lie beside each other in memory, and the elements of one apart?"""
    *_, place, _ = product.thunk.params
    known = {name: Stride() for name in product.thunk.params}
    known |= {member: Stride(1, 0), place: Stride(0, 1)}
    return any(stride.across for exp in side.values() for stride in reads(exp, known))


def indices_of(code: Code, group: Group, member: loops.Exp) -> list[loops.Exp]:
    """The member's index of each of its axes."""
    rest, found = code.let_int("index", member), list[loops.Exp]()
    for size in reversed(group.axes[1:]):
        quotient = code.let_int("axis", op("/", rest, code.size(size)))
        found.append(code.let_int("axis", op("-", rest, op("*", quotient, code.size(size)))))
        rest = quotient
    return [rest, *reversed(found)]
