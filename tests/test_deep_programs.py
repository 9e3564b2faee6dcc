"""Programs thousands of levels deep run, from their text to their values, under the Python that runs this test."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUM = "function g(x) = " + " + ".join(["x"] * 10_000) + ";\ng(1);\n{g(x) : x in [1, 2]};\n"
LETS = ("function g(x) = let a0 = x + 1;\n" + ";\n".join(f"a{i} = a{i - 1} + 1" for i in range(1, 5_000))
        + " in a4999;\ng(1);\n{g(x) : x in [1, 2]};\n")


@pytest.mark.parametrize(("source", "found"), [(SUM, "[10000, 20000]"), (LETS, "[5001, 5002]")])
def test_deep_programs_run(source: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.nesl"
    path.write_text(source, "utf-8")
    run = subprocess.run([sys.executable, "-m", "nessie", "run", str(path)], capture_output=True, text=True,
                         env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, cwd=Path(__file__).parent.parent)
    assert run.stderr == ""
    assert run.stdout.splitlines()[-1] == f"it = {found} : [int]"
