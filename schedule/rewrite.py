"""Rewriting a merged kernel by the fusion rules until none applies.

  in    a kernel whose bindings one walk can compute, one after another
  out   a kernel with the same results and fewer bindings, which one walk can compute too
  how   two bindings are joined if no third stands between them on a path; the certificate's simulation must accept
        the kernel afterwards, since a joined binding waits for what either waited for
  ends  because every rule leaves one binding where there were two
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import ir, rename, scope
from nessie.schedule.build import kernel_graph
from nessie.schedule.certificate import one_pass
from nessie.schedule.pdg import Index
from nessie.schedule.rules import RULES, Rule
from nessie.schedule.thunks import Setting
from nessie.schedule.uses import Uses, uses_of


def rewrite_kernel(kernel: ir.Kernel, types: Mapping[str, ir.Type],
                   failing: Collection[str] | None = None) -> ir.Kernel:
    """The kernel with its bindings joined. `types` has everything it names."""
    rewriting = Rewriting(kernel, types, failing)
    while any(rewriting.apply(rule) for _, rule in RULES):
        pass
    return replace(kernel, binds=tuple(rewriting.binds))


def all_names(kernel: ir.Kernel) -> set[str]:
    """Every name in the kernel, the thunks' own too."""
    names = {param.name for param in kernel.params}
    for bind in kernel.binds:
        names.update(bind.names, scope.soac_names(bind.soac))
        for thunk in scope.thunks(bind.soac):
            names.update(thunk.params, rename.all_names(thunk.body))
    return names


class Rewriting:
    """The bindings of a kernel as far as they are rewritten, and what each uses."""

    def __init__(self, kernel: ir.Kernel, types: Mapping[str, ir.Type], failing: Collection[str] | None) -> None:
        self.binds = list(kernel.binds)
        self.returned, self.types, self.failing = frozenset(kernel.returns), types, failing
        self.names = Names(all_names(kernel))
        self.made = frozenset(name for bind in kernel.binds for name in bind.names)
        self.uses = {id(bind): self.uses_in(bind) for bind in self.binds}
        self.readers = Counter(name for bind in self.binds for name in self.used(bind))

    def uses_in(self, bind: ir.Bind) -> BindUses:
        return BindUses(bind, uses_of(bind.soac, self.types, self.made), frozenset(scope.soac_names(bind.soac)))

    def apply(self, rule: Rule) -> bool:
        """Join bindings by the rule wherever it applies; is there one?"""
        found, q = False, 0
        while q < len(self.binds):
            joined = any(self.join(rule, p, q) for p in range(q))
            found, q = found or joined, q - 1 if joined else q + 1
        return found

    def join(self, rule: Rule, p: int, q: int) -> bool:
        """Replace two bindings by what the rule makes of them, if it does and one walk computes the kernel then."""
        first, second = self.binds[p], self.binds[q]
        made = set(first.names) - {"_"}
        others = frozenset(name for name in made if self.readers[name] > (name in self.used(first))
                           + (name in self.used(second)))
        joined = rule(first, second, Setting(self.names, others | (self.returned & made), self.failing))
        if joined is None or self.path_between(p, q):
            return False
        self.uses[id(joined)] = self.uses_in(joined)
        binds = self.in_order([*self.binds[:p], *self.binds[p + 1:q], joined, *self.binds[q + 1:]])
        graph = kernel_graph([(bind, self.uses[id(bind)].uses) for bind in binds], self.types)
        if not one_pass(Index(graph), range(len(graph.nodes))):
            return False
        self.binds = binds
        self.readers.update(self.used(joined))
        self.readers.subtract([*self.used(first), *self.used(second)])
        return True

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
        """The bindings, each after those it needs; otherwise as they stand."""
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
    """A binding, what it uses and how, and all names in it."""
    bind: ir.Bind
    uses: Uses
    names: frozenset[str]
