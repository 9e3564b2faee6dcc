"""The prompt that prompt_toolkit gives, driven through a pseudo-terminal; and the parts that it is made of."""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pexpect = pytest.importorskip("pexpect")
pytest.importorskip("prompt_toolkit")
pytest.importorskip("pygments")
if sys.platform == "win32":
    pytest.skip("there is no pseudo-terminal", allow_module_level=True)

from nessie.history import MOST_BYTES, Remembered, shorten  # noqa: E402
from nessie.prompt import is_whole  # noqa: E402

ROOT = Path(__file__).parent.parent
PROMPT = "nesl>"                        # the blank behind it is a movement of the cursor
COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9](;[0-9;]*)?m")


class Terminal:
    """A session at a terminal of 24 lines of 80 columns. `shown` is all that it has written."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def until(self, text: str, seconds: float = 60) -> str:
        """What it writes up to this text."""
        self.process.expect_exact(text, seconds)
        return str(self.process.before)

    def type(self, text: str) -> None:
        self.process.send(text)

    def answer(self, line: str) -> str:
        """What comes of a line, up to the next prompt. The prompt shows what is typed, again and again."""
        self.type(f"{line}\r")
        self.until("\x1b[?2004l")           # typing has ended
        return self.until(PROMPT)

    def leave(self) -> None:
        self.type("\x04")
        self.process.expect(pexpect.EOF, 60)
        self.process.wait()
        assert self.process.exitstatus == 0


@contextmanager
def terminal(folder: Path, *words: str, **variables: str) -> Iterator[Terminal]:
    """A session with this cache folder."""
    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONPATH": str(ROOT),
                   "XDG_CACHE_HOME": str(folder), **variables}
    environment.pop("COLUMNS", None)
    environment.pop("LINES", None)
    process = pexpect.spawn(sys.executable, ["-m", "nessie", *words], cwd=folder, env=environment, encoding="utf-8",
                            dimensions=(24, 80))
    try:
        at = Terminal(process)
        at.until(PROMPT)
        yield at
    finally:
        process.close(force=True)


def test_a_form_of_several_lines_is_one_entry_of_the_history(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference") as at:
        at.type("let a = 20;\r")
        at.until("    >")               # more is wanted
        at.type("b = 22\r")
        at.until("    >")
        assert "it = 42 : int" in at.answer("in a + b;")
        assert "it = 43 : int" in at.answer("it + 1;")
        at.leave()
    with terminal(tmp_path, "--target", "reference", NO_COLOR="1") as at:
        at.type("\x1b[A")               # up: the last entry
        at.until("it + 1")
        at.type("\x1b[A")
        at.until("22")
        assert "it = 42 : int" in at.answer("")
        at.leave()


def test_two_sessions_share_a_history(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference") as one, terminal(tmp_path, "--target", "reference") as other:
        assert "it = 1 : int" in one.answer("1;")
        assert "it = 2 : int" in other.answer("2;")
        assert "it = 3 : int" in one.answer("3;")
    assert list(Remembered(str(tmp_path / "nessie" / "history")).load_history_strings()) == ["3;", "2;", "1;"]


@pytest.mark.parametrize("spoiled", ["bytes", "folder"])
def test_no_history_can_break_the_prompt(spoiled: str, tmp_path: Path) -> None:
    path = tmp_path / "nessie" / "history"
    path.parent.mkdir(mode=0o700)
    if spoiled == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"\xff\x00+\n\n# x\n+\x1b[2J\n+\xfe\n\n# x\n+7 + 8;\n")
    with terminal(tmp_path, "--target", "reference") as at:
        if spoiled == "bytes":
            at.type("\x1b[A")
            assert "it = 15 : int" in at.answer("")
        assert "it = 4 : int" in at.answer("4;")
        assert "it = 5 : int" in at.answer("5;")
        at.leave()


def test_a_long_history_loses_its_oldest_entries(tmp_path: Path) -> None:
    history = Remembered(str(tmp_path / "history"))
    for number in range(3):
        history.store_string(f"{number};" + " " * (MOST_BYTES // 3))
    shorten(tmp_path / "history")
    assert [entry.strip() for entry in history.load_history_strings()] == ["2;"]


def test_completion(tmp_path: Path) -> None:
    """What Tab adds is drawn by itself."""
    (tmp_path / "lib.nesl").write_text("function unusual_name(x) = x + 1;")
    with terminal(tmp_path, "--target", "reference", NO_COLOR="1") as at:
        at.type('load "li\t')
        at.until(".nesl")
        assert "unusual_name = fn : int -> int" in at.answer('";')
        at.type("unus\t")
        at.until("_name")
        assert "it = 4 : int" in at.answer("(3);")
        at.type(":ty\t")
        at.until("pe")
        assert "unusual_name : int -> int" in at.answer(" unusual_name")
        at.type("des\t")
        at.until("cribe")
        assert "function of the session" in at.answer(" unusual_name;")
        at.type("se\t")                     # several begin so: the menu tells their types
        at.until("(bool, a, a) -> a :: (a in any)")
        at.type("\x03")
        at.until("Interrupted.")


def test_ctrl_c_drops_what_is_typed(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference") as at:
        at.type("let a = 1;\r")
        at.until("    >")
        at.type("\x03")
        at.until("Interrupted.")
        at.until(PROMPT)
        assert "it = 6 : int" in at.answer("6;")
        at.leave()


LOOP = "function forever(n) : int -> int = if n /= 1 then forever(n + 2) else n;"
RECURSION = "function down(n) : int -> int = if sum([0:n]) < 0 then n else down(n) + 1;"


@pytest.mark.parametrize(("definition", "endless"), [(LOOP, "forever(0);"), (RECURSION, "down(10);")])
def test_ctrl_c_ends_what_runs_and_keeps_the_session(definition: str, endless: str, tmp_path: Path) -> None:
    """A loop within one kernel, and launches without end; the progress line is there meanwhile and gone then."""
    with terminal(tmp_path, "--depth", "100000000", "--target", "cpu") as at:
        assert "= fn : int -> int" in at.answer(definition)
        assert "x = 7 : int" in at.answer("x = 7;")
        at.type(f"{endless}\r")
        at.until("\r\x1b[Krunning")
        at.type("\x03")
        told = at.until("Interrupted.")
        assert "error" not in told and "\r\x1b[K" in told.rpartition("running")[2]
        at.until(PROMPT)
        assert "it = 7 : int" in at.answer("x;")
        at.leave()


def test_errors_of_all_kinds_keep_the_session(tmp_path: Path) -> None:
    with terminal(tmp_path, "--memory", "1M", "--depth", "1000") as at:
        assert "out of memory" in at.answer("[0:10000000];")
        at.answer(RECURSION)
        assert "recursion is deeper than" in at.answer("down(3);")
        assert "it = 8 : int" in at.answer("8;")
        at.leave()


def test_long_results_are_cut_and_more_goes_on(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference") as at:
        shown = at.answer(":help")
        assert "load" in shown and ":quit" not in shown and "more lines: :more shows" in shown
        assert len(shown.split(":more shows")[0].splitlines()) <= 24
        rest = at.answer(":more") + at.answer(":more")
        assert "leave; so does Ctrl-D" in rest
        assert "all has been shown" in at.answer(":more")


def test_colours_and_none(tmp_path: Path) -> None:
    for no_color, coloured in (("", True), ("1", False)):
        with terminal(tmp_path, "--target", "reference", NO_COLOR=no_color) as at:
            at.type('let a = "x" in (a, sum([1]));\r')
            assert bool(COLOUR.search(at.until('it = ("x", 1)'))) is coloured
            at.leave()


def test_without_the_extra_the_plain_prompt_serves(tmp_path: Path) -> None:
    """The extra's package is hidden from the process."""
    code = ("import sys, importlib.util as util; find = util.find_spec\n"
            "util.find_spec = lambda name, *more: None if name == 'prompt_toolkit' else find(name, *more)\n"
            "sys.modules['prompt_toolkit'] = None\n"
            "from nessie.cli import main; sys.exit(main(['--target', 'reference']))")
    process = pexpect.spawn(sys.executable, ["-c", code], encoding="utf-8", cwd=tmp_path, dimensions=(24, 80),
                            env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)})
    process.expect_exact("nesl> ", 60)
    process.send("let a = 1;\r")
    process.expect_exact("    > ", 60)
    process.send("in a + 1;\r")
    process.expect_exact("it = 2 : int", 60)
    process.expect_exact("nesl> ", 60)
    process.send(":quit\r")
    process.expect(pexpect.EOF, 60)
    process.wait()
    assert process.exitstatus == 0


@pytest.mark.parametrize(("text", "whole"), [
    ("", True), ("1;", True), ("1", False), ("1; 2", False), ("1; 2;", True), ("let a = 1;", False),
    ("let a = 1;\nin a;", True), ('load "a";', True), ('load "a', False), ("% ; %", True), ("% ;", False),
    ("1 + ) 3", True), (":type sum", True), (":nonsense", True), ("x = {a : a in", False), ("help$", True),
    ("1;\n:type 2", True)])
def test_enter_ends_what_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole
