"""The certificate of a mapping: for small sizes, each index is walked by one thread, and no other. It goes through the
launch and the thread's code as they are, and knows nothing of combinators."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.axes import Space, indices, value
from nessie.lambda_cu.mappings.mapped import DIRECTIONS, Mapped, launch_of, sizes_of


def walked(made: Mapped, sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Yield the indices that the threads of a launch walk, in any order."""
    known = sizes_of(made, sizes)
    grid, block = launch_of(made, sizes)
    loops = list(made.loops)
    for place in product(*map(range, (*grid, *block, *[value(made.loops[name], known) for name in loops]))):
        here = dict(known)
        for what, numbers in (("blockIdx", place[:3]), ("threadIdx", place[3:6])):
            here |= {f"{what}_{direction}": i for direction, i in zip(DIRECTIONS, numbers)}
        here |= dict(zip(loops, place[6:]))
        for name, exp in made.code.items():
            here[name] = value(exp, here)
        if all([guard != ir.Const(False, "bool") and value(guard, here) for guard in made.guards]):
            yield tuple([value(exp, here) for exp in made.index])


def mistake(made: Mapped, space: Space, sizes: Mapping[str, int]) -> str:
    """Return what is wrong with the walk for these sizes: an index that is left out, met twice, or none of the space;
    '' if nothing is."""
    wanted, found = set(indices(space, sizes)), Counter(walked(made, sizes))
    if missing := wanted - set(found):
        return f"index {min(missing)} is walked by no thread"
    if strange := set(found) - wanted:
        return f"{min(strange)} is no index, and a thread walks it"
    twice = [index for index, count in found.items() if count > 1]
    return f"index {min(twice)} is walked by {found[min(twice)]} threads" if twice else ""
