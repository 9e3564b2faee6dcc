"""Standard streams that the shell has closed: the input has ended, what is printed cannot be, messages are lost."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

PROGRAM = 'x = 3;\nprompt("who? ");\nfunction twice(a) = a * 2;\n% twice(2) => 4 %\n'
LOST = "error: the output cannot be written: Bad file descriptor"


def nessie(folder: Path, closed: str, *words: str) -> tuple[int, str, str]:
    """Status, output and errors of the command line, run by a shell with these redirections."""
    (folder / "p.nesl").write_text(PROGRAM)
    done = finished(["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "nessie", *words], cwd=folder,
                    env={"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder)}, stdin=subprocess.DEVNULL)
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr + done.stdout, done
    assert "Exception ignored" not in done.stderr, done
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("words", "status", "out", "err"), [
    (["run", "p.nesl"], 0, 'x = 3 : int\nwho? \nit = "" : [char]\ntwice = fn : int -> int\n', ""),
    (["run", "p.nesl", "-e", "twice", "@-"], 1, "", "error: standard input, line 1: not JSON: a value is due"),
    (["eval", "--jsonl"], 0, "", ""), ([], 0, "", ""), (["test", "p.nesl"], 0, "p.nesl: 1 example, all hold\n", ""),
    (["check", "p.nesl"], 0, "", ""),
    (["eval", "read_line(stdin)"], 0, 'it = (("", T), T, "") : ([char], bool), bool, [char]\n', ""),
])
def test_a_closed_input_has_ended(tmp_path: Path, words: list[str], status: int, out: str, err: str) -> None:
    found = nessie(tmp_path, "<&-", "--target", "reference", *words)
    assert found[:2] == (status, out) and found[2].startswith(err) and bool(err) == bool(found[2])


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", ">/dev/full"])
@pytest.mark.parametrize("words", [["run", "p.nesl"], ["eval", "1"], ["test", "p.nesl"], ["passes"], ["--help"],
                                   ["run", "p.nesl", "-e", "twice", "2", "-o", "-"]])
def test_what_cannot_be_printed_is_an_error(tmp_path: Path, closed: str, words: list[str]) -> None:
    status, _, err = nessie(tmp_path, closed, "--target", "reference", *words)
    assert status == 1 and err.startswith("error: the output cannot be written: ")


@pytest.mark.parametrize(("closed", "words", "status"), [
    ("2>&-", ["eval", "1/0"], 1), ("2>&-", ["eval", "1"], 0), ("2>&-", ["bad"], 2), ("<&- >&- 2>&-", ["eval", "1"], 1),
    ("<&- >&- 2>&-", ["check", "p.nesl"], 0), ("<&- >&- 2>&-", [], 0)])
def test_messages_may_be_lost(tmp_path: Path, closed: str, words: list[str], status: int) -> None:
    assert nessie(tmp_path, closed, "--target", "reference", *words)[0] == status


def test_no_file_becomes_a_standard_stream(tmp_path: Path) -> None:
    """What a program writes to its own file, once the output's descriptor is free, is not what Nessie prints."""
    program = 'write_string_to_file("kept", "own.txt"); print_string("lost");'
    assert nessie(tmp_path, "<&- >&- 2>&-", "eval", "--target", "reference", program)[0] == 1
    assert (tmp_path / "own.txt").read_text() == "kept"
