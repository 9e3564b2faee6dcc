"""Where the checkout's folders are."""
from __future__ import annotations

import os
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
BENCHMARKS = ROOT / "benchmarks"
EXAMPLES = ROOT / "nesl_examples"
GOLDEN_FILES = TESTS / "golden"

# For another Python, which is to import Nessie, and what tests share.
PYTHONPATH = os.pathsep.join(map(str, [ROOT, *sorted({path.parent for path in TESTS.rglob("*.py")})]))
