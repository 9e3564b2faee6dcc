"""Every block of code in the documentation is run, and gives what the page says (tests/support/pages.py)."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import KINDS, ROOT, WHERE, Reader, blocks
from test_errors_page import EXAMPLE

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ERRORS = ROOT / "docs" / "errors.md"            # has a test of its own, of a program for each message


@pytest.mark.parametrize("page", [page for page in PAGES if page != ERRORS], ids=lambda page: page.stem)
def test_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nesl_examples").symlink_to(ROOT / "nesl_examples")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    now = page.read_text("utf-8")
    right = Reader(tmp_path, monkeypatch).follow(now)
    if update_golden:
        page.write_text(right, "utf-8")
    assert right == page.read_text("utf-8")


def test_every_block_of_the_messages_is_in_an_example() -> None:
    page = ERRORS.read_text("utf-8")
    within = [found.span() for found in EXAMPLE.finditer(page)]
    for block in blocks(page):
        assert any(start <= block.start < end for start, end in within), block.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_not_run_says_why(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("<!-- not run") == len([block for block in blocks(text) if len(block.reason) > 10])
    needed = [block.needed for block in blocks(text) if block.needed]
    assert text.count("<!-- needs") == len(needed) and set(needed) <= set(WHERE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_have_a_language(page: Path) -> None:
    """No block escapes by having none, or one that nothing runs."""
    text = page.read_text("utf-8")
    fences = re.findall(r"^```(.*)$", text, re.MULTILINE)
    assert len(fences) == 2 * len(blocks(text))
    others = {"text", "json", "csv", "tuning", "vim", "lua", "elisp"}
    assert {block.language for block in blocks(text)} <= {*KINDS, *others}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`(?:, `([A-Za-z]\w*)`)?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_and_what_is_in_them_are_there(page: Path) -> None:
    """A file that a page names, and the name that follows it."""
    text = page.read_text("utf-8")
    made = {block.file for block in blocks(text)}
    for path, name in NAMED.findall(text):
        known = ROOT / path if (ROOT / path).exists() else ROOT / "nessie" / path
        assert path in made or known.exists(), path
        assert not name or re.search(rf"\b{name}\b", known.read_text("utf-8")), f"{path} has no {name}"


def test_the_page_on_combinators_names_every_place() -> None:
    page = (ROOT / "docs" / "howto" / "soac.md").read_text("utf-8")
    for folder in ("lambda_cu", "flatten", "schedule", "cudagen"):
        for path in (ROOT / folder).rglob("*.py"):
            if re.search(r"\bir\.Filter\b|^class Filter\b|\"FILTER\"", path.read_text("utf-8"), re.MULTILINE):
                assert f"`{path.relative_to(ROOT)}`" in page, path


# What would be overlooked if the pages' blocks were not compared with anything.
@pytest.mark.parametrize(("page", "right"), [
    ("```nesl\n1 + 1;\n=> it = 3 : int\n```\n", "```nesl\n1 + 1;\n=> it = 2 : int\n```\n"),
    ("```nesl\nx + ;\n```\n", None),
    ("```repl\nnesl> 1 + 1;\nit = 3 : int\n```\n", "```repl\nnesl> 1 + 1;\nit = 2 : int\n```\n"),
    ("```console\n$ nessie eval 1+1\nit = 3 : int\n```\n", "```console\n$ nessie eval 1+1\nit = 2 : int\n```\n"),
    ("```sh\nnessie eval 1+1\n```\n\n```text\nit = 3 : int\n```\n",
     "```sh\nnessie eval 1+1\n```\n\n```text\nit = 2 : int\n```\n"),
    ("```python\nprint(2)\n```\n\n```text\n3\n```\n", "```python\nprint(2)\n```\n\n```text\n2\n```\n"),
    ("```ipython\n1 + 1\n```\n\n```text\n3\n```\n", "```ipython\n1 + 1\n```\n\n```text\n2\n```\n"),
])
def test_a_wrong_page_is_found(page: str, right: str | None, tmp_path: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = Reader(tmp_path, monkeypatch).follow(page)
    assert found != page and right in (None, found)


@pytest.mark.parametrize("page", ["```sh\nnessie evaluate 1\n```\n", "```python\n1 + 1    # 3\n```\n",
                                  "```python\n1 / 0\n```\n", "```console\n$ nessie evaluate\n…\n```\n"])
def test_a_block_that_fails_is_found(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AssertionError, ZeroDivisionError)):
        Reader(tmp_path, monkeypatch).follow(page)
