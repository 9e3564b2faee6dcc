"""docs/tutorial.md, followed from its top to its end: files are written, commands run, forms typed.

A command's output must be what stands below it; `…` stands for any lines. --update-golden writes the outputs anew.
"""
from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from transcripts import replayed

from nessie.cli import main

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`(\w+\.nesl)`:\s*\Z")
ANY = "…"


def output_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    name, *words = shlex.split(command)
    assert name == "nessie"
    main(words)
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                      update_golden: bool) -> None:
    monkeypatch.chdir(tmp_path)
    page, updated, end, kinds = PAGE.read_text("utf-8"), [], 0, []
    for block in BLOCK.finditer(page):
        language, text = block.groups()
        kinds.append(language)
        made = text
        if language == "nesl":
            name = NAMED.search(page[:block.start()])
            assert name, text
            (tmp_path / name[1]).write_text(text, "utf-8")
        elif language == "repl":
            made = replayed([], text, monkeypatch).removesuffix("nesl> \n")
            monkeypatch.undo()
            monkeypatch.chdir(tmp_path)
        elif language == "console":
            first, _, shown = text.partition("\n")
            found = output_of(first.removeprefix("$ "), capsys)
            assert found.strip() or shown.strip() != ANY, first
            made = text if shown.strip() == ANY else f"{first}\n{found}"
        updated += [page[end:block.start()], f"```{language}\n{made}```"]
        end = block.end()
    following = "".join([*updated, page[end:]])
    if update_golden:
        PAGE.write_text(following, "utf-8")
    assert following == PAGE.read_text("utf-8")
    assert {"nesl", "repl", "console"} <= set(kinds)
    assert (tmp_path / "rows.html").stat().st_size > 10_000


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / target).exists(), target
