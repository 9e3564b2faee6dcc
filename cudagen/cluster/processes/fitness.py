"""Whether workers are fit: the same machine code runs on them, so they have this Nessie, and a processor with all that
this one has.

    asked       what each has
    refuse      tells what one lacks
"""
from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.own_files import digest, digests
from nessie.cudagen.cpu.machine_code import features

LACKS, FILES_NAMED = 6, 3       # features and files that are named


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of
    try:
        return of("nessie-nesl")
    except PackageNotFoundError:
        return ""


def described_here(driver: str) -> dict[str, Any]:
    """What a worker has; a driver of this version asks."""
    return {"nessie": version(), "python": platform.python_version(), "numpy": np.__version__,
            "system": f"{platform.system()} {platform.machine()}", "features": features(), "code": digest()}


def asked(client: Any) -> dict[str, dict[str, Any]]:
    """What each worker has. NessieError if they, or the scheduler, which reads tasks too, cannot import this Nessie."""
    found: dict[str, dict[str, Any]] = {}
    for what, ask in (("scheduler", client.run_on_scheduler), ("workers", client.run)):
        try:
            found = ask(described_here, version())
        except (ImportError, AttributeError) as error:
            raise NessieError(f"no Nessie, or another one, where the {what} of the cluster runs: {error}",
                              hint="install the same Nessie there, and start it again") from None
    return found


def refuse(described: Mapping[str, Mapping[str, Any]], files_of: Callable[[str], Mapping[str, str]]) -> None:
    """NessieError if a worker has other versions, other code, or a processor that lacks something."""
    here = described_here(version())
    for worker, there in described.items():
        for what, said in (("nessie", "Nessie"), ("python", "Python"), ("numpy", "NumPy"), ("system", "system")):
            mine, other = [".".join(d[what].split(".")[:2]) for d in (here, there)]
            if mine != other:
                raise NessieError(f"the worker at {worker} has another {said}: {there[what]}, and this is {here[what]}",
                                  hint="a cluster's workers and its driver need the same versions")
        if there["code"] != here["code"]:
            raise NessieError(f"the worker at {worker} runs other code of the same version of Nessie: "
                              f"{shortened(differing(files_of(worker)), FILES_NAMED)}",
                              hint="install the same Nessie there, and start the worker again, which keeps what it "
                                   "has loaded")
        if lacking := sorted(here["features"] - there["features"]):
            raise NessieError(f"the processor of the worker at {worker} lacks what code for this one uses: "
                              f"{shortened(lacking, LACKS)}",
                              hint="call Nessie on a machine with the least processor of the cluster")


def differing(files: Mapping[str, str]) -> list[str]:
    """The files of Nessie that are not the same here."""
    here = digests()
    return sorted(name for name in {*here, *files} if here.get(name) != files.get(name))


def shortened(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
