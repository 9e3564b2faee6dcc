"""The names of targets: what a command line says before anything runs.

nessie.running.targets tells what they are.
"""
from __future__ import annotations

from nessie.forms import WITHOUT_STACK
from nessie.pipeline import TARGETS as COMPILED_FOR

GPUS = WITHOUT_STACK
DASK = "dask"
TARGETS = (*COMPILED_FOR, DASK)
LOCAL_WORKERS = 2               # where nobody names a cluster


def target_of_code(target: str) -> str:
    """The target that programs are compiled for, to run on this one."""
    return "cpu" if target == DASK else target
