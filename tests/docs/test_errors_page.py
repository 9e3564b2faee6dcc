"""docs/errors.md: its examples say what stands behind them, and no message that users can meet is missing.

An example is blocks of code one after another: ```nesl is the file p.nesl, ```json title="v.json" one of that name (of
any language), ```python makes one, ```console is a command, perhaps with `< FILE`; the last, ```text, is what is
printed, as in golden/errors. Without a command, p.nesl is run. After a change of a message: pytest --update-golden. An
example of a message that has none yet is written down with an empty ```text, which --update-golden fills.
"""
from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest
from messages import NO_EXAMPLES, VAGUE, is_vague, messages, pattern
from paths import ROOT

from nessie.tool.cli import main

PAGE = ROOT / "docs" / "errors.md"
EXAMPLE = re.compile(r"(?:^```(?!text\n)[a-z][^\n]*\n.*?^```\n\n?)+^```text\n.*?^```\n", re.MULTILINE | re.DOTALL)
BLOCKS = re.compile(r"^```([a-z][^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
RUN = "nessie run p.nesl --target reference"


@dataclass(frozen=True)
class Example:
    """`start` and `end` of what is printed, in the page."""
    command: str
    files: dict[str, str]
    makes: str              # Python that makes a file
    printed: str
    start: int
    end: int


def examples(page: str) -> Iterator[Example]:
    for found in EXAMPLE.finditer(page):
        *given, last = BLOCKS.finditer(page, *found.span())
        files, command, makes = {}, RUN, ""
        for info, text in (block.groups() for block in given):
            if info == "console":
                command = text.strip().removeprefix("$ ")
            elif info == "python":
                makes = text
            else:
                files["p.nesl" if info == "nesl" else info.split('"')[1]] = text
        yield Example(command, files, makes, last[2], *last.span(2))


EXAMPLES = list(examples(PAGE.read_text("utf-8")))


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                 update_golden: bool) -> None:
    example = EXAMPLES[number]
    monkeypatch.chdir(tmp_path)
    for name, text in example.files.items():
        Path(name).write_text(text, "utf-8")
    exec(example.makes, {"numpy": numpy})
    redirected = re.fullmatch(r"(.*) < (\S+)", example.command)
    words, typed = redirected.groups() if redirected else (example.command, "")
    if typed:
        monkeypatch.setattr(sys, "stdin", io.StringIO(Path(typed).read_text("utf-8")))
    status = main(shlex.split(words)[1:])
    printed = "".join(capsys.readouterr())
    assert (status != 0) == bool(re.search("^(error|failed): ", printed, re.MULTILINE))
    assert status < 2 or " --> " not in printed, "only a command line that is wrong, which has no places, gives 2"
    if update_golden:
        page = PAGE.read_text("utf-8")
        now = list(examples(page))[number]
        PAGE.write_text(page[:now.start] + printed + page[now.end:], "utf-8")
    else:
        assert printed == example.printed


def test_no_message_is_missing() -> None:
    said = [line.partition(": ")[2] for example in EXAMPLES for line in example.printed.splitlines()
            if line.startswith(("error: ", "warning: ", "failed: "))]
    for text, path in sorted(messages()):
        if text not in NO_EXAMPLES and path not in NO_EXAMPLES:
            assert not is_vague(text) or (text, path) in VAGUE, f"which line shows {text!r} of {path}?"
            lines = [line for line in said if line.startswith(VAGUE.get((text, path), ""))]
            assert any(re.search(pattern(text), line) for line in lines), \
                f"{path}: docs/errors.md has no example of {text!r}"


def test_no_exception_is_idle() -> None:
    """What has no example is there, and has none."""
    found = messages()
    assert set(NO_EXAMPLES) <= {text for text, _ in found} | {path for _, path in found}
    assert set(VAGUE) <= {(text, path) for text, path in found if is_vague(text)}


@pytest.mark.parametrize("word", ["Traceback", "internal error", "AssertionError", "None", "Error(", "lambda_cu", "AST",
                                  " IR ", "object has no", "does not support the", "nessie.", "Python"])
def test_no_message_speaks_of_the_implementation(word: str) -> None:
    for example in EXAMPLES:
        assert word not in "\n".join(line for line in example.printed.splitlines() if " | " not in line)


def test_what_has_a_place_shows_its_line_with_carets() -> None:
    for example in EXAMPLES:
        lines = example.printed.splitlines()
        for number, line in enumerate(lines):
            if re.match(r" *--> ", line):
                assert re.match(r" *\|$", lines[number + 1]) and re.match(r"\d+ \| ", lines[number + 2])
                assert re.match(r" *\| *\^+( |$)", lines[number + 3]), line


def test_every_example_is_of_an_error() -> None:
    assert all(re.search(r"^(error|warning|failed): ", example.printed, re.MULTILINE) for example in EXAMPLES)
    assert len(EXAMPLES) > 150


def test_the_contents_are_the_sections() -> None:
    page = PAGE.read_text("utf-8")
    sections = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in
                re.findall(r"^## (.*)$", page, re.MULTILINE)]
    assert re.findall(r"\]\(#([^)]*)\)", page) == sections
