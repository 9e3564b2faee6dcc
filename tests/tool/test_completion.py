"""What is suggested at the prompt."""
from __future__ import annotations

from pathlib import Path

import pytest

from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.running.target_names import TARGETS
from nessie.running.targets import Target
from nessie.session.commands import NESL_COMMANDS
from nessie.session.session import Session
from nessie.tool.prompt.commands import PROMPT_COMMANDS
from nessie.tool.prompt.completion import suggestions
from nessie.typing.environment import Environment

DEFINED = "function shrink(v) = {x / 2.0 : x in v}; shy = 5; datatype shape(int, int);"


@pytest.fixture(scope="module")
def environment() -> Environment:
    session = Session(Target("reference"))
    run_deep(lambda: list(session.run(Source("test", DEFINED))))
    return session.environment


def texts(before: str, environment: Environment) -> list[str]:
    return [found.text for found in suggestions(before, environment)]


@pytest.mark.parametrize(("before", "found"), [
    ("sh", ["shape", "shell ", "shell_command", "show ", "shrink", "shy"]),
    ("1 + sh", ["shape", "shell_command", "shrink", "shy"]),
    ("SHR", ["shrink"]), ("1; sho", ["show "]), ("let a = 1; shr", ["shrink"]),
    (":ti", [":time "]), (":type shr", ["shrink"]), (":kernels shr", ["shrink"]),
    (":target c", ["cpu", "cuda", "cudasim"]),
    ("1;\n:ki", []), ("1;\n:ke", [":kernels "]), ("describe shr", ["shrink"]), ("show co", ["code", "compiled"]),
    ("show code shr", ["shrink"]), ("show flat shr", ["shrink"]), ("show fl", ["flat"]), ("set p", ["print_length"]),
    ("set arg_check ", ["off", "on"]), ("set verbose o", ["off", "on"]), ("set print_length ", []),
    ("show status ", []), ("show co shr", []), (":kernels shrink fl", ["float"]),
    ("if t the", ["then"]), ("% sh", []), (":reset sh", []), ('2x; "`a', []),
])
def test_suggestions(before: str, found: list[str], environment: Environment) -> None:
    assert texts(before, environment) == found


def test_names_are_told_with_their_types(environment: Environment) -> None:
    (found,) = suggestions("shri", environment)
    assert (found.text, found.typed, found.about) == ("shrink", 4, "[float] -> [float]")


def test_nothing_typed_offers_the_commands_and_a_colon_those_of_the_prompt(environment: Environment) -> None:
    assert {text.strip() for text in texts("", environment)} == {row.word for row in NESL_COMMANDS} - {"?"}
    assert {text.strip() for text in texts(":", environment)} == {row.word for row in PROMPT_COMMANDS} - {":?"}
    assert {":explain ", ":time ", ":target", ":help", ":reset"} <= {*texts(":", environment)}
    assert texts(":target ", environment) == sorted(TARGETS)


def test_files(environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("fact.nesl", "facts.txt", ".facts", "folder/inner.nesl"):
        (tmp_path / name).write_text("")
    assert texts('load "fa', environment) == ["fact.nesl"]
    assert texts('load "', environment) == ["fact.nesl", "folder/"]
    assert texts('load "folder/', environment) == ["folder/inner.nesl"]
    assert texts('read_string_from_file("fa', environment) == ["fact.nesl", "facts.txt"]
    assert texts(':graph shrink "fo', environment) == ["folder/"]
    assert texts('load "nowhere/', environment) == texts('load "\0', environment) == []


def test_operators_are_no_names_to_be_completed(environment: Environment) -> None:
    offered = texts(":graph ", environment)
    assert "shrink" in offered and all(name[0].isalpha() or name[0] == "_" for name in offered)
