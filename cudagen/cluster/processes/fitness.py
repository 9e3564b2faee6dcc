"""Whether a scheduler and its workers are fit: both read this Nessie's tasks, so they have it, too; and workers run
the driver's machine code, so their processors have all that it uses.

    alike       what all of them have in common, as a word that tasks bring along
    fit         the workers that are fit; tells what one lacks
"""
from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.own_files import digest, digests
from nessie.cudagen.cluster.processes.questions import Questions
from nessie.cudagen.cpu.machine_code import features

LACKS, FILES_NAMED = 6, 3       # features and files that are named
SAME = "install the same Nessie there, and start it again"
LEAST = "call Nessie on a machine with the least processor of the cluster, such as that worker's"
VERSIONS = {"nessie": "Nessie", "python": "Python", "numpy": "NumPy", "system": "system"}


@cache
def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of
    try:
        return of("nessie-nesl")
    except PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    return {"nessie": version(), "python": platform.python_version(), "numpy": np.__version__,
            "system": f"{platform.system()} {platform.machine()}"}


def minor(versions: Mapping[str, str], what: str) -> str:
    """The part of a version that must be the same: 3.14 of 3.14.2."""
    return ".".join(versions[what].split(".")[:2])


@cache
def alike() -> str:
    """A word that two processes share if they have the same versions and code."""
    here = versions()
    return " ".join([*[minor(here, what) for what in VERSIONS], digest()])


def described_here() -> dict[str, Any]:
    """What this process has."""
    return {**versions(), "features": features(), "code": digest()}


def fit(ask: Questions, workers: Collection[str]) -> set[str]:
    """Those of these workers that do not go meanwhile. NessieError if one is not fit, or the scheduler is not."""
    try:
        refuse("the scheduler", ask.scheduler(described_here), partial(ask.scheduler, digests), computes=False)
    except (ImportError, AttributeError, TypeError) as error:
        raise lacks_nessie("the scheduler", error) from None
    described = ask.workers(described_here, of=workers)
    for worker, found in described.items():
        who = f"the worker at {worker}"
        if isinstance(found, Exception):
            raise lacks_nessie(who, found)
        refuse(who, found, partial(files_of, ask, worker))
    return {*described}


def files_of(ask: Questions, worker: str) -> Mapping[str, str]:
    """Digests of Nessie's files there; none, if it has gone."""
    found: Mapping[str, str] = ask.workers(digests, of=[worker]).get(worker, {})
    return found


def lacks_nessie(who: str, error: Exception) -> NessieError:
    return NessieError(f"{who} of the cluster has no Nessie, or another one: {error}", hint=SAME)


def refuse(who: str, there: Mapping[str, Any], files: Callable[[], Mapping[str, str]], computes: bool = True) -> None:
    """NessieError if a process has other versions, other code, or, if it computes, a processor that lacks something.
    `files`: digests of Nessie's files there."""
    here = described_here()
    for what, said in VERSIONS.items():
        if minor(here, what) != minor(there, what):
            raise NessieError(f"{who} has another {said}: {there[what]}, and this is {here[what]}",
                              hint="a cluster's scheduler, its workers and its driver need the same versions")
    if there["code"] != here["code"]:
        raise NessieError(f"{who} runs other code of the same version of Nessie: "
                          f"{shortened(differing(files()), FILES_NAMED)}",
                          hint=f"{SAME}, since it keeps what it has loaded")
    if computes and (lacking := sorted(here["features"] - there["features"])):
        raise NessieError(f"the processor of {who} lacks what code for this one uses: {shortened(lacking, LACKS)}",
                          hint=LEAST)


def differing(files: Mapping[str, str]) -> list[str]:
    """The files of Nessie that are not the same here."""
    here = digests()
    return sorted(name for name in {*here, *files} if here.get(name) != files.get(name))


def shortened(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
