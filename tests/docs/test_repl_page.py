"""docs/repl.md has the commands that there are, and says of each what its help says."""
from __future__ import annotations

import re

import pytest
from paths import ROOT

from nessie.session.commands import INSTEAD, NESL_COMMANDS, Row
from nessie.tool.prompt.commands import PROMPT_COMMANDS

PAGE = (ROOT / "docs" / "repl.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(.*)` \| (.*) \|$", PAGE, re.MULTILINE)


def written(rows: tuple[Row, ...], end: str) -> list[tuple[str, str]]:
    return [(f"{row.word} {row.arguments}".rstrip() + end, row.does) for row in rows]


def test_the_tables_are_those_of_the_code() -> None:
    assert [*written(PROMPT_COMMANDS, ""), *written(NESL_COMMANDS, ";")] == ROWS


@pytest.mark.parametrize("word", INSTEAD)
def test_commands_that_are_gone_are_named(word: str) -> None:
    assert f"`{word}`" in PAGE
