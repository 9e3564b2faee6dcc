"""What rows and columns give to products (skeletons.cpu.products), computed once and packed.

    row 0:  0 ... 7    row 1:  0 ... 7    row 2:  0 ... 7    row 3:  0 ... 7    row 0:  8 ... 15    ...

A group's members lie together: of each eight elements those of the first member, then those of the second, ... A group
that has fewer members has its last one again. Failures are those of the first segment that has such a member.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
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

PLACES = 64                     # elements of all members that are a chunk, where it goes by places


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


def members_in(code: Code, group: Group) -> loops.Exp:
    return product_exp([code.size(size) for size in group.axes])


def packed(kernel: Kernel, root: ir.Uniform, products: Sequence[Product], rows: Group, columns: Group) -> None:
    """The phase that packs rows, and then columns."""
    code = kernel.code()
    halves = [Packing(kernel, code, root, products, group) for group in (rows, columns)]
    first = code.let_int("row_chunks", halves[0].chunks(members_in(code, rows), code.size(root.length)))

    def chunk_body(chunk: loops.Exp) -> None:
        with code.block() as of_rows:
            halves[0].chunk(chunk)
        with code.block() as of_columns:
            halves[1].chunk(code.let_int("number", op("-", chunk, first)))
        code.add(loops.If(op("<", chunk, first), tuple(of_rows), tuple(of_columns)))

    each_chunk(code, chunk_body)
    length = size_exp(kernel, root.length)
    counts = [half.chunks(members(kernel, half.group), length) for half in halves]
    buffers = [Buffer(array, type_, product_exp([
        group_count(kernel, half.group), integer(half.group.count), padded(length)]))
        for half in halves for array, type_ in half.types.items()]
    kernel.phase("packed", code, op("+", *counts), tuple(buffers))


@dataclass
class Packing:
    """Writes how one side is packed: by groups or, where its members lie beside each other in memory and the elements
    of one apart, by places. `types`: those of the arrays."""
    kernel: Kernel
    code: Code
    root: ir.Uniform
    products: Sequence[Product]
    group: Group
    types: dict[str, str] = field(default_factory=dict)

    def side(self, product: Product) -> tuple[Mapping[str, ir.Exp], Mapping[str, str]]:
        if self.group.use == "rows":
            return product.sides.rows, product.rows
        return product.sides.columns, product.columns

    @property
    def across(self) -> bool:
        found: list[Stride] = []
        for product in self.products:
            *_, place, _ = parameters = product.thunk.params
            known = {name: Stride() for name in parameters}
            known |= {parameters[self.group.first + len(self.group.axes) - 1]: Stride(1, 0), place: Stride(0, 1)}
            found += [stride for exp in self.side(product)[0].values() for stride in reads(exp, known)]
        return any(stride.across for stride in found)

    def chunks(self, members: loops.Exp, length: loops.Exp) -> loops.Exp:
        return count_of(length, PLACES) if self.across else count_of(members, self.group.count)

    def chunk(self, number: loops.Exp) -> None:
        code, length = self.code, self.code.size(self.root.length)
        if not self.across:
            self.members_in_turn(number, length)
            return
        low = code.let_int("low", op("*", number, integer(PLACES)))
        high = code.let_int("high", op("min", op("+", low, integer(PLACES)), length))
        groups = code.let_int("groups", count_of(members_in(code, self.group), self.group.count))
        with loop(code, "eight", low, high, integer(LANES)) as eight, loop(
                code, "group", integer(0), groups) as group:
            base = self.base(group)
            places = [self.indices(group, integer(member)) for member in range(self.group.count)]
            with loop(code, "place", eight, op("min", op("+", eight, integer(LANES)), high)) as place:
                for at, indices in enumerate(places):
                    self.keep(base, indices, integer(at), eight, op("-", place, eight))

    def members_in_turn(self, group: loops.Exp, length: loops.Exp) -> None:
        code, base = self.code, self.base(group)
        whole = code.let_int("whole", op("and", length, integer(-LANES)))
        with loop(code, "member", integer(0), integer(self.group.count)) as member:
            indices = self.indices(group, member)
            with loop(code, "eight", integer(0), whole, integer(LANES)) as eight, loop(
                    code, "lane", integer(0), integer(LANES)) as lane:
                self.keep(base, indices, member, eight, lane)
            with loop(code, "left", integer(0), op("-", length, whole)) as left:
                self.keep(base, indices, member, whole, left)

    def base(self, group: loops.Exp) -> loops.Exp:
        """Where the group begins."""
        each = padded(self.code.size(self.root.length))
        return self.code.let_int("base", op("*", op("*", group, each), integer(self.group.count)))

    def indices(self, group: loops.Exp, member: loops.Exp) -> list[loops.Exp]:
        """The member's index of each of its axes; the last one's, where the group has fewer."""
        number = op("+", op("*", group, integer(self.group.count)), member)
        return indices_of(self.code, self.group, op("min", number, op(
            "-", members_in(self.code, self.group), integer(1))))

    def keep(self, base: loops.Exp, indices: Sequence[loops.Exp], member: loops.Exp, eight: loops.Exp,
             lane: loops.Exp) -> None:
        """What the member gives at this lane of these eight. Where other axes are at 0, a failure is the first."""
        code = self.code
        with code.block() as one:
            outer: list[loops.Exp] = [integer(0)] * len(self.root.outer)
            outer[self.group.first:self.group.first + len(indices)] = indices
            segment = number_at(outer, [code.size(size) for size in self.root.outer])
            place = code.let_int("place", op("+", eight, lane))
            code.order_index = op("+", op("*", segment, code.size(self.root.length)), place)
            start = op("+", op("+", base, op("*", eight, integer(self.group.count))), op("*", member, integer(LANES)))
            for product in self.products:
                code.values.update(zip(product.thunk.params, [Value(exp, "int") for exp in (
                    *outer, segment, place, code.order_index)], strict=True))
                side, arrays = self.side(product)
                for name, exp in side.items():
                    value = scalar(code, self.kernel.tables, exp)
                    self.types[arrays[name]] = value.type
                    code.store(arrays[name], op("+", start, lane), value)
        code.statements += one


def indices_of(code: Code, group: Group, member: loops.Exp) -> list[loops.Exp]:
    """The member's index of each of its axes."""
    rest, found = code.let_int("index", member), list[loops.Exp]()
    for size in reversed(group.axes[1:]):
        quotient = code.let_int("axis", op("/", rest, code.size(size)))
        found.append(code.let_int("axis", op("-", rest, op("*", quotient, code.size(size)))))
        rest = quotient
    return [rest, *reversed(found)]
