"""Cutting long results, and the progress line."""
from __future__ import annotations

import io
import sys
import time
from threading import Event, Thread

import pytest

from nessie.activity import Activity
from nessie.session.progress import progress
from nessie.session.streams import ERASED, LAST_LINE, LastLine, say, say_aside
from nessie.tool.prompt.screen import Screen as LongTexts
from nessie.tool.prompt.screen import cut, end_of_row, rows


@pytest.mark.parametrize(("text", "shown"), [
    ("\u6f22" * 40, "\u6f22" * 15), ("x" + "\u6f22" * 40, "x" + "\u6f22" * 14), ("e\u0301" * 50, "e\u0301" * 30),
    ("a\tbc" * 9, "a\tbc" * 3)])
def test_not_all_characters_take_one_column(text: str, shown: str) -> None:
    first, rest = cut(text, 10, 3)
    assert first == shown and first + rest == text


def test_a_terminal_too_narrow_for_a_character() -> None:
    assert cut("\u6f22" * 9, 1, 3) == ("\u6f22" * 3, "\u6f22" * 6)


@pytest.mark.parametrize(("text", "shown"), [
    ("a\nb\nc\n", "a\nb\nc\n"), ("a\nb\nc\nd\n", "a\nb\nc\nd\n"), ("a\nb\nc\nd\ne\n", "a\nb\nc\n"), ("", ""),
    ("x" * 30, "x" * 30), ("x" * 41 + "\n", "x" * 30), ("x" * 25 + "\ny\nz\n", "x" * 25 + "\n"),
    ("x" * 10 + "\ny\nz\n", "x" * 10 + "\ny\nz\n"), ("\n\n\n\n\n", "\n\n\n")])
def test_three_rows_of_ten_columns(text: str, shown: str) -> None:
    first, rest = cut(text, 10, 3)
    assert first == shown and first + rest == text


@pytest.mark.parametrize("text", [
    "", "x", "x\n", "\n\nx", "x" * 30, "x" * 30 + "\n", "x" * 31, "\u6f22" * 9, "a\tbc" * 9 + "\n\n" + "x" * 25])
def test_rows_are_those_that_cut_goes_by(text: str) -> None:
    count, rest = 0, text
    while rest:
        count, rest = count + 1, rest[end_of_row(rest, 0, 10):]
    assert rows(text, 10) == count


def test_what_is_left_is_told_in_rows_of_the_screen(monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("LINES", "8")
    screen = LongTexts(cuts=True)
    screen.show("x" * 110 + "\ny\nz\n")                      # 13 rows, 5 a page
    told = [capsys.readouterr().err]
    while screen.rest:
        screen.more()
        told.append(capsys.readouterr().err)
    assert [line[:16] for line in told] == ["... 8 more lines", "... 3 more lines", ""]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal that shows output and errors. (No fixture: between fixtures and tests, pytest sets streams anew.)"""
    shown = Screen()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("nessie.session.progress.PATIENCE", 0.01)
    monkeypatch.setattr("nessie.session.progress.PAUSE", 0.01)
    monkeypatch.setattr(LAST_LINE, "mid_line", False)
    return shown


def wait_until_shown(screen: Screen, text: str) -> None:
    end = time.monotonic() + 30
    while text not in screen.getvalue():
        assert time.monotonic() < end, screen.getvalue()
        time.sleep(0.005)


def test_progress_tells_what_is_done_and_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    activity = Activity()
    with progress(activity):
        activity.begin("compiling: fuse")
        wait_until_shown(screen, "compiling: fuse, 0 s")
        activity.begin("running", lambda: 1234)
        wait_until_shown(screen, "running, 1,234 launches, 0 s")
        say("half a")
        drawn = screen.getvalue().count("running")
        assert screen.getvalue().endswith(f"{ERASED}half a")
        time.sleep(0.1)
        assert screen.getvalue().count("running") == drawn          # a line has begun
        say(" line\n")
        wait_until_shown(screen, f"half a line\n{ERASED}running")
    assert screen.getvalue().endswith(ERASED)


def test_what_waits_for_the_user_is_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    activity = Activity()
    with progress(activity):
        with activity.paused():
            shown = screen.getvalue()
            time.sleep(0.1)
            assert screen.getvalue().count("working") <= shown.count("working") + 1
            assert screen.getvalue().endswith(ERASED) or not screen.getvalue()
        wait_until_shown(screen, "working")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_there_is_no_progress_line_where_it_could_not_be_erased(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setenv("TERM", term or "xterm")
    if not term:
        monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress(Activity()):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_nothing_is_drawn_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    line, ended = LastLine(), Event()
    ended.set()
    line.draw("late", ended)
    assert screen.getvalue() == ""


def test_nothing_is_drawn_into_what_is_said_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Screen):
        def write(self, text: str) -> int:
            if text == "aside\n":
                drawing.start()                         # while this is written
                drawing.join(0.05)
            return super().write(text)

    drawing = Thread(target=LAST_LINE.draw, args=("drawn", Event()))
    screen = Slow()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(LAST_LINE, "mid_line", False)
    monkeypatch.setattr("nessie.session.streams.PATIENCE", 10.0)        # what is written comes to an end
    say_aside("aside\n")
    drawing.join()
    LAST_LINE.erase()
    assert screen.getvalue() == f"aside\n{ERASED}drawn{ERASED}"
