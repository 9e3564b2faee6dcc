"""docs/testing.md: its program prints what stands there."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from nessie.cli import main

PAGE = (Path(__file__).parent.parent / "docs" / "testing.md").read_text("utf-8")


def test_the_program_prints_what_stands_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (_, program), (_, shown) = blocks
    command, _, printed = shown.partition("\n")
    monkeypatch.chdir(tmp_path)
    Path("rows.nesl").write_text(program, "utf-8")
    assert main([*command.split()[2:], "--target", "reference"]) == 1
    assert capsys.readouterr().out == printed
