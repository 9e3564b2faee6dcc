"""The plain prompt, at a terminal that can do nothing."""
from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from terminals import DUMB, PROMPT, Terminal, nessie
from terminals import terminal as any_terminal

from nessie.tool.prompt.repl import CONTINUED, WELCOME

terminal = partial(any_terminal, **DUMB)


def test_prompts_and_leaving(tmp_path: Path) -> None:
    with nessie(tmp_path, "--target", "reference", **DUMB) as at:
        assert WELCOME in at.until(PROMPT)
        at.type("let a = 1;\n")
        at.until(CONTINUED)
        at.type("in a + 1; 5;\n")
        assert "it = 2 : int\r\nit = 5 : int" in at.until(PROMPT)
        at.type("help sum\n")
        assert "sum : [a] -> a" in at.until(PROMPT)
        at.type("1/0; 6;\n")
        told = at.until(PROMPT)
        assert "Divide by zero" in told and "--> input:1:1" in told and "it = 6 : int" in told
        at.leave()


@pytest.mark.parametrize(("words", "told"), [
    (["--target", "cuda"], "error: the target cuda cannot be used"),
    (["--machine", "nofile"], "error: cannot read nofile")])
def test_what_cannot_be_had_is_refused_before_anything_is_typed(words: list[str], told: str, tmp_path: Path) -> None:
    with nessie(tmp_path, *words, CUDA_VISIBLE_DEVICES="", **DUMB) as at:
        shown, status = at.ended()
    assert shown.startswith(told) and WELCOME not in shown and PROMPT not in shown and status == 1


def interrupted_while_typing(at: Terminal) -> str:
    """What Ctrl-C makes it write up to the next prompt. Between showing a prompt and reading what is typed, Python
    hears it only at the next key; what runs hears one."""
    for before in ("", *" " * 9):
        at.type(before + "\x03")
        shown = at.for_seconds(1)
        if PROMPT in shown:
            return shown
    raise AssertionError("Ctrl-C does nothing")


def test_ctrl_c_while_typing_drops_the_form(tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", "reference") as at:
        at.type("x = 5; let a = 1;\n")
        at.until(CONTINUED)
        at.type("b = ")
        at.until("b = ")                # a Ctrl-C before that would drop it on the way, and readline would wait for it
        assert "Interrupted." in interrupted_while_typing(at)
        at.type("x + 1;\n")
        at.until("it = 6 : int")
        at.until(PROMPT)
        at.type("(1,\n")
        at.until(CONTINUED)
        at.type("\x04")                 # ends the text, not the session
        assert "this bracket is not closed" in at.until(PROMPT)
        at.type("exit;\n")
        assert at.ended()[1] == 0


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_one_ctrl_c_ends_what_runs_and_keeps_the_session(target: str, tmp_path: Path) -> None:
    with terminal(tmp_path, "--target", target) as at:
        at.type("function g(n) : int -> int = if sum([0:n]) < 0 then n else g(n); x = 7;\n")
        at.until("x = 7 : int")
        at.until(PROMPT)
        at.type('let _ = print_string("running") in g(10000); 1;\n')
        at.until('"running"')           # as typed
        at.until("running")
        at.type("\x03")
        told = at.until(PROMPT)
        assert "Interrupted." in told and "it = 1" not in told
        at.type("x; quit;\n")
        at.until("it = 7 : int")
        assert at.ended()[1] == 0
