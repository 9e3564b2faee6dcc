"""Other libraries for GPUs, if they are here: the same work, from arrays that lie on the GPU, beside Nessie's."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from gpu_workloads import Ready, Workload


class Peer:
    """A library; `name` is its column's."""
    name: str

    def ready(self, workload: Workload, arguments: Sequence[Any]) -> Ready | None:
        """What does the workload's work on these arrays when it is called; None where the library has nothing for
        it."""
        raise NotImplementedError

    def synchronise(self) -> None:
        """Waits until all is done."""
        raise NotImplementedError

    def release(self) -> None:
        """Gives memory back that the library keeps for itself, so that the next one has it."""

    def arrays(self, found: Any) -> list[Any]:
        """What was computed, as NumPy has it."""
        return [self.array(part) for part in (found if isinstance(found, (list, tuple)) else [found])]

    def array(self, part: Any) -> Any:
        raise NotImplementedError


class Cupy(Peer):
    """CuPy: `xp` and its sparse matrices. Or NumPy and SciPy's, which have the same functions."""

    def __init__(self, name: str, xp: Any, sparse: Any) -> None:
        self.name, self.xp, self.sparse = name, xp, sparse

    def ready(self, workload: Workload, arguments: Sequence[Any]) -> Ready | None:
        if workload.cupy is None:
            return None
        return workload.cupy(self.xp, self.sparse, *(self.xp.asarray(a) for a in arguments))

    def synchronise(self) -> None:
        if self.xp is not np:
            self.xp.cuda.Stream.null.synchronize()

    def release(self) -> None:
        if self.xp is not np:
            self.xp.get_default_memory_pool().free_all_blocks()
            self.xp.get_default_pinned_memory_pool().free_all_blocks()

    def array(self, part: Any) -> Any:
        return part if self.xp is np else self.xp.asnumpy(part)


class Torch(Peer):
    """PyTorch, on a device of this name."""

    def __init__(self, torch: Any, device: str) -> None:
        self.name, self.torch, self.device = "PyTorch", torch, device

    def ready(self, workload: Workload, arguments: Sequence[Any]) -> Ready | None:
        if workload.torch is None:
            return None
        return workload.torch(self.torch, *(self.torch.from_numpy(a).to(self.device) for a in arguments))

    def synchronise(self) -> None:
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def release(self) -> None:
        if self.device != "cpu":
            self.torch.cuda.empty_cache()

    def array(self, part: Any) -> Any:
        return part.cpu().numpy()


class Missing(Peer):
    """A library that is not here: its column has no numbers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ready(self, workload: Workload, arguments: Sequence[Any]) -> Ready | None:
        return None


def peers_for(target: str) -> tuple[Peer, ...]:
    """Those that are here and see the GPU; on cudasim there is nothing to compare with."""
    if target != "cuda":
        return (Missing("CuPy"), Missing("PyTorch"))
    return (cupy() or Missing("CuPy"), torch() or Missing("PyTorch"))


def cupy() -> Peer | None:
    os.environ.setdefault("CUPY_ACCELERATORS", "cub")
    try:
        import cupy
        from cupyx.scipy import sparse
        cupy.zeros(1)
    except Exception:           # not here, or for another CUDA: which it says in many ways
        return None
    return Cupy("CuPy", cupy, sparse)


def torch() -> Peer | None:
    try:
        import torch
    except Exception:
        return None
    return Torch(torch, "cuda") if torch.cuda.is_available() else None
