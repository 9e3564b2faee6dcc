"""Other processes, for which a test waits some minutes at most.

    finished(command)       what it says and its status, as subprocess.run tells them
    ended(process)          the same of one that a test has started

One that takes longer is killed, and the test fails: what was run and what it had said is told.
"""
from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

PATIENCE = 300                  # seconds, for machines that are busy; what is run takes some


def finished(command: Sequence[Any] | str, *, check: bool = False, seconds: float = PATIENCE,
             **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run the command as subprocess.run does; what it says is taken as text, unless options tell another way. `check`:
    the test fails unless the status is 0."""
    if not options.keys() & {"stdout", "stderr"}:
        options["capture_output"] = True
    try:
        done = subprocess.run(command, check=False, timeout=seconds, **{"text": True, **options})
    except subprocess.TimeoutExpired as late:
        too_late(command, seconds, late.stdout, late.stderr)
    if check and done.returncode:
        pytest.fail(f"status {done.returncode}: {shown(command)}\n{text(done.stdout)}{text(done.stderr)}")
    return done


def ended(process: subprocess.Popen[str], seconds: float = PATIENCE) -> tuple[int, str, str]:
    """The status of a process, and what it says to its end by pipes."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        process.kill()
        too_late(process.args, seconds, late.stdout, late.stderr)
    return process.returncode, out, err


def too_late(command: Any, seconds: float, out: Any, err: Any) -> Any:
    pytest.fail(f"not at its end after {seconds:g} s: {shown(command)}\n{text(out)}{text(err)}")


def shown(command: Any) -> str:
    return command if isinstance(command, str) else " ".join(map(str, command))


def text(said: str | bytes | None) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said or ""
