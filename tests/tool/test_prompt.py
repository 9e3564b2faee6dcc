"""The prompt that prompt_toolkit gives, driven through a pseudo-terminal; and the parts that it is made of."""
from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path

import pytest
from terminals import PROMPT, nessie, terminal

pytest.importorskip("prompt_toolkit")
pytest.importorskip("pygments")

from prompt_toolkit.history import InMemoryHistory

from nessie.base.system.disk_cache import cache_folder
from nessie.session.streams import ERASED
from nessie.tool.prompt.history import MOST_BYTES, PromptHistory, history, shorten
from nessie.tool.prompt.open_form import still_open
from nessie.tool.prompt.prompt import is_whole

COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9](;[0-9;]*)?m")


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
    assert list(PromptHistory(str(tmp_path / "nessie" / "history")).load_history_strings()) == ["3;", "2;", "1;"]


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


@pytest.mark.skipif(sys.platform == "win32", reason="files of other kinds")
@pytest.mark.parametrize("kind", ["pipe", "link", "loop", "folder", "device", "others'"])
def test_a_history_that_is_no_file_of_the_user_is_left_alone(kind: str, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    path, elsewhere = tmp_path / "nessie" / "history", tmp_path / "elsewhere"
    path.parent.mkdir(mode=0o700)
    elsewhere.write_text("# x\n+1;\n")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "others'":
        path.write_text("\n# x\n+1;\n")
        monkeypatch.setattr(os, "getuid", lambda: os.stat(path).st_uid + 1)
        monkeypatch.setattr("nessie.tool.prompt.history.cache_folder", lambda base: path.parent)
    else:
        path.symlink_to({"link": elsewhere, "loop": path, "device": Path("/dev/zero")}[kind])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder.cache_clear()
    found = history()
    cache_folder.cache_clear()
    assert isinstance(found, InMemoryHistory)
    found.store_string("2;")
    assert elsewhere.read_text() == "# x\n+1;\n"


def test_a_history_that_the_group_may_write_to_becomes_the_users(tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "nessie" / "history"
    path.parent.mkdir(mode=0o700)
    path.write_text("\n# x\n+1;\n")
    path.chmod(0o664)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder.cache_clear()
    assert list(history().load_history_strings()) == ["1;"] and path.stat().st_mode & 0o777 == 0o600
    cache_folder.cache_clear()


def test_damaged_histories_are_read_as_far_as_they_can_be(tmp_path: Path) -> None:
    random_, path = random.Random(1), tmp_path / "history"
    whole = b"\n# 2026-01-31\n+function inc(x) =\n+  x + 1;\n\n# 2026-01-31\n+inc(2);\n"
    for _ in range(500):
        content = bytearray(whole[:random_.randrange(len(whole) + 1)])
        for _ in range(random_.randrange(4) if content else 0):
            content[random_.randrange(len(content))] = random_.randrange(256)
        path.write_bytes(content)
        for entry in PromptHistory(str(path)).load_history_strings():
            assert all(c.isprintable() or c in "\n\t" for c in entry)


def test_a_long_history_loses_its_oldest_entries(tmp_path: Path) -> None:
    found = PromptHistory(str(tmp_path / "history"))
    for number in range(3):
        found.store_string(f"{number};" + " " * (MOST_BYTES // 3))
    shorten(tmp_path / "history")
    assert [entry.strip() for entry in found.load_history_strings()] == ["2;"]


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


def test_the_menu_has_room_wherever_the_prompt_is(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference", NO_COLOR="1") as at:
        at.type("e\t")
        assert at.until("even_elts", 20).count("::") == 4       # the seventh row; two before it have no classes
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


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_bracket_and_its_partner_are_shown(no_color: str, tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference", NO_COLOR=no_color) as at:
        at.type("(1)\x1b[D")                # left, onto the bracket
        marked = r"\x1b\[0;4m" if no_color else r"\x1b\[0;[0-9;]*48;[0-9;]*m"
        assert {*re.findall(rf"{marked}([()])", at.for_seconds(2))} == {"(", ")"}


def test_history_is_searched_and_led_through_by_what_is_typed(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference", NO_COLOR="1") as at:
        for line in ("40 + 1;", "50 + 2;", "40 + 3;", "60 + 4;"):
            at.answer(line)
        at.type("40\x1b[A\x1b[A")           # up, up: those that begin so
        assert "it = 41 : int" in at.answer("")
        at.type("\x12" "50")                # Ctrl-R
        at.until("I-search backward")
        at.type("\r")                       # found
        assert "it = 52 : int" in at.answer("")
        at.leave()


@pytest.mark.slow
def test_what_is_typed_is_no_progress(tmp_path: Path) -> None:
    """The line at the bottom would be drawn over it. It may stand there before, where the machine is slow."""
    def drawn(shown: str) -> bool:
        return bool(re.search(r"(working|running).*\d s", shown.rpartition(ERASED)[2]))

    (tmp_path / "g.nesl").write_text("function g(v) = sum(v);")
    with nessie(tmp_path, "eval", "--jsonl", "--target", "reference") as at:
        assert not drawn(at.for_seconds(3))
        at.type('{"id": 1, "source": "1 + 1;"}\n')
        at.until('"value": "2"')
        assert not drawn(at.for_seconds(2))
        at.leave()
    with nessie(tmp_path, "run", "g.nesl", "-e", "g", "@-", "--target", "reference") as at:
        assert not drawn(at.for_seconds(3))
        at.type("[1, 2]\n\x04")
        assert at.ended()[0].endswith("3\r\n")


def test_without_the_extra_the_plain_prompt_serves(tmp_path: Path) -> None:
    """The extra's package is hidden from the process."""
    code = ("import sys, importlib.util as util; find = util.find_spec\n"
            "util.find_spec = lambda name, *more: None if name == 'prompt_toolkit' else find(name, *more)\n"
            "sys.modules['prompt_toolkit'] = None\n"
            "from nessie.tool.cli import main; sys.exit(main(['--target', 'reference']))")
    with nessie(tmp_path, python=("-c", code)) as at:
        at.until("nesl> ")
        at.type("let a = 1;\r")
        at.until("    > ")
        at.type("\r")
        at.until("still open: a let ends with `in`")
        at.until("    > ")
        at.type("in a + 1;\r")
        at.until("it = 2 : int")
        at.until("nesl> ")
        at.type(":quit\r")
        assert at.ended()[1] == 0


def test_an_empty_line_tells_what_the_form_needs(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference") as at:
        at.type("sum([1, 2])\r\r")
        at.until("still open: ; ends a form")
        at.type(";\r")
        at.until("it = 3 : int")


@pytest.mark.parametrize(("text", "needs"), [
    ("1 + 1", "; ends a form"), ("let a = 1", "a let ends with `in`"), ("sum([1", "is a ] missing?"),
    ("if t then 1", "every if has an else")])
def test_what_an_open_form_needs(text: str, needs: str) -> None:
    assert still_open(text).startswith(f"still open: {needs}")


@pytest.mark.parametrize(("text", "whole"), [
    ("", True), ("1;", True), ("1", False), ("1; 2", False), ("1; 2;", True), ("let a = 1;", False),
    ("let a = 1;\nin a;", True), ('load "a";', True), ('load "a', False), ("% ; %", True), ("% ;", False),
    ("1 + ) 3", True), (":type sum", True), (":nonsense", True), ("x = {a : a in", False), ("help$", True),
    ("1;\n:type 2", True)])
def test_enter_ends_what_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole
