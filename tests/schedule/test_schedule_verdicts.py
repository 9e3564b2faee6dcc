"""The table of verdicts: for every reason why two nodes may not share a kernel, and every rule, a pair (the last two
nodes of a row). The certificate says the same, but of what is only sure to be slow."""
from __future__ import annotations

import random

import pytest
from brute_force import brute
from random_graphs import in_rows, random_graph
from test_schedule_costs import HEAD

from nessie.cudagen.kernels.walk import walk_of
from nessie.lambda_cu.text.parser import parse
from nessie.schedule.check import check_graph
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.graph import text as graph_text
from nessie.schedule.graph.graph import graph as graphs
from nessie.schedule.graph.nodes import Graph, Index
from nessie.schedule.legality.certificate import one_pass
from nessie.schedule.legality.fusible import Fusible
from nessie.schedule.legality.sharing import rule

OWNED = "elements(d, r, t)"             # whose segments have owners
BY = {"BY2": 'walked_by "Levels([warp, lane], Gen)"', "BY": 'walked_by "Levels([block, lane], Gen)"'}
TABLE = {
    "MAP-X": "MAP flat(n) (own x) -> (a) | SCAN flat(n) (own a) -> (b)",
    "gather": "MAP flat(n) (own x) -> (a) | MAP flat(n) (gather a) -> (b)",
    "SEG-PROLOGUE": "MAP flat(r) (own z) -> (c) | SEG_SCAN elements(d, r, t) (own e, seg c) -> (f)",
    "segment-late": "SCAN flat(r) (own z) -> (c) | MAP elements(d, r, t) (seg c) -> (f)",
    "SCAN-MAP": "SCAN flat(n) (own x) -> (a) | MAP flat(n) (own a) -> (b)",
    "SCAN-REDUCE": "SCAN flat(n) (own x) -> (a) | REDUCE flat(n) (own a) -> (s)",
    "SCAN-PERMUTE": "SCAN flat(n) (own x) -> (a) | PERMUTE flat(n) (own a) -> (b)",
    "SEG_SCAN-MAP": "SEG_SCAN elements(d, r, t) (own e) -> (f) | MAP elements(d, r, t) (own f) -> (y)",
    "PARTITION-PERMUTE": "PARTITION flat(n) (own x) -> (k, l, g, i, p) | PERMUTE flat(n) (own p) -> (a)",
    "ONCE-ONCE": "ONCE unit() (scalar k) -> (s) | ONCE unit() (scalar s) -> (q)",
    "two-look-backs": "SCAN flat(n) (own x) -> (a) | SCAN flat(n) (own a) -> (b)",
    "FILTER-MAP": "FILTER flat(n) (own x) -> (k, g) | MAP survivors(g, k) (member k, own g) -> (h)",
    "FILTER-REDUCE": "FILTER flat(n) (own x) -> (k, g) | REDUCE survivors(g, k) (member k, own g) -> (s)",
    "FILTER-FILTER": "FILTER flat(n) (own x) -> (k, g) | FILTER survivors(g, k) (member k, own g) -> (l, h)",
    "FILTER-SCAN": "FILTER flat(n) (own x) -> (k, g) | SCAN survivors(g, k) (member k, own g) -> (h)",
    "FILTER-PERMUTE": "FILTER flat(n) (own x) -> (k, g) | PERMUTE survivors(g, k) (member k, own g) -> (h)",
    "two-look-backs, rank": "FILTER flat(n) (own x) -> (k, g) | SCAN survivors(g, k) (member k, own g) -> (h) rank",
    "kernel-end, count": "FILTER flat(n) (own x) -> (k, g) | MAP flat(n) (scalar k) -> (b)",
    "FILTER-ONCE": "FILTER flat(n) (own x) -> (k, g) | ONCE unit() (scalar k) -> (s)",
    "SEG_FILTER-SEG_REDUCE": "SEG_FILTER elements(d, r, t) (own e) -> (k, g, o)"
                             " | SEG_REDUCE survivors(g, k, r) (member k, member o, own g) -> (c)",
    "position": "SEG_FILTER elements(d, r, t) (own e) -> (k, g, o)"
                " | SEG_REDUCE survivors(g, k, r) (member k, member o, own g) -> (c) place",
    "missing-host": "SEG_FILTER elements(d, r, t) (own e) -> (k, g, o)"
                    " | MAP survivors(g, k) (member k, gather g) -> (h) | MAP flat(r) (gather o) -> (w)",
    "PARTITION-MAP": "PARTITION flat(n) (own x) -> (k, l, g, i, p) | MAP survivors(g, l) (member l, own i) -> (h)",
    "SEG-EPILOGUE": "SEG_REDUCE elements(d, r, t) (own e) -> (c) | MAP flat(r) (own c) -> (w)",
    "SEG-EPILOGUE, segments in rows": "SEG_REDUCE elements(`uniform(r, l)`, r, t) (own e) -> (c)"
                                      " | MAP elements(`uniform(k, l)`, k, r) (own c) -> (w) place",
    "space, segments in irregular rows": "SEG_REDUCE elements(`uniform(r, l)`, r, t) (own e) -> (c)"
                                         " | MAP elements(`irregular(o)`, k, r) (own c) -> (w) place",
    "space, irregular segments in rows": "SEG_REDUCE elements(d, r, t) (own e) -> (c)"
                                         " | MAP elements(`uniform(k, l)`, k, r) (own c) -> (w) place",
    "space, scan of segments in rows": "SEG_REDUCE elements(`uniform(r, l)`, r, t) (own e) -> (c)"
                                       " | SEG_SCAN elements(`uniform(k, l)`, k, r) (own c) -> (w)",
    "space, scan of segments": "SEG_REDUCE elements(d, r, t) (own e) -> (c) | SCAN flat(r) (own c) -> (w)",
    "segment-late, softmax": "SEG_REDUCE elements(d, r, t) (own e) -> (c)"
                             " | MAP elements(d, r, t) (own e, seg c) -> (f)",
    "REDUCE-ONCE": "REDUCE flat(n) (own x) -> (s) | ONCE unit() (scalar s) -> (q)",
    "kernel-end": "REDUCE flat(n) (own x) -> (s) | MAP flat(n) (scalar s) -> (a)",
    "scatter-order": "PERMUTE flat(n) (own x) -> (a) | MAP flat(n) (own a) -> (b)",
    "one-thread": "MAP flat(n) (own x) -> (a) | PERMUTE flat(n) (own a) -> (b) serial",
    "in-place": "MAP flat(n) (own x, gather y) -> (a) | PERMUTE flat(n) (own a, gather y) -> (b) into(y)",
    "in-place, apart": "MAP flat(n) (own y) -> (a) | PERMUTE flat(n) (own x, gather y) -> (b) into(y)",
    "HORIZONTAL, one thread": "PERMUTE flat(n) (own x) -> (a) serial | PERMUTE flat(n) (own y) -> (b) serial",
    "once-reads-array": "MAP flat(n) (own x) -> (a) | ONCE unit() (gather a) -> (s)",
    "size": "SCAN flat(r) (own z) -> (c) | SEG_REDUCE elements(c, r, t) (size c, own e) -> (w)",
    "library": "MAP flat(n) (own x) -> (a) | ORDER flat(n) (own a) -> (b)",
    "host": "REDUCE flat(n) (own x) -> (s) | HOST unit() (gather s) -> (q)",
    "HORIZONTAL": "REDUCE flat(n) (own x) -> (s) | SCAN flat(n) (own x) -> (a)",
    "space": "MAP flat(n) (own x) -> (a) | MAP flat(t) (own e) -> (f)",
    "space, descriptors": "MAP elements(d, r, t) (own e) -> (f) | MAP elements(u, r, t) (own e) -> (w)",
    "OWNER": f"SEG_REDUCE {OWNED} (own e) -> (c) BY | MAP {OWNED} (own e, seg c) -> (f) BY",
    "SEG_SCAN-SEG_REDUCE, of owners": f"SEG_SCAN {OWNED} (own e) -> (f) BY | SEG_REDUCE {OWNED} (own f) -> (c) BY",
    "OWNER, row": f"ORDER {OWNED} (own e) -> (f) BY | SEG_REDUCE {OWNED} (gather f) -> (c) in_row(f) BY",
    "SEG-PROLOGUE, of owners": f"MAP flat(r) (own z) -> (c) | SEG_REDUCE {OWNED} (own e, seg c) -> (w) BY",
    "gather, of owners": f"MAP {OWNED} (own e) -> (f) BY | SEG_REDUCE {OWNED} (gather f) -> (c) BY",
    "gather, of owners' sums": f"SEG_REDUCE {OWNED} (own e) -> (c) BY | MAP {OWNED} (gather c) -> (f) BY",
    "scatter-order, of owners": f"PERMUTE {OWNED} (own e) -> (f) BY | MAP {OWNED} (own f) -> (y) BY",
    "mapping": f"SEG_REDUCE {OWNED} (own e) -> (c) BY | MAP {OWNED} (own e, seg c) -> (f) BY".replace("BY", "BY2", 1),
    "mapping, one owner": f"SEG_REDUCE {OWNED} (own e) -> (c) | MAP {OWNED} (own e, seg c) -> (f) BY",
    "mapping, filter": f"SEG_FILTER {OWNED} (own e) -> (k, g, o) BY | MAP {OWNED} (own e) -> (f) BY",
    "space, of owners": f"MAP flat(n) (own x) -> (a) | MAP {OWNED} (own e) -> (f) BY",
    "HORIZONTAL, twins": "SEG_REDUCE elements(d, r, t) (own e) -> (c) | REDUCE flat(t) (own e) -> (s)",
}

NAMES = """ scalar k : int scalar l : int scalar s : float scalar q : float array a : [float; n] array b : [float; n]
  array c : [float; r] array f : [float; t] array g : [float; k] array h : [float; k] array i : [float; l]
  array o : [int; r+1] array p : [int; n] array w : [float; r] """


def table_graph(case: str) -> Graph:
    text = TABLE[case]
    for short, long in BY.items():
        text = text.replace(f" {short}", f" {long}")
    first, *others = text.split(" | ")
    named = "g" if "FILTER" in first or "PARTITION" in first else "u"
    nodes = " ".join(f"node {name} = {node}" for name, node in zip((named, "v", "v2"), (first, *others)))
    return graph_text.parse(HEAD.replace("size k", "size l = 5e5 size k").format(f"{NAMES}{nodes} outputs ()"))


@pytest.mark.parametrize("case", TABLE)
def test_the_table_of_verdicts(case: str) -> None:
    graph = table_graph(case)
    check_graph(graph)
    fusible = Fusible(Index(graph))
    last = len(graph.nodes) - 2, len(graph.nodes) - 1
    assert fusible.reason.get(last) or rule(fusible.index, *last) == case.split(",")[0]
    if fusible.reason.get(last):
        assert fusible.reason[last] == case.split(",")[0]
    walked = one_pass(graph, {graph.nodes[k].name for k in last})
    assert walked == (last not in fusible.reason or case.split(",")[0] in ("one-thread", "in-place"))
    assert graph_text.parse(graph_text.show(graph)) == graph


@pytest.mark.parametrize("seed", range(50))
def test_segments_that_are_elements_of_rows(seed: int) -> None:
    graph = in_rows(random_graph(seed, 5), random.Random(seed))
    check_graph(graph)
    brute(Problem(graph, CPU))


@pytest.mark.parametrize("write", [
    "PERMUTE { i => xs[i] using xs } { i => at[i] using at } (n) into n (0.0) distinct",
    "PERMUTE { i => xs[i] using xs } { i => at[i] using at } (n) into n (0.0) last",
    "REDUCE_BY_INDEX { i => xs[i] using xs } { i => at[i] using at } (0.0) { (x, y) => x + y } (n) into n (0.0)"])
def test_one_thread_walks_what_the_graph_says(write: str) -> None:
    program = parse(f"""
kernel K (n : int, xs : [float; n], at : [int; n]) {{
  let ys = {write}
  return ys
}}
function f (n : int, xs : [float; n], at : [int; n]) -> (m : int, out : [float; m]) {{
  let ys : [float; n] = run K (n, xs, at)
  return (n, ys)
}}
entry f : [float], [int] -> [float]
""")
    [graph] = graphs(program)
    assert graph.nodes[0].serial == walk_of(program.kernels[0], program).sequential
