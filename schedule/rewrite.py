"""Rewriting a merged kernel by the fusion rules until none applies.

  in    a kernel whose bindings one walk can compute, one after another
  out   a kernel with the same results and fewer bindings, which one walk can compute too
  how   two bindings are joined if no third stands between them on a path; the certificate's simulation must accept
        the kernel afterwards, since a joined binding waits for what either waited for
  ends  because every rule leaves one binding where there were two
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import ir, rename, scope
from nessie.schedule.build import kernel_graph
from nessie.schedule.certificate import one_pass
from nessie.schedule.pdg import Index
from nessie.schedule.rules import RULES
from nessie.schedule.thunks import Setting

Binds = tuple[ir.Bind, ...]


def rewrite_kernel(kernel: ir.Kernel, types: Mapping[str, ir.Type],
                   failing: Collection[str] | None = None) -> ir.Kernel:
    """The kernel with its bindings joined. `types` has everything it names."""
    names = Names(all_names(kernel))
    binds = kernel.binds
    while (joined := join_two(binds, frozenset(kernel.returns), types, names, failing)) is not None:
        binds = joined
    return replace(kernel, binds=binds)


def all_names(kernel: ir.Kernel) -> set[str]:
    """Every name in the kernel, the thunks' own too."""
    names = {param.name for param in kernel.params}
    for bind in kernel.binds:
        names.update(bind.names, scope.soac_names(bind.soac))
        for thunk in scope.thunks(bind.soac):
            names.update(thunk.params, rename.all_names(thunk.body))
    return names


def join_two(binds: Binds, returned: frozenset[str], types: Mapping[str, ir.Type], names: Names,
             failing: Collection[str] | None) -> Binds | None:
    """The bindings with two joined by the first rule that applies; None if none does."""
    users = uses_of_each(binds)
    for _, rule in RULES:
        for q in range(len(binds)):
            for p in range(q):
                made = set(binds[p].names) - {"_"}
                others = frozenset(name for k, used in enumerate(users) if k not in (p, q) for name in made & used)
                joined = rule(binds[p], binds[q], Setting(names, others | (returned & made), failing))
                if joined is not None and not path_between(binds, users, p, q):
                    result = in_order([*binds[:p], *binds[p + 1:q], joined, *binds[q + 1:]])
                    if walks_once(result, types):
                        return result
    return None


def uses_of_each(binds: Sequence[ir.Bind]) -> list[set[str]]:
    return [set(scope.soac_names(bind.soac)) for bind in binds]


def path_between(binds: Binds, users: Sequence[set[str]], p: int, q: int) -> bool:
    """Does q need a binding that needs p?"""
    reached = set(binds[p].names) - {"_"}
    for k in range(p + 1, q):
        if users[k] & reached:
            reached |= set(binds[k].names) - {"_"}
    return bool(users[q] & (reached - set(binds[p].names)))


def in_order(binds: Sequence[ir.Bind]) -> Binds:
    """The bindings, each after those it needs; otherwise as they stand."""
    left, result = list(binds), []
    waiting = {name for bind in left for name in bind.names}
    while left:
        ready = next(bind for bind in left if not waiting.intersection(scope.soac_names(bind.soac)) - set(bind.names))
        left.remove(ready)
        waiting = {name for bind in left for name in bind.names}
        result.append(ready)
    return tuple(result)


def walks_once(binds: Binds, types: Mapping[str, ir.Type]) -> bool:
    graph = kernel_graph(binds, types)
    return one_pass(Index(graph), range(len(graph.nodes)))
