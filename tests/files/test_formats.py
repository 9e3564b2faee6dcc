"""The ending of the file that -o names says the format; what contradicts it, and what is no ending, is told."""
from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from nessie import forms
from nessie.base.source import Source
from nessie.inspect import pictures
from nessie.tool.cli import main
from nessie.tool.formats import ENDINGS

PROGRAM = "function shares(v) : [float] -> [float] = let s = sum(v) in {x / s : x in v};\n"
PNG = pictures.SIGNATURE + b"of a picture"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.nesl").write_text(PROGRAM)
    return tmp_path


def tool(folder: Path, name: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, the only one on the path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


BEGINNINGS = {".dot": "digraph", ".gv": "digraph", ".svg": "<svg", ".json": "["}


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_a_graph_is_drawn_as_its_file_is_called(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (f"x{ending}", f"y{ending.upper()}"):
        assert main(["graph", "p.nesl", "-e", "shares", "-o", name]) == 0
        assert Path(name).read_text().startswith(BEGINNINGS[ending])
    form = ENDINGS["graph"][ending]
    assert main(["graph", "p.nesl", "-e", "shares", "--format", form, "-o", f"z{ending}"]) == 0
    assert main(["graph", "p.nesl", "-e", "shares", "--format", form]) == 0
    assert capsys.readouterr().out == Path(f"z{ending}").read_text() == Path(f"x{ending}").read_text()


@pytest.mark.parametrize("words", [["-o", "x"], ["-o", "/dev/stdout"], ["-o", "-"], []])
def test_without_an_ending_it_is_dot(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "p.nesl", "-e", "shares", *words]) == 0
    text = Path("x").read_text() if "x" in words else capfd.readouterr().out
    assert text.startswith("digraph")


@pytest.mark.parametrize("words", [
    "graph -o x.txt", "graph -o x.svg --format dot", "graph -o x.png --format svg", "graph -o x.html", "graph -o x.pdf",
    "graph -o x.html --format svg", "compile -o x.txt", "compile -o x.svg", "compile --emit flat -o x.mono",
    "compile --emit cuda -o x.ll", "compile --emit llvm -o x.cu", "compile --emit graph -o x.svg",
    "compile -o x.cubin", "show --after fuse -o x.flat", "inspect -o x.svg", "inspect -o x.txt",
    "explain -o x.html", "explain -o x.png", "profile -o x.svg", "doctor -o x.json", "doctor --calibrate -o x.csv",
    "graph --format png", "graph --format png -o -"])
def test_what_does_not_fit_is_told_and_nothing_written(words: str, here: Path,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    command, *rest = words.split()
    assert main([command, *(["p.nesl", "-e", "shares"] if command != "doctor" else []), *rest]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "Traceback" not in err
    assert {path.name for path in here.iterdir()} == {"p.nesl"}
    if command == "graph" and "png" not in words:
        assert "what nessie" in err


@pytest.mark.parametrize("name", [name for name in ENDINGS["compile"] if name not in (".cubin", ".nesl")])
def test_a_form_is_written_as_its_file_is_called(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    form = ENDINGS["compile"][name]
    assert main(["compile", "p.nesl", "-e", "shares", "-o", f"x{name}"]) == 0
    assert main(["compile", "p.nesl", "-e", "shares", "--emit", form]) == 0
    assert Path(f"x{name}").read_text() == capsys.readouterr().out
    found = forms.form_of_file(f"x{name}")
    if found.parse and found is not forms.TEXT:
        assert forms.read(found, Source("x", Path(f"x{name}").read_text()))


def test_other_results_are_what_their_files_are_called(capsys: pytest.CaptureFixture[str]) -> None:
    explain = ["explain", "p.nesl", "-e", "shares"]
    profile = ["profile", "p.nesl", "-e", "shares", "[1.0, 3.0]"]
    for words in (explain, profile):
        assert main([*words, "-o", "x.json"]) == main([*words, "-o", "x.txt"]) == main([*words, "-o", "x"]) == 0
        assert json.loads(Path("x.json").read_text()) and Path("x").read_text()[0] not in "{["
        assert main([*words, "--json", "-o", "y.txt"]) == 0 and json.loads(Path("y.txt").read_text())
    assert main(["profile", "p.nesl", "-x", "shares([1.0]); shares([2.0]);", "-o", "x.jsonl"]) == 0
    assert len([json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]) == 2
    assert main(["inspect", "p.nesl", "-e", "shares", "-o", "x.html"]) == 0
    assert main(["show", "p.nesl", "-e", "shares", "--after", "fuse", "-o", "x.fused"]) == 0
    assert "kernel" in Path("x.fused").read_text() and capsys.readouterr().out == ""


# Pictures of dots ---------------------------------------------------------------------------------

GOOD = f"assert b'<svg' in sys.stdin.buffer.read(); sys.stdout.buffer.write({PNG!r})"


@pytest.mark.skipif(sys.platform == "win32", reason="scripts are no programs there")
@pytest.mark.parametrize("name", ["rsvg-convert", "inkscape", "magick", "convert"])
def test_a_png_is_made_by_what_is_here(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(here / "bin", name, GOOD, monkeypatch)
    monkeypatch.setattr(pictures, "CAIRO", "no_such_package")
    assert main(["graph", "p.nesl", "-e", "shares", "-o", "x.png"]) == 0
    assert Path("x.png").read_bytes() == PNG


@pytest.mark.skipif(sys.platform == "win32", reason="scripts are no programs there")
def test_graphviz_gets_its_own_text(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(here / "bin", "dot", f"assert b'digraph' in sys.stdin.buffer.read(); sys.stdout.buffer.write({PNG!r})",
         monkeypatch)
    assert main(["graph", "p.nesl", "-e", "shares", "--format", "png", "-o", "x"]) == 0
    assert Path("x").read_bytes() == PNG


@pytest.mark.skipif(sys.platform == "win32", reason="scripts are no programs there")
def test_converters_that_fail(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.png").write_text("old")
    for body, said in (("sys.exit('no such thing')", "rsvg-convert: no such thing"), ("sys.exit(3)", "status 3"),
                       ("print('no picture')", "rsvg-convert: it gives no PNG")):
        tool(here / "bin", "rsvg-convert", body, monkeypatch)
        assert main(["graph", "p.nesl", "-e", "shares", "-o", "x.png"]) == 1
        err = capsys.readouterr().err
        assert err.startswith("error: no .png can be made: ") and said in err and "hint: install" in err
    assert Path("x.png").read_text() == "old"
    tool(here / "bin", "magick", GOOD, monkeypatch)             # the next one can
    assert main(["graph", "p.nesl", "-e", "shares", "-o", "x.png"]) == 0
    monkeypatch.setenv("PATH", os.devnull)
    assert main(["graph", "p.nesl", "-e", "shares", "-o", "x.png"]) == 1
    assert capsys.readouterr().err == f"error: nothing here makes a .png of a drawing\nhint: {pictures.INSTALL}\n"
    assert Path("x.png").read_bytes() == PNG
