"""What a terminal may obey is printed so that it is none the wiser, and reads back."""
from __future__ import annotations

import pytest

from nessie.base.source import CONTROL, NessieError, Source
from nessie.running.targets import Target
from nessie.session.outcome import Outcome
from nessie.session.session import Session

VALUES = [
    "code_char(27)", "\"a\" ++ [code_char(27)] ++ \"[31m\"",
    "[code_char(7), code_char(13)]", "[\"b\" ++ [code_char(155)]]",
    "(1, [code_char(0)] ++ \"c\", `d)",
    "{code_char(c) : c in [0:160]}", "{(code_char(c), [code_char(c)]) : c in [8230:8300]}"]


def outcomes(text: str) -> list[Outcome | NessieError]:
    return list(Session(Target("reference")).run(Source("test", text)))


@pytest.mark.parametrize("text", VALUES)
def test_printed_values_are_safe_and_read_back(text: str) -> None:
    (first,) = outcomes(f"{text};")
    assert isinstance(first, Outcome) and not CONTROL.search(first.value)
    (again,) = outcomes(f"{first.value};")
    assert isinstance(again, Outcome) and (again.value, again.type) == (first.value, first.type)


@pytest.mark.parametrize("text", ["x = \"a\x1b[31mb\" + 1;",
                                  "1 + t; % \x1b]0;title\x07 %", "error(\"a\x1b[2J\");", "y\x1b = 1;"])
def test_errors_are_safe(text: str) -> None:
    (error,) = outcomes(text)
    assert isinstance(error, NessieError) and not CONTROL.search(str(error)) and "\ufffd" in str(error)


def test_lines_that_end_as_windows_ends_them_are_shown_as_they_are() -> None:
    (error,) = outcomes("1 + t;\r\n")
    assert "1 | 1 + t;\n" in str(error)


def test_newlines_and_tabs_are_printed_as_they_are() -> None:
    (found,) = outcomes("[`a, newline, tab];")
    assert isinstance(found, Outcome) and found.value == '"a\n\t"'
