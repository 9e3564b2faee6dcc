"""What rows and columns give to products (skeletons.cpu.products), computed once and packed.

    row 0:  0 ... 7    row 1:  0 ... 7    row 2:  0 ... 7    row 3:  0 ... 7    row 0:  8 ... 15    ...

A group's members lie together: of each eight elements those of the first member, then those of the second, ... A group
that has fewer members has its last one again. Failures are those of the first segment that has such a member.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Buffer
from nessie.cudagen.skeletons.chunks import each_chunk
from nessie.cudagen.skeletons.counted import count_of, loop
from nessie.cudagen.skeletons.cpu.lanes import LANES
from nessie.cudagen.skeletons.kernel import Kernel, size_exp
from nessie.cudagen.skeletons.products.sides import (
    Group,
    Product,
    across,
    given,
    group_count,
    indices_of,
    members,
    members_in,
    product_exp,
    there,
)
from nessie.lambda_cu import nodes as ir

PLACES = 64                     # elements of all members that are a chunk, where it goes by places


def padded(length: loops.Exp) -> loops.Exp:
    """The length, in whole eights."""
    return op("*", count_of(length, LANES), integer(LANES))


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

    @property
    def across(self) -> bool:
        return across(self.products, self.group)

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
        return indices_of(self.code, self.group, there(self.code, self.group, number))

    def keep(self, base: loops.Exp, indices: Sequence[loops.Exp], member: loops.Exp, eight: loops.Exp,
             lane: loops.Exp) -> None:
        """What the member gives at this lane of these eight."""
        code = self.code
        with code.block() as one:
            place = code.let_int("place", op("+", eight, lane))
            start = op("+", op("+", base, op("*", eight, integer(self.group.count))), op("*", member, integer(LANES)))
            for array, value in given(code, self.kernel.tables, self.root, self.products, self.group, indices, place):
                self.types[array] = value.type
                code.store(array, op("+", start, lane), value)
        code.statements += one
