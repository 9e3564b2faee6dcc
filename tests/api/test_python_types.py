"""What type checkers see of programs that import Nessie."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

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


def test_a_users_program_has_types(tmp_path: Path) -> None:
    if finished([sys.executable, "-m", "mypy", "--version"]).returncode:
        pytest.skip("mypy is not installed")
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text("import nessie\nnessie.complie('')\nnessie.load(3)\n")

    def checked(name: str) -> str:
        run = finished([sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", name], cwd=tmp_path,
                       env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
        return run.stdout
    assert "Success" in checked("user.py"), checked("user.py")
    wrong = checked("wrong.py")
    assert "complie" in wrong and 'Argument 1 to "load"' in wrong
