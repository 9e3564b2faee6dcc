"""The target dask, whose tasks are done in this process and told (cudagen.cluster.explaining).

    target = told_cluster(like, workers)
    ...                                     programs run on it
    target.told                             what was done
    target.as_large()                       the same target, to which all data are large
"""
from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from nessie.base.records import dataclass
from nessie.base.types import Type
from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cluster.explaining import ITEMS
from nessie.cudagen.cluster.workers import ToldOfCluster
from nessie.running.target_names import DASK, LOCAL_WORKERS
from nessie.running.targets import Target

if TYPE_CHECKING:
    from nessie.cudagen.cpu.assemble import CpuProgram
    from nessie.cudagen.cuda.link import GpuProgram


@dataclass
class ToldCluster(Target):
    """`large`: every launch is on workers, in chunks of ITEMS elements; `performed`: programs have had effects."""
    name: str = DASK
    told: ToldOfCluster = field(default_factory=ToldOfCluster)
    large: bool = False
    performed: bool = False

    def as_large(self) -> ToldCluster:
        return ToldCluster(limits=self.limits, world=self.world, activity=self.activity, tuning=self.tuning,
                           engine=self.engine, large=True)

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        self.performed = True
        return super().perform(name, argument, takes)

    def device(self, built: CpuProgram | GpuProgram) -> Cluster:
        assert self.engine is not None
        here, few, width = (0, 0, ITEMS) if self.large else (None, None, None)
        return Cluster(built, self.engine, here, few, width, told=self.told)     # type: ignore[arg-type]


def told_cluster(like: Target, workers: int | None) -> ToldCluster:
    """Of so many workers, or as many as are started without a number, with the limits and the world of another
    target."""
    return ToldCluster(limits=like.limits, world=like.world, activity=like.activity, tuning=like.tuning,
                       engine=InProcess(workers or LOCAL_WORKERS))
