"""The names that FILTER and PARTITION bind, side by side: what all who treat both alike read."""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir


@dataclass(frozen=True)
class Selection:
    """A FILTER has one side, a PARTITION two. `counts` are the names of how many elements each side has, `values` those
    of its arrays. `offsets` names a segmented FILTER's offsets of survivors, `positions` a PARTITION's array of the
    index's position on its side; each is one name or none."""
    soac: ir.Filter | ir.Partition
    counts: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    offsets: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, as the binding has them."""
        return (*self.counts, *[name for side in self.values for name in side], *self.offsets, *self.positions)


def selection(bind: ir.Bind) -> Selection | None:
    """None of bindings that select nothing."""
    names, soac = bind.names, bind.soac
    match soac:
        case ir.Filter(space=ir.Flat()):
            return Selection(soac, names[:1], (names[1:],))
        case ir.Filter():
            return Selection(soac, names[:1], (names[1:-1],), offsets=names[-1:])
        case ir.Partition():
            middle = (len(names) + 1) // 2
            return Selection(soac, names[:2], (names[2:middle], names[middle:-1]), positions=names[-1:])
    return None
