"""What the README shows is what Nessie does."""
from __future__ import annotations

import re

import pytest
from paths import ROOT

from nessie.tool.cli import main


def blocks(language: str, page: str = "README.md") -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return [text for found, text in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S) if found == language]


LISTINGS = blocks("text", "docs/norm2.md")


def without_sites(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("site ")).strip()


@pytest.mark.parametrize(("form", "listing"), list(zip(("flat", "fused"), LISTINGS, strict=True)))
def test_listings_of_norm2(form: str, listing: str, capsys: pytest.CaptureFixture[str],
                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["compile", "nesl_examples/norm2.nesl", "-e", "norm2", "--emit", form]) == 0
    assert without_sites(capsys.readouterr().out) == listing.strip()


def test_norm2_is_five_runs_of_three_kernels_and_then_two() -> None:
    counts = [(listing.count("= run "), listing.count("kernel K")) for listing in LISTINGS]
    assert counts == [(5, 3), (2, 2)]


def test_program_is_the_example() -> None:
    (program,) = blocks("nesl")
    assert program in (ROOT / "nesl_examples" / "norm2.nesl").read_text("utf-8")


def test_first_two_commands_are_one_line_each() -> None:
    install, test = blocks("sh")[:2]
    assert install.count("\n") == test.count("\n") == 1
    assert install.startswith("python3 -m venv ") and test.startswith("python3 -m venv ")
    assert "nessie run" in install and "pytest" in test
