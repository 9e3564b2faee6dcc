"""The documentation's pictures and tables are what docs/pictures.py makes, and each is shown."""
from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from paths import ROOT

DOCS = ROOT / "docs"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURES = script()


@pytest.mark.parametrize("name", ["norm2-flat.svg", "norm2-fused.svg", "snowflake.svg"])
def test_a_graph_is_drawn_as_it_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert PICTURES.PICTURES[name]() == (DOCS / name).read_bytes(), "run python docs/pictures.py"


def test_the_prompt_shows_what_its_forms_give() -> None:
    """Another version of the library may draw it otherwise."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", (DOCS / "prompt.svg").read_text("utf-8"))
    shown = re.sub(r"\s", "", html.unescape("".join(lines)).replace("\xa0", " "))
    assert re.sub(r"\s", "", PICTURES.transcript()) in shown, "run python docs/pictures.py prompt.svg"


@pytest.mark.parametrize("name", ["speed.svg", "peers.svg"])
def test_the_bars_are_those_of_the_results(name: str) -> None:
    pytest.importorskip("matplotlib")

    def texts(drawn: str) -> list[str]:
        return re.findall(r"<text [^>]*>(.*?)</text>", drawn)
    assert texts(PICTURES.PICTURES[name]().decode()) == texts((DOCS / name).read_text("utf-8"))


@pytest.mark.parametrize("name, folder", [("speed.md", DOCS), ("README.md", ROOT), ("mappings.md", DOCS)])
def test_the_tables_are_those_of_the_results(name: str, folder: Path) -> None:
    assert PICTURES.PICTURES[name]() == (folder / name).read_bytes(), f"run python docs/pictures.py {name}"


def test_every_picture_is_shown_and_made() -> None:
    pages = "".join(path.read_text("utf-8") for path in [ROOT / "README.md", *DOCS.rglob("*.md")])
    there = {path.name for path in DOCS.rglob("*") if path.suffix in (".svg", ".png")}
    assert there == {name for name in PICTURES.PICTURES if not name.endswith(".md")}
    for name in there:
        assert re.search(rf"\]\((docs/|\.\./)?{re.escape(name)}\)", pages), name
