"""The GPU's walk of products, by tiles in shared memory: a block computes the sums of some rows with some columns.

    { (i1, i2, s, j, i) => a[i1 * k + j] * b[j * n + i2] }          tiles of 64 rows and 32 columns

    for (begin = 0; begin < k; begin += 16) {
      what the rows and columns give at the next 16 places goes to shared memory
      barrier
      for (place = 0; place < 16; place += 1)
        sums of 4 rows and 2 columns, 16 apart, which are registers of the thread
      barrier
    }
    the segments' results

So an element of a row is read from memory once for 32 sums and one of a column for 64: of doubles, 0.375 bytes for each
that is joined. Neighbouring threads read neighbours in memory, be that along rows or across. Each sum is made in the
order of its segment's elements, by one thread. A tile that has fewer rows or columns computes with the last one again.
Few or short segments are left to the other walk.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.thunks import Tables, apply
from nessie.cudagen.kernels.walk import Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.counted import count_of, loop
from nessie.cudagen.skeletons.cuda.blocks import BLOCK, THREAD, keep_parts, launch, threads_below
from nessie.cudagen.skeletons.cuda.finish import finish_walk, totals_of
from nessie.cudagen.skeletons.elements import number_at, states_of
from nessie.cudagen.skeletons.ends import results
from nessie.cudagen.skeletons.kernel import Kernel, all_steps, early_scalars, elements_exp, result_buffers, result_of
from nessie.cudagen.skeletons.products.sides import (
    Group,
    Product,
    Tiled,
    across,
    components_of,
    enough,
    given,
    group_count,
    groups_of,
    indices_of,
    members_in,
    product_exp,
    products_of,
    side_of,
    there,
    where_they_pay,
)
from nessie.cudagen.skeletons.states import declare
from nessie.lambda_cu import nodes as ir

Names = Mapping[str, tuple[str, ...]]           # variables, by state

TEAM = 16                       # threads along rows, and along columns
ROWS, COLUMNS = 4, 2            # of a thread at most
SUMS = ROWS * COLUMNS           # of a thread
DEPTH = 16                      # places that are in shared memory at a time
WORD = 8                        # bytes of a value at most
ROOM = 40 << 10                 # bytes of shared memory
ENOUGH = 4                      # at least one in so many rows and columns of a tile is there
TILES = 8                       # with fewer tiles most of a GPU has nothing to do
ABOUT = "A tile of {} rows and {} columns for each block, {} places of them in shared memory at a time."


def tiled(walk: Walk) -> Tiled | None:
    """The walk's products, if it does nothing else than registers and shared memory have room for."""
    products = products_of(walk, SUMS, totals=True)
    if products is None:
        return None
    groups = groups_of(walk, *[TEAM * count for count in of_thread(components_of(products))])
    taken = sum([len(side_of(product, group)[1]) * DEPTH * padded(group) * WORD
                 for product in products for group in groups])
    least = (groups[0].count // ENOUGH, groups[1].count // ENOUGH, DEPTH)
    return Tiled(tuple(products), *groups, least, TILES) if taken <= ROOM else None


def plan_staged(walk: Walk, tables: Tables, other: Module) -> Module:
    """The plan, with its functions, if tiles can do what the walk does. `other`: that of the walk, which does the same
    where they do not pay."""
    found, root = tiled(walk), walk.root
    if found is None or not isinstance(root, ir.Uniform):
        return other
    kernel = Kernel(walk, tables, None, states_of(walk))
    staged = Staged(kernel, root, found)
    about = ABOUT.format(found.rows.count, found.columns.count, DEPTH)
    staged.walk()
    tiles = product_exp([group_count(kernel, group) for group in found.groups])
    buffers = result_buffers(kernel) + keep_parts(kernel, staged.run, totals_of(kernel), BLOCK, tiles)
    launched, more = finish_walk(kernel, staged.code, tiles)
    launch(kernel, "tiles", staged.code, launched, buffers, about=about + more)
    made = kernel.module(tuple([result_of(kernel, name) for name in walk.kernel.returns]), elements_exp(kernel))
    return where_they_pay(made, other, enough(kernel, root, found))


def of_thread(components: int) -> tuple[int, int]:
    """How many rows a thread has, and columns, whose sums have so many components together."""
    rows, columns = ROWS, COLUMNS
    while rows * columns * components > SUMS:
        rows, columns = (rows // 2, columns) if rows > columns else (rows, columns // 2)
    return rows, columns


class Staged:
    """Writes the walk. `each`: how many rows a thread has, and columns; `firsts`: the first row and column of the tile;
    `own`: those of the thread, in the tile; `held`: the arrays in shared memory that have what sides give, with their
    types; `axes`: those that have the members' indices, where members have several."""

    def __init__(self, kernel: Kernel, root: ir.Uniform, found: Tiled) -> None:
        self.kernel, self.root, self.products, self.code = kernel, root, found.products, kernel.code()
        self.run = kernel.sweep(self.code, list(kernel.states.values()), all_steps(kernel))
        self.groups = self.rows, self.columns = found.groups
        self.each = [group.count // TEAM for group in found.groups]
        self.firsts: dict[str, loops.Exp] = {}
        self.own: dict[str, loops.Exp] = {}
        self.held: dict[str, tuple[str, str]] = {}
        self.axes: dict[str, list[str]] = {}

    def walk(self) -> None:
        code = self.code
        early_scalars(self.kernel, code)
        self.find_place()
        for state in totals_of(self.kernel):
            self.run.declare(state)
        for group in self.groups:
            self.find_axes(group)
        sums = [[{p.state.name: declare(code, self.kernel.tables, p.state) for p in self.products}
                 for _ in range(self.each[1])] for _ in range(self.each[0])]
        with loop(code, "begin", integer(0), code.size(self.root.length), integer(DEPTH)) as begin:
            for group in self.groups:
                code.note(f"what {group.use} give at the next places goes to shared memory")
                self.stage(group, begin)
            code.add(loops.Barrier())
            self.join(begin, sums)
            code.add(loops.Barrier())
        code.note("the results of the thread's segments")
        for row, of_row in enumerate(sums):
            for column, names in enumerate(of_row):
                self.result(row, column, names)
        code.statements = [*code.above, *code.statements]

    def find_place(self) -> None:
        """The block's tile, and the thread's rows and columns in it, of which those in its warp are neighbours."""
        code = self.code
        many = code.let_int("tiles", count_of(members_in(code, self.columns), self.columns.count))
        band = code.let_int("band", op("/", BLOCK, many))
        self.firsts = {"rows": code.let_int("low", op("*", band, integer(self.rows.count))),
                       "columns": code.let_int("left", op("*", op("-", BLOCK, op("*", band, many)),
                                                          integer(self.columns.count)))}
        self.own = {"rows": code.let_int("down", op("rshift", THREAD, integer(TEAM.bit_length() - 1))),
                    "columns": code.let_int("right", op("and", THREAD, integer(TEAM - 1)))}

    # What sides give ------------------------------------------------------------------------

    def find_axes(self, group: Group) -> None:
        """Where members have several indices, the block divides for those of its own once."""
        if len(group.axes) == 1:
            return
        code = self.code
        self.axes[group.use] = [code.shared_above(f"{group.use}_axis", "int", group.count) for _ in group.axes]
        code.note(f"the indices of {group.use}")
        with threads_below(code, group.count):
            number = there(code, group, op("+", self.firsts[group.use], THREAD))
            for array, index in zip(self.axes[group.use], indices_of(code, group, number), strict=True):
                code.add(loops.Store(array, THREAD, index))
        code.add(loops.Barrier())

    def indices(self, group: Group, member: loops.Exp) -> list[loops.Exp]:
        """Those of a member of the tile; the last one's, where there are fewer."""
        if group.use in self.axes:
            return [self.code.let_int("axis", loops.Load(array, member)) for array in self.axes[group.use]]
        return [self.code.let_int("index", there(self.code, group, op("+", self.firsts[group.use], member)))]

    def stage(self, group: Group, begin: loops.Exp) -> None:
        """Neighbouring threads take neighbours in memory: members of one place, or places of a member."""
        code, beside = self.code, across(self.products, group)
        width = group.count if beside else DEPTH
        along = op("and", THREAD, integer(width - 1))
        with loop(code, "turn", integer(0), integer(group.count * DEPTH // THREADS)) as turn:
            other = op("+", op("*", turn, integer(THREADS // width)),
                       op("rshift", THREAD, integer(width.bit_length() - 1)))
            member, place = [code.let_int(hint, exp) for hint, exp in
                             zip(("member", "place"), (along, other) if beside else (other, along), strict=True)]
            at = code.let_int("at", op("+", begin, place))
            with code.block() as inside:
                slot = code.let_int("slot", op("+", op("*", place, integer(padded(group))), member))
                indices = self.indices(group, member)
                for array, value in given(code, self.kernel.tables, self.root, self.products, group, indices, at):
                    if array not in self.held:
                        self.held[array] = code.shared_above(array, value.type, DEPTH * padded(group)), value.type
                    code.add(loops.Store(self.held[array][0], slot, value.exp))
            code.add(loops.If(op("<", at, code.size(self.root.length)), tuple(inside)))

    # Sums -----------------------------------------------------------------------------------

    def join(self, begin: loops.Exp, sums: Sequence[Sequence[Names]]) -> None:
        """Each row's element joins each column's, and they their sum."""
        code = self.code
        high = op("min", integer(DEPTH), op("-", code.size(self.root.length), begin))
        with loop(code, "place", integer(0), high) as place:
            slots = [code.let_int("slot", op("+", op("*", place, integer(padded(group))), self.own[group.use]))
                     for group in self.groups]
            for product in self.products:
                rows = [self.load(product, self.rows, slots[0], row) for row in range(self.each[0])]
                for column in range(self.each[1]):
                    code.values.update(self.load(product, self.columns, slots[1], column))
                    for row, values in enumerate(rows):
                        code.values.update(values)
                        self.run.variables.update(sums[row][column])
                        found = apply(code, self.kernel.tables, ir.Thunk((), product.sides.joined), ())
                        self.run.accumulate(product.state, found)

    def load(self, product: Product, group: Group, slot: loops.Exp, number: int) -> dict[str, Value]:
        """What the thread's member of this number gives, by the names that are joined."""
        found = {}
        for name, array in side_of(product, group)[1].items():
            held, type_ = self.held[array]
            found[name] = self.code.let(name, Value(loops.Load(held, plus(slot, number * TEAM)), type_))
        return found

    def result(self, row: int, column: int, names: Names) -> None:
        """A segment's results, if there is such a row and column."""
        code, run = self.code, self.run
        own = [plus(self.own[group.use], number * TEAM)
               for group, number in zip(self.groups, (row, column), strict=True)]
        numbers = [code.let_int(hint, op("+", self.firsts[group.use], member))
                   for hint, group, member in zip(("row", "column"), self.groups, own, strict=True)]
        sizes = [members_in(code, group) for group in self.groups]
        with code.block() as inside:
            segment = code.let_int("s", number_at(numbers, sizes))
            if run.axes:
                run.counted(segment, (*self.indices(self.rows, own[0]), numbers[1]))
            run.variables.update(names)
            results(self.kernel, run, segment, {p.state.name: run.now(p.state) for p in self.products})
        below = [op("<", number, size) for number, size in zip(numbers, sizes, strict=True)]
        code.add(loops.If(op("and", *below), tuple(inside)))


def plus(exp: loops.Exp, more: int) -> loops.Exp:
    return op("+", exp, integer(more)) if more else exp


def padded(group: Group) -> int:
    """The members of a tile, and one more, so that those that follow in a member do not meet in one bank."""
    return group.count + 1
