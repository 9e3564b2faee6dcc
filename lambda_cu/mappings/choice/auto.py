"""The choice that `auto` makes: of the candidates that every GPU launches, whatever the sizes are, the one whose walk
costs least, for sizes that are given or assumed."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Space, value
from nessie.lambda_cu.mappings.choice.candidates import candidates, uncertain
from nessie.lambda_cu.mappings.choice.costs import WARP, Cost, Places, cost
from nessie.lambda_cu.mappings.choice.places import WORD, Ints, Place, lengths, places
from nessie.lambda_cu.mappings.kernels import root_of, space_of
from nessie.lambda_cu.mappings.mapped import PLACES, mapped, shown_operations

MOST_SHOWN = 6


@dataclass(frozen=True)
class Candidate:
    """A mapping, what readers call it, what it costs, and why it is not taken whatever it costs ('': it may be)."""
    name: str
    mapping: maps.Top
    cost: Cost
    refused: str = ""


def of_kernel(kernel: ir.Kernel, given: Mapping[str, int]) -> list[Candidate]:
    """The candidates for a kernel, the best first. `given`: some of its sizes."""
    root = root_of(kernel)
    assert not isinstance(root, ir.Closed)          # which no strategy maps
    known, named = sizes_of_kernel(root, given)
    return of_space(space_of(root)[0], named, lambda index: places(kernel, root, index, known))


def sizes_of_kernel(root: ir.Flat | ir.Uniform, given: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """The sizes of a kernel's axes, as given or assumed: by its own names, and by those of its space's axes."""
    axes = (root.size,) if isinstance(root, ir.Flat) else root.axes
    known = {**given, **{axis: size for axis, size in zip(axes, lengths(axes, given)) if isinstance(axis, str)}}
    return known, {name: known[size] for name, size in space_of(root)[1].items() if isinstance(size, str)}


def of_rows(space: Space, sizes: Mapping[str, int]) -> list[Candidate]:
    """The candidates for a space that nothing but its array in memory is known of, which has row after row."""
    def where(index: tuple[Ints, ...]) -> Iterator[Place]:
        element = index[0]
        for axis, i in zip(space[1:], index[1:]):
            element = element * value(axis.high, sizes) + i
        yield Place("the array", element, WORD)
    return of_space(space, sizes, where)


def of_space(space: Space, sizes: Mapping[str, int], where: Places) -> list[Candidate]:
    """The candidates for a space whose sizes are known, and where its indices read and store."""
    found: list[Candidate] = []
    for name, mapping in candidates(len(space), any([not axis.is_dense for axis in space])):
        made = mapped(mapping, space, Names({*sizes, *PLACES}))
        found.append(Candidate(name, mapping, cost(made, sizes, where), uncertain(made)))
    return sorted(found, key=lambda one: (bool(one.refused), float(f"{one.cost.time:.3g}")))


def told(found: Candidate) -> str:
    """What it costs."""
    return (f"{found.cost.time / 1000:.1f} us: {found.cost.sectors * WARP:.1f} sectors a warp, "
            f"{shown_operations(found.cost.divisions, found.cost.others)}, {found.cost.idle:.0%} idle")


def shown_candidates(found: list[Candidate]) -> list[str]:
    """The best candidates, a line each, and those that would be better if every GPU launched them."""
    best, others = found[0], [one for one in found[1:] if not one.refused]
    better = [one for one in found if one.refused and one.cost.time <= best.cost.time]
    listed = [best, *others[:MOST_SHOWN - 1], *better]
    width = max([len(one.name) for one in listed])
    lines = [f"{one.name:{width}}  {told(one)}{f'; not taken, as {one.refused}' if one.refused else ''}"
             for one in listed]
    return [*lines, *([f"and {len(others) - MOST_SHOWN + 1} others"] if len(others) >= MOST_SHOWN else [])]
