"""Rewrites a merged kernel by the fusion rules until none applies.

  in    a kernel whose bindings one walk can compute, one after another
  out   a kernel with the same results and fewer bindings, which one walk can compute too
  how   two bindings are joined if no third stands between them on a path. The certificate's simulation must accept
        the kernel afterwards, since a joined binding waits for all that either waited for. Pairs are joined before
        pairs of pairs, so that a long chain is not rewritten for each of its links
  ends  because every rule leaves one binding where there were two
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import rename, scope
from nessie.lambda_cu.mappings.kernels import why_not
from nessie.lambda_cu.mappings.owners import by_owners
from nessie.lambda_cu.parts import thunks
from nessie.schedule.graph.build import kernel_graph
from nessie.schedule.graph.uses import Uses, uses_of
from nessie.schedule.legality.certificate import one_pass
from nessie.schedule.rewrite.rules import RULES, Rule
from nessie.schedule.rewrite.thunks import Setting


def rewrite_kernel(kernel: ir.Kernel, types: Mapping[str, ir.Type],
                   failing: Collection[str] | None = None) -> ir.Kernel:
    """Join the kernel's bindings. `types` has the types of all its names."""
    rewriting = Rewriting(kernel, types, failing)
    while any(rewriting.apply(rule) for rule in RULES):
        pass
    return replace(kernel, binds=tuple(rewriting.binds))


def all_names(kernel: ir.Kernel) -> set[str]:
    """All names in the kernel, also those that its thunks bind."""
    names = {param.name for param in kernel.params}
    for bind in kernel.binds:
        names.update(bind.names, scope.soac_names(bind.soac))
        for thunk in thunks(bind.soac):
            names.update(thunk.params, rename.all_names(thunk.body))
    return names


class Rewriting:
    """A kernel's bindings, rewritten so far, and the uses of each."""

    def __init__(self, kernel: ir.Kernel, types: Mapping[str, ir.Type], failing: Collection[str] | None) -> None:
        self.kernel, self.owned = kernel, by_owners(kernel)
        self.binds = list(kernel.binds)
        self.returned, self.types, self.failing = frozenset(kernel.returns), types, failing
        self.names = Names(all_names(kernel))
        self.made = frozenset(name for bind in kernel.binds for name in bind.names)
        self.uses = {id(bind): self.uses_in(bind) for bind in self.binds}
        self.readers = Counter(name for bind in self.binds for name in self.used(bind))

    def uses_in(self, bind: ir.Bind) -> BindUses:
        return BindUses(bind, uses_of(bind.soac, self.types, self.made), frozenset(scope.soac_names(bind.soac)))

    def apply(self, rule: Rule) -> bool:
        """Join bindings by the rule wherever it applies; does it anywhere? Each round joins a binding at most once, so
        that many bindings become one in few rounds, and each is rewritten only once a round."""
        found = False
        while self.round(rule):
            found = True
        return found

    def round(self, rule: Rule) -> bool:
        """Join all pairs if one walk then computes the kernel; otherwise check that after each join."""
        before = self.binds, self.readers.copy()
        if self.joins(rule, checked=False) and not self.one_walk(self.binds):
            self.binds, self.readers = before
            self.joins(rule, checked=True)
        return self.binds is not before[0]

    def joins(self, rule: Rule, checked: bool) -> bool:
        """Join each binding with the first earlier one that the rule can join it with; is there any?"""
        new: set[int] = set()
        q = 0
        while q < len(self.binds):
            kind = type(self.binds[q].soac)
            q += not any(self.join(rule, p, q, checked, new) for p in range(q)
                         if id(self.binds[p]) not in new and (type(self.binds[p].soac), kind) in rule.kinds)
        return bool(new)

    def join(self, rule: Rule, p: int, q: int, checked: bool, new: set[int]) -> bool:
        """Replace two bindings by the joined one, and add that to `new`, if the rule applies; if `checked`, only if one
        walk computes the kernel then."""
        first, second = self.binds[p], self.binds[q]
        made = set(first.names) - {"_"}
        others = frozenset(name for name in made if self.readers[name] > (name in self.used(first))
                           + (name in self.used(second)))
        if self.path_between(p, q):
            return False
        joined = rule.join(first, second, Setting(self.names, others | (self.returned & made), self.failing))
        if joined is None:
            return False
        self.uses[id(joined)] = self.uses_in(joined)
        binds = self.in_order([*self.binds[:p], *self.binds[p + 1:q], joined, *self.binds[q + 1:]])
        if checked and not self.one_walk(binds):
            return False
        self.binds = binds
        self.readers.update(self.used(joined))
        self.readers.subtract([*self.used(first), *self.used(second)])
        new.add(id(joined))
        return True

    def one_walk(self, binds: Sequence[ir.Bind]) -> bool:
        """Does one walk compute these bindings, or one owner for its segment?"""
        if self.owned:
            return why_not(replace(self.kernel, binds=tuple(binds))) is None
        graph = kernel_graph([(bind, self.uses[id(bind)].uses) for bind in binds], self.types)
        return one_pass(graph, {node.name for node in graph.nodes})

    def used(self, bind: ir.Bind) -> frozenset[str]:
        return self.uses[id(bind)].names

    def path_between(self, p: int, q: int) -> bool:
        """Does q need a binding that needs p?"""
        own = set(self.binds[p].names) - {"_"}
        reached = set(own)
        for bind in self.binds[p + 1:q]:
            if self.used(bind) & reached:
                reached |= set(bind.names) - {"_"}
        return bool(self.used(self.binds[q]) & (reached - own))

    def in_order(self, binds: Sequence[ir.Bind]) -> list[ir.Bind]:
        """Sort the bindings, each after those that it needs, otherwise as they stand."""
        left, result = list(binds), list[ir.Bind]()
        waiting = {name for bind in left for name in bind.names}
        while left:
            ready = next(bind for bind in left if not waiting & self.used(bind) - set(bind.names))
            left.remove(ready)
            waiting.difference_update(ready.names)
            result.append(ready)
        return result


@dataclass(frozen=True)
class BindUses:
    """A binding, its uses with their modes, and all names in it."""
    bind: ir.Bind
    uses: Uses
    names: frozenset[str]
