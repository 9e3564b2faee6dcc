"""Products: sums over a space of rows and columns, whose elements are joined of what a row and a column give.

    { (i1, i2, s, j, i) => a[i1 * k + j] * b[j * n + i2] }

    packed    what rows give, by groups of four, and columns, by groups of six, is computed once: of each eight
              elements those of the group's first member, then those of its second, ...
    tiles     for rows, columns:                                   a group of each
                for (eight = 0; eight < whole; eight += 8)
                  for (lane = 0; lane < 8; lane += 1)
                    sums[0][lane] = sums[0][lane] + row_0 * column_0;
                    ...                                            24 vectors, which are registers
                    sums[23][lane] = sums[23][lane] + row_3 * column_5;

So an element of a row is read for six sums and one of a column for four, in the order of memory. Each sum has its own
eight lanes, whose order is that of other walks (skeletons.cpu.lanes): the bits stay the same. A group that has fewer
members computes with its last one again. Few or short segments, and those that are cut into blocks, are left to the
other walk; so is what would take much more memory than it is given.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.thunks import Tables, apply
from nessie.cudagen.kernels.walk import Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.skeletons.chunks import each_chunk
from nessie.cudagen.skeletons.counted import count_of, loop
from nessie.cudagen.skeletons.cpu.lanes import LANES
from nessie.cudagen.skeletons.cpu.packing import packed, padded
from nessie.cudagen.skeletons.cpu.tiles import sweep_of
from nessie.cudagen.skeletons.elements import Sweep, states_of
from nessie.cudagen.skeletons.ends import results
from nessie.cudagen.skeletons.kernel import Kernel, items_exp, result_buffers, result_of, size_exp
from nessie.cudagen.skeletons.products.sides import (
    Group,
    Product,
    Tiled,
    components_of,
    enough,
    group_count,
    groups_of,
    indices_of,
    members,
    members_in,
    products_of,
    where_they_pay,
)
from nessie.cudagen.skeletons.states import identity
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import arrays_read

ROWS, COLUMNS = 4, 6            # of a group: as many sums as leave some of 32 registers for what they are made of
BAND = 8                        # groups of rows that are a chunk, each with one of columns
ROOM = 2 ** 16                  # elements that may be packed however few are given
MORE = 4                        # times as many elements as are given may be packed
SUMS, TOTALS = "sums", "totals"


def tiled(walk: Walk) -> Tiled | None:
    """The walk's products, if it does nothing else than registers have room for."""
    products = products_of(walk, ROWS // 2)
    if products is None:
        return None
    return Tiled(tuple(products), *groups_of(walk, ROWS // components_of(products), COLUMNS),
                 (ROWS, COLUMNS, 2 * LANES))


def limits(width: int) -> str:
    """What else must hold where tiles pay, in words."""
    return (f"and {width:,} elements at most; where all rows and columns have fewer elements than {MORE} times the "
            f"arrays that are read, and {ROOM:,} more")


def plan_product(found: Tiled, walk: Walk, tables: Tables, width: int, other: Module) -> Module:
    """The plan, with its functions, of tiles that can do what the walk does. `other`: that of the walk, which does the
    same where they do not pay."""
    root = walk.root
    assert isinstance(root, ir.Uniform)
    kernel = Kernel(walk, tables, None, states_of(walk))
    packed(kernel, root, found.products, *found.groups)
    tiles(kernel, root, found.products, *found.groups)
    made = kernel.module(tuple([result_of(kernel, name) for name in walk.kernel.returns]), items_exp(kernel, root))
    return where_they_pay(made, other, worth_of(kernel, root, found, width))


def worth_of(kernel: Kernel, root: ir.Uniform, found: Tiled, width: int) -> list[loops.Exp]:
    """Sizes that are positive where tiles pay: of no dimension there is too little, segments have one block, and what
    is packed takes not much more memory than what it is made of."""
    length = size_exp(kernel, root.length)
    given = {p.name: p.type for p in kernel.walk.kernel.params}
    arrays = {array for product in found.products for array in arrays_read(product.thunk.body)}
    sizes = [size_exp(kernel, type_.size) for name in sorted(arrays) if isinstance(type_ := given[name], ir.Array)]
    taken = op("*", length, op("+", *[members(kernel, group) for group in found.groups]))
    room = op("+", op("*", reduce(lambda a, b: op("+", a, b), sizes), integer(MORE)), integer(ROOM))
    return [*enough(kernel, root, found), op("-", integer(width + 1), length), op("-", room, taken)]


# Tiles ------------------------------------------------------------------------------------------


def tiles(kernel: Kernel, root: ir.Uniform, products: Sequence[Product], rows: Group, columns: Group) -> None:
    """The phase that joins groups of rows with groups of columns, which is a tile; a chunk has up to eight."""
    code = kernel.code()
    run = sweep_of(kernel, code, [product.state for product in products])
    each = rows.count * columns.count
    held = {use: {p.state.name: tuple([code.shared(f"{name}_{use}", type_, each * lanes) for name, type_ in
                                       zip(p.state.components, p.state.monoid.types, strict=True)]) for p in products}
            for use, lanes in ((SUMS, LANES), (TOTALS, 1))}
    tile = Tiles(kernel, run, root, products, rows, columns, held[SUMS], held[TOTALS])
    each_chunk(code, tile.chunk)
    count = op("*", count_of(group_count(kernel, rows), BAND), group_count(kernel, columns))
    kernel.phase("tiles", code, count, result_buffers(kernel))


@dataclass(frozen=True)
class Tiles:
    """Writes the phase. `sums`: the arrays that hold eight lanes of each sum of a tile, by states; `totals`: its sums.
    """
    kernel: Kernel
    run: Sweep
    root: ir.Uniform
    products: Sequence[Product]
    rows: Group
    columns: Group
    sums: Mapping[str, tuple[str, ...]]
    totals: Mapping[str, tuple[str, ...]]

    @property
    def each(self) -> int:
        return self.rows.count * self.columns.count

    def chunk(self, chunk: loops.Exp) -> None:
        """Groups of rows by one of columns."""
        code = self.run.code
        across_, down = [code.let_int("groups", count_of(members_in(code, side), side.count))
                         for side in (self.columns, self.rows)]
        band = code.let_int("band", op("/", chunk, across_))
        columns = code.let_int("columns", op("-", chunk, op("*", band, across_)))
        low = code.let_int("low", op("*", band, integer(BAND)))
        with loop(code, "rows", low, op("min", op("+", low, integer(BAND)), down)) as rows:
            self.tile(rows, columns)

    def tile(self, rows: loops.Exp, columns: loops.Exp) -> None:
        code = self.run.code
        length = code.size(self.root.length)
        whole = code.let_int("whole", op("and", length, integer(-LANES)))
        of_rows, of_columns = [
            code.let_int("base", op("*", op("*", group, padded(length)), integer(side.count)))
            for group, side in ((rows, self.rows), (columns, self.columns))]
        self.clear(self.sums, LANES)
        self.clear(self.totals, 1)
        with loop(code, "eight", integer(0), whole, integer(LANES)) as eight:
            starts = [code.let_int("at", op("+", base, op("*", eight, integer(side.count))))
                      for base, side in ((of_rows, self.rows), (of_columns, self.columns))]
            with loop(code, "lane", integer(0), integer(LANES)) as lane:
                self.join(self.sums, LANES, [op("+", start, lane) for start in starts], lane)
        self.join_lanes()
        with loop(code, "place", whole, length) as place:
            starts = [op("+", op("+", base, op("*", whole, integer(side.count))), op("-", place, whole))
                      for base, side in ((of_rows, self.rows), (of_columns, self.columns))]
            self.join(self.totals, 1, [code.let_int("at", start) for start in starts], integer(0))
        self.ends(rows, columns)

    def clear(self, arrays: Mapping[str, tuple[str, ...]], lanes: int) -> None:
        with loop(self.run.code, "number", integer(0), integer(self.each * lanes)) as number:
            for product in self.products:
                self.hold(arrays, number)
                self.run.become(product.state, identity(self.run.code, self.run.tables, product.state))

    def hold(self, arrays: Mapping[str, tuple[str, ...]], at: loops.Exp) -> None:
        self.run.lanes, self.run.lane = dict(arrays), at

    def join(self, arrays: Mapping[str, tuple[str, ...]], lanes: int, starts: Sequence[loops.Exp],
             lane: loops.Exp) -> None:
        """The element of each row joins that of each column, and they their sum."""
        code = self.run.code
        for product in self.products:
            types = {name: self.types[name] for name in (*product.rows.values(), *product.columns.values())}
            given = [[{name: code.let("part", Value(loops.Load(code.array(array, types[array]), op(
                "+", start, integer(member * LANES))), types[array])) for name, array in side.items()}
                for member in range(group.count)]
                for side, group, start in zip((product.rows, product.columns), (self.rows, self.columns), starts,
                                              strict=True)]
            for row, of_row in enumerate(given[0]):
                for column, of_column in enumerate(given[1]):
                    with code.block() as one:
                        code.values.update({**of_row, **of_column})
                        found = apply(code, self.run.tables, ir.Thunk((), product.sides.joined), ())
                        number = (row * self.columns.count + column) * lanes
                        self.hold(arrays, op("+", integer(number), lane))
                        self.run.accumulate(product.state, found)
                    code.statements += one

    @property
    def types(self) -> dict[str, str]:
        """Of what is packed."""
        return {buffer.name: buffer.base for phase in self.kernel.phases for buffer in phase.buffers}

    def join_lanes(self) -> None:
        """The eight lanes of each sum, in order, are its total."""
        code, run = self.run.code, self.run
        with loop(code, "number", integer(0), integer(self.each)) as number:
            for product in self.products:
                for lane in range(LANES):
                    self.hold(self.sums, op("+", op("*", number, integer(LANES)), integer(lane)))
                    found = run.now(product.state)
                    self.hold(self.totals, number)
                    run.accumulate(product.state, found)

    def ends(self, rows: loops.Exp, columns: loops.Exp) -> None:
        """The segments' results, of rows and columns that there are."""
        code, run = self.run.code, self.run
        low, left = [code.let_int("low", op("*", group, integer(side.count)))
                     for group, side in ((rows, self.rows), (columns, self.columns))]
        here = [op("min", integer(side.count), op("-", members_in(code, side), first))
                for side, first in ((self.rows, low), (self.columns, left))]
        size = members_in(code, self.columns)
        with loop(code, "row", integer(0), here[0]) as row:
            number = code.let_int("number", op("+", low, row))
            indices = indices_of(code, self.rows, number) if run.axes else []
            with loop(code, "column", integer(0), here[1]) as column:
                self.hold(self.totals, op("+", op("*", row, integer(self.columns.count)), column))
                other = code.let_int("other", op("+", left, column))
                segment = code.let_int("s", op("+", op("*", number, size), other))
                if run.axes:
                    run.counted(segment, (*indices, other))
                results(self.kernel, run, segment, {p.state.name: run.now(p.state) for p in self.products})
        run.lane = None
