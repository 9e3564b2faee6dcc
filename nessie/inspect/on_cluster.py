"""Explains a call on the target dask: how its arrays lie on the workers of a cluster, and what moves.

    told = explain_on_cluster(session, 2, "spmv", [matrix, vector], ["@matrix.npz", "@vector.npy"])
    told.lies["K1", "v"]                ("to all workers", 1600000)
    told.text()                         the table of `nessie explain`

The call is done in this process, in the tasks that workers would have (nessie.running.told_cluster).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nessie.base.records import dataclass
from nessie.cudagen.cluster.explaining import Sources, in_words, sources
from nessie.cudagen.cluster.workers import ToldOfCluster
from nessie.running.told_cluster import told_cluster
from nessie.session.calling import prepare_call, tuple_of
from nessie.session.session import Session
from nessie.syntax import nodes as syntax


@dataclass(frozen=True)
class OnCluster:
    """What was done with a call, and `large`: with the same data, had they been large; None: it was on workers, or has
    effects, which it would have again. `come`: how arguments come to tasks."""
    told: ToldOfCluster
    large: ToldOfCluster | None
    come: Sources

    def text(self) -> str:
        return in_words(self.told, self.large, "the call has effects, and is not done again", self.come)

    def data(self) -> dict[str, Any]:
        """As JSON has it: how arrays lie for kernels, with the bytes that move, and the kernels on the driver."""
        told = self.large or self.told
        return {"small": not self.told.tasks,
                "arguments": [{"argument": name, "comes": how, "bytes": size}
                              for name, how, size in self.come],
                "arrays": [{"kernel": kernel, "array": array, "lies": how, "bytes": size}
                           for (kernel, array), (how, size) in sorted(told.lies.items())],
                "driver": sorted(told.here), "tasks": told.tasks.total(), "waits": told.waits, "bytes": told.came}


def explain_on_cluster(session: Session, workers: int | None, function: str, arguments: Sequence[syntax.Exp],
                       called: Sequence[str]) -> OnCluster:
    """Of so many workers; None: as many as are started without a number. Arrays have the names that the function gives
    them, however its arguments come. `called`: what the user calls the arguments."""
    values = [(name, session.values[exp.name]) for name, exp in zip(called, arguments, strict=True)
              if isinstance(exp, syntax.Name) and exp.name in session.values]
    exp, type_ = session.infer_expression(syntax.Apply(syntax.Name(function), tuple_of(arguments)))
    prepared = prepare_call(session, function, arguments)
    target = told_cluster(session.target, workers)
    replace(session, target=target).compute(exp, type_, prepared)
    if target.told.tasks or target.performed:
        return OnCluster(target.told, None, sources(values))
    again = target.as_large()
    replace(session, target=again).compute(exp, type_, prepared)
    return OnCluster(target.told, again.told, sources(values))
