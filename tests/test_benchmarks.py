"""The benchmarks' runner works: on tiny inputs, all workloads agree with NumPy, and results are written."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUNNER = Path(__file__).parent.parent / "benchmarks" / "run.py"


def test_all_workloads_run_on_tiny_inputs(tmp_path: Path) -> None:
    saved = tmp_path / "results.json"
    words = [sys.executable, str(RUNNER), "--size", "90", "--rounds", "1", "--threads", "2", "--save", str(saved)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    results = {row["name"]: row for row in json.loads(saved.read_text("utf-8"))["results"]}
    assert set(results) == {"dotp", "norm2", "sparse_mxv", "quicksort"}
    assert results["dotp"]["launches"] == 1
    assert results["dotp"]["bytes"] == 8 * (2 * 90 + 1 + 1 + 1)     # elements; a sum, written and read; the cell
    assert results["norm2"]["launches"] == 2
