"""The work to compile a program grows no faster than n log n with its length: calls of Python functions are counted,
from the text to the code for the CPU. benchmarks/growth.py shows the times."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from paths import BENCHMARKS

from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.pipeline import Job
from nessie.running.targets import Target
from nessie.session.session import Session

sys.path.append(str(BENCHMARKS))
from growth import SHAPES

A_FEW = 1000                    # more calls, where the length makes little difference
MOST = 2.5                      # times as many, for twice the length; n log n is 2.2 at these lengths


def calls(name: str, n: int) -> int:
    """Python functions called to evaluate the program of this shape."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        evaluate(name, n)
    finally:
        sys.setprofile(None)
    return count


def evaluate(name: str, n: int) -> None:
    """Compiled for the CPU, and run. Greedily scheduled: the solver's time is limited, not its work."""
    for outcome in Session(Target("cpu", threads=1), Job(fuse="greedy")).run(Source(name, SHAPES[name](n))):
        if isinstance(outcome, Exception):
            raise outcome


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize(("name", "n"), [
    ("parallel lets", 25),
    ("parallel lets side by side", 25),
    ("parallel lets used again", 25),
    ("maps of maps", 25),
    ("calls of maps", 25),
    ("additions", 100),
    ("tuple per element", 25),
    ("tuple over a range", 25),
    ("string", 5000),
    ("brackets", 50),
    ("brackets per element", 20),
    ("literal per element", 20),
])
def test_the_work_is_n_log_n(name: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By differences, as what is imported and made once is counted too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run_deep(lambda: evaluate(name, 3))
    small, middle, large = run_deep(lambda: [calls(name, size) for size in (n, 2 * n, 4 * n)])
    assert large - middle <= MOST * (middle - small) + A_FEW
