"""Contraction: nodes that some optimal schedule keeps together, found before the search.

A block of MAPs, all of whose results are streamed by one other block only, in the same space, joins that block if
what it reads weighs little beside what it makes. Moving the block to its reader saves a write and a read of its
results, and a second read of one at least if there is one of the inputs. It costs at most a read of each input there,
a second if the block's results go into a carry, and a write of the inputs that no one else had to write. No path is
added between kernels: all paths out of the block led to its reader. Nodes that the user wants cut from others are not
moved: their reader's kernel may hold those. Where a node of the reader may be computed again, elsewhere, the results
may have to be written all the same: then only the read is saved. What the reader could have computed again beside it
must be possible beside the block too.
"""
from __future__ import annotations

from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.graph.nodes import OWN


def contract(problem: Problem) -> Clusters:
    """Blocks of nodes that are scheduled as one."""
    blocks = {block[0]: list(block) for block in problem.blocks}
    of = {k: name for name, block in blocks.items() for k in block}
    changed = True
    while changed:
        changed = False
        for name in list(blocks):
            target = reader_to_join(problem, blocks, of, name)
            if target is not None:
                blocks[target] = sorted(blocks[target] + blocks.pop(name))
                of.update(dict.fromkeys(blocks[target], target))
                changed = True
    return sorted(blocks.values())


def reader_to_join(problem: Problem, blocks: dict[int, list[int]], of: dict[int, int], name: int) -> int | None:
    """The block that this one should be computed in, if it is sure to be."""
    index, traffic, block = problem.index, problem.traffic, blocks[name]
    if any(index.nodes[k].op != "MAP" or index.nodes[k].space != index.nodes[block[0]].space
           or problem.fusible.cuts >> k & 1 for k in block):
        return None
    made = {result for k in block for result in index.nodes[k].results}
    outside = [(r, use) for k in block for r in index.successors[k] if of[r] != name
               for use in index.nodes[r].uses if use.name in made]
    targets = {of[r] for k in block for r in index.successors[k]} - {name}
    if not outside or made & traffic.forced or len(targets) != 1 or not all(
            use.mode == OWN and index.nodes[r].space == index.nodes[block[0]].space for r, use in outside):
        return None
    target = targets.pop()
    if not all(problem.fusible.ok(u, v) for u in block for v in blocks[target]) \
            or not problem.fits(block + blocks[target]):
        return None
    if any(keeps_away(problem, block, k) and not keeps_away(problem, blocks[target], k) for k in problem.again):
        return None
    saved = [traffic.bytes[result] for result in {use.name for _, use in outside}]
    inputs = {array for k in block for array in traffic.streamed[k]} - made
    written = [array for array in inputs if array in index.maker and array not in traffic.forced]
    read, again = (sum(traffic.bytes[array] for array in sorted(arrays)) for arrays in (inputs, written))
    times = 1 if any(r in problem.again for r, _ in outside) else 2
    return target if all((1 + sweep) * read + again <= times * sum(saved) + sweep * min(saved)
                         for sweep in (0.0, problem.profile.rescan)) else None


def keeps_away(problem: Problem, block: list[int], k: int) -> bool:
    """Can k not be computed again where the block is?"""
    return any(problem.fusible.direct[k] >> member & 1 for member in block)
