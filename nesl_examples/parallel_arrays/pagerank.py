"""PageRank: a page is as important as those that link to it. `sources` has, for each page, the pages with a link to it:
rows of any lengths, nessie.Nested or lists."""
from __future__ import annotations

from typing import Any

import numpy as np

import nessie
from nessie import Array

DAMPING = 0.85


def pagerank(sources: Any, links: Any, rounds: int) -> Array:
    """The rank of each page after so many rounds. `links`: how many links leave each page."""
    rows, links = nessie.nest(sources), nessie.asarray(links)
    count = len(rows)
    ranks = nessie.pnew(count, lambda page: 1.0 / count)
    for _ in range(rounds):
        ranks = renewed(rows, links, ranks).keep()
    return ranks


def renewed(rows: Array, links: Array, ranks: Array) -> Array:
    """The ranks after a round. What pages without links have goes to all alike."""
    count = len(rows)
    shares = ranks.combine(links, lambda rank, leaving: rank / leaving if leaving else 0.0)
    lost = ranks.combine(links, lambda rank, leaving: 0.0 if leaving else rank).sum()
    return rows.combine(lost, lambda row, rest: (1 - DAMPING + DAMPING * rest) / count
                        + DAMPING * sum(shares[page] for page in row))


if __name__ == "__main__":
    print(np.round(pagerank([[1, 2], [2], [0], []], [1, 1, 2, 0], 30).to_numpy(), 4))
