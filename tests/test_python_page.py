"""What docs/python.md shows is so, and what users' type checkers see."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^(\S.*?)\s+# (array\(.*\))$", re.MULTILINE)

USER = """
import numpy as np
import nessie

program: nessie.Program = nessie.compile("function same(x) = x;", target="cpu")
rows = nessie.Nested([0, 1], np.arange(1))
function: nessie.Function = program["same"]
try:
    print(function(rows), program.same(1), function.explain(1).text, function.kernels(1).names, nessie.load)
except nessie.NessieError as error:
    print(error.message, error.span)
"""


def test_blocks_run() -> None:
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    assert len(BLOCKS) == 5


def test_what_calls_give_is_shown() -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    shown = SHOWN.findall(BLOCKS[0])
    assert [repr(eval(call, names)) for call, _ in shown] == [value for _, value in shown] and len(shown) == 2


def test_a_users_program_has_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text("import nessie\nnessie.complie('')\nnessie.load(3)\n")

    def checked(name: str) -> str:
        run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", name],
                             cwd=tmp_path, capture_output=True, text=True, check=False,
                             env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
        return run.stdout
    assert "Success" in checked("user.py"), checked("user.py")
    wrong = checked("wrong.py")
    assert "complie" in wrong and 'Argument 1 to "load"' in wrong
