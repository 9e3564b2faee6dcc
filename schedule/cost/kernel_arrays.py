"""Counts the arrays that a kernel has in memory: those that it reads and does not make, and those it makes for others.

An array that a kernel makes and that nobody else uses stays in registers, one element at a time, so any number of such
arrays has room.
"""
from __future__ import annotations

from collections.abc import Iterable

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.schedule.graph.nodes import Index


@dataclass(frozen=True)
class Array:
    """`users`: the mask of the nodes that use the array, in any mode; `maker`: the node that makes it, if one does."""
    users: int
    maker: int | None
    output: bool


class ArrayLimit:
    """`most`: the number of arrays that a kernel may have; a node that has more by itself raises the limit."""

    def __init__(self, index: Index, limit: int) -> None:
        users: dict[str, int] = {}
        self.of: list[set[str]] = [set() for _ in index.nodes]
        for k, node in enumerate(index.nodes):
            for name in {use.name for use in node.uses} | ({*node.results} - {"_"}):
                if isinstance(index.types.get(name), ir.Array):
                    users[name] = users.get(name, 0) | (1 << k if index.maker.get(name) != k else 0)
                    self.of[k].add(name)
        outputs = set(index.graph.outputs)
        self.arrays = {name: Array(mask, index.maker.get(name), name in outputs) for name, mask in users.items()}
        self.most = max([limit, *(len(self.held([k])) for k in range(len(index.nodes)))])

    def held(self, members: Iterable[int], copies: Iterable[int] = ()) -> set[str]:
        """The arrays that a kernel of these nodes, which computes `copies` again, has in memory."""
        members, copies = list(members), list(copies)
        own = sum(1 << k for k in members)
        return self.still_held(set[str]().union(*(self.of[k] for k in (*members, *copies))), own,
                               sum(1 << k for k in copies))

    def still_held(self, names: Iterable[str], own: int, copies: int = 0) -> set[str]:
        """The given arrays that a kernel has in memory. `own`, `copies`: the masks of its nodes."""
        found = set()
        for name in names:
            array = self.arrays[name]
            made = 0 if array.maker is None else 1 << array.maker
            needed = array.output or array.users & ~own if made & own else array.users & (own | copies)
            if needed and not made & copies:
                found.add(name)
        return found
