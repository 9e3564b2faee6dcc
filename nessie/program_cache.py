"""Compiled programs kept on disk from run to run: what was compiled once is found again, and no pass runs.

An entry holds a fused program with its host instructions, plans and code (CpuProgram, GpuProgram), and what the passes
tell of its pragmas. Its name is a digest of all that it depends on: the mono program with its places in the source,
the options, the processor, the versions, and the files of Nessie itself. The folder and its entries are
base.system.disk_cache's business: checksums, and no one else's files.
"""
from __future__ import annotations

import hashlib
import io
import pickle
import sys
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from nessie import driver, pipeline
from nessie.base.system.own_files import own_files
from nessie.schedule.wishes.wishes import Met

DATA = ("nessie.base.", "nessie.lambda_cu.", "nessie.cudagen.")         # where what a compiled program holds is defined

if TYPE_CHECKING:
    from nessie.driver import Built
    from nessie.mono import nodes as mono


def cached_program(job: pipeline.Job, program: mono.Program) -> Built:
    """The built program for the job's target; from disk, if the stages have made it for the same machine
    before. A job that wants to see the stages' work (dump), or to know what has become of its wishes, has it done; so
    has the reference, whose stages end early."""
    built: list[Built] = []
    met = Met()             # of this program

    def build() -> Built:
        built.append(driver.built(replace(job, met=met), program))
        job.met.told.update(met.told)
        return built[0]

    if job.target == "reference":
        return driver.built(job, program)
    from nessie.base.system.disk_cache import cached
    from nessie.cudagen.cpu.machine_code import fingerprint
    machine = fingerprint() if job.target == "cpu" else "cuda"
    if job.dump is not None or job.wishes:
        return driver.built(job, program)
    try:
        source = pickle.dumps(program, pickle.HIGHEST_PROTOCOL)
    except RecursionError:              # deeper than pickle goes: not kept
        return build()
    options = (job.fuse, sorted(job.sizes.items()), sorted(job.known.items()), job.unchecked, job.layouts,
               pipeline.profile(job), pipeline.WITH_VERSIONS.holds(job))
    key = f"{hashlib.sha256(source).hexdigest()} {options}"
    try:
        content = cached(key, f"{machine} {compiler()}",
                         lambda _: pickle.dumps((build(), met.told), pickle.HIGHEST_PROTOCOL))
    except RecursionError:
        if not built:
            raise
    if not built:
        kept, told = loaded(content)
        built.append(kept)
        job.met.told.update(told)
    return built[0]


def loaded(content: bytes) -> Any:
    return Restricted(io.BytesIO(content)).load()


class Restricted(pickle.Unpickler):
    """Makes Nessie's own data only: objects of classes, each found in the module that defines it."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith(DATA) and "." not in name else None
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a compiled program")
        return found


@cache
def compiler() -> str:
    """The compiler of this process: Python, and a digest of Nessie's own files by size and time. A changed compiler
    finds nothing that an older one kept."""
    digest = hashlib.sha256()
    for name, entry in own_files():
        status = entry.stat()
        digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return f"{sys.version} {digest.hexdigest()}"
