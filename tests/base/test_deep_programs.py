"""Programs thousands of levels deep run, from their text to their values, under the Python that runs this test."""
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.running.targets import Limits, Target
from nessie.session.outcome import Outcome
from nessie.session.session import Session

SUM = "function g(x) = " + " + ".join(["x"] * 10_000) + ";\ng(1);\n{g(x) : x in [1, 2]};\n"
LETS = ("function g(x) = let a0 = x + 1;\n" + ";\n".join(f"a{i} = a{i - 1} + 1" for i in range(1, 5_000))
        + " in a4999;\ng(1);\n{g(x) : x in [1, 2]};\n")


@pytest.mark.slow
@pytest.mark.parametrize(("source", "found"), [(SUM, "[10000, 20000]"), (LETS, "[5001, 5002]")])
def test_deep_programs_run(source: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.nesl"
    path.write_text(source, "utf-8")
    run = finished([sys.executable, "-m", "nessie", "run", str(path)],
                   env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, cwd=ROOT)
    assert run.stderr == ""
    assert run.stdout.splitlines()[-1] == f"it = {found} : [int]"


PARALLEL = "function grow(k) = if k == 0 then [1] else let r = grow(k - 1) in {x + 1 : x in r}; "


@pytest.mark.nightly
@pytest.mark.parametrize(("target", "levels"), [("cpu", 100_000), ("reference", 10_000)])
def test_parallel_recursion_is_as_deep_as_the_limit_says(target: str, levels: int) -> None:
    """On the host, and in a lifted function."""
    def run() -> list[Outcome]:
        session = Session(Target(target, limits=Limits(depth=levels + 10)))
        calls = f"grow({levels}); {{grow(k) : k in [3, {levels}]}}; grow({2 * levels});"
        return list(session.run(Source("deep", PARALLEL + calls)))

    found = run_deep(run)
    assert str(found[1]) == f"it = [{levels + 1}] : [int]" and str(found[2]) == f"it = [[4], [{levels + 1}]] : [[int]]"
    error = found[3]
    assert isinstance(error, NessieError) and f"deeper than {levels + 10:,} calls" in error.message
    assert "--depth" in error.hint
