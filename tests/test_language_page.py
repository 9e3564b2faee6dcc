"""docs/language.md: its examples give what stands behind them, its table of the library is the library's."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from nessie.base.deep import run_deep
from nessie.base.source import NessieError, Source
from nessie.frontend import build_reference
from nessie.frontend.library import library
from nessie.session import Session
from nessie.targets import Target
from nessie.world import World

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "language.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```nesl\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def given(outcome: object) -> str:
    """What a form gives, nothing if it only declares; of an error, what it says."""
    return f"error: {outcome.message}" if isinstance(outcome, NessieError) else str(outcome)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n")[0][:40])
def test_example(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = example.splitlines()
    program = "\n".join(line for line in lines if not line.startswith("=> "))
    expected = [line.removeprefix("=> ") for line in lines if line.startswith("=> ")]
    told: list[str] = []
    session = Session(Target("reference", world=World(told.append)))

    def run() -> None:
        for outcome in session.run(Source("page", program)):
            told.append(f"{given(outcome)}\n")

    run_deep(run)
    assert [line for line in "".join(told).splitlines() if line] == expected


def test_the_table_of_the_library_is_up_to_date() -> None:
    assert build_reference.page() == PAGE, "run python -m nessie.frontend.build_reference"


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
