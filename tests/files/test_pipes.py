"""Data through pipes: `@-` reads standard input, `-o -` writes standard output, both as JSON."""
from __future__ import annotations

import io
from pathlib import Path

import pytest

from nessie.tool.cli import main

PROGRAM = """function counts(v) : [[char]] -> [([char],int)] = {w, #w : w in v};
function loud(x) : int -> int = let _ = print_line("at work") in x + 1;"""


def piped(monkeypatch: pytest.MonkeyPatch, folder: Path, entry: str, given: bytes, *more: str) -> int:
    (folder / "p.nesl").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    return main(["run", "p.nesl", "--target", "reference", "-e", entry, "@-", *more])


def test_json_goes_in_and_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                              capsys: pytest.CaptureFixture[str]) -> None:
    assert piped(monkeypatch, tmp_path, "counts", '["a", "d\u00e9"]'.encode(), "-o", "-") == 0
    assert capsys.readouterr() == ('[["a", 1], ["d\u00e9", 2]]\n', "")


def test_what_programs_print_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert piped(monkeypatch, tmp_path, "loud", b"4", "-o", "-") == 0
    assert capsys.readouterr() == ("5\n", "at work\n")
    assert piped(monkeypatch, tmp_path, "loud", b"4") == 0
    assert capsys.readouterr() == ("at work\n5\n", "")


def test_what_is_no_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert piped(monkeypatch, tmp_path, "loud", b"4 5") == 1
    said = "error: standard input, line 1: not JSON: the value has ended before (column 3)\n"
    assert capsys.readouterr().err.startswith(said)
    assert piped(monkeypatch, tmp_path, "loud", b"[4]") == 1
    assert "standard input, line 1" in capsys.readouterr().err


def test_forms_go_to_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.nesl").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert main(["compile", "p.nesl", "-e", "loud", "--emit", "mono", "-o", "-"]) == 0
    assert "entry loud" in capsys.readouterr().out and not (tmp_path / "-").exists()
