"""docs/language.md: its table of the library is the library's."""
from __future__ import annotations

import re

from paths import ROOT

from nessie.library import build_reference
from nessie.library.library import library

PAGE = (ROOT / "docs" / "language.md").read_text("utf-8")


def test_the_table_of_the_library_is_up_to_date() -> None:
    assert build_reference.page() == PAGE, "run python -m nessie.library.build_reference"


def test_a_function_has_one_row() -> None:
    assert {line[:1] for line in PAGE.partition(build_reference.START)[2].splitlines()} == {"", "|", "#"}


def test_every_function_is_in_the_table() -> None:
    table = PAGE.partition(build_reference.START)[2]
    for name in library().names():
        assert re.search(rf"\| `({re.escape(name.replace('|', chr(92) + '|'))}[`(]|a {re.escape(name)} b)", table), name


def test_links_lead_somewhere() -> None:
    found = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in found}
    for target in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert target in headings, target
