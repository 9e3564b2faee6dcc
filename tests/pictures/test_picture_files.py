"""The files of pictures: their names, what they replace, and that failures leave what has been drawn."""
from __future__ import annotations

from pathlib import Path

import pytest

from nessie.tool.cli import main

FUNCTION = """function draw(n) = let (win,_) = xps_make_window(((0,0),(10 * n,10)), "w", display);
    gc = xps_line_gc(xps_func_copy, xps_white_pixel(win), 0, win) in xps_draw_point((n,n), gc, win);
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("many.nesl").write_text(f"{FUNCTION}draw(1);\ndraw(2);\n1 / 0;\ndraw(3);\n", "utf-8")
    return tmp_path


def pictures(folder: Path) -> dict[str, str]:
    """The widths of the pictures in the folder, by their names."""
    return {path.name: path.read_text("utf-8").split('width="')[1].split('"')[0] for path in folder.glob("*.svg")}


def test_each_window_has_a_file_of_the_programs_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "many.nesl", "--target", "reference"]) == 1
    assert pictures(folder) == {"many.svg": "10", "many-2.svg": "20", "many-3.svg": "30"}
    assert "drawn: many.svg\ndrawn: many-2.svg\ndrawn: many-3.svg\n" in capsys.readouterr().err


def test_draw_names_the_file(folder: Path) -> None:
    for name in ("own.svg", "other"):
        assert main(["run", "many.nesl", "-e", "draw", "4", "--draw", name, "--target", "reference"]) == 0
    assert pictures(folder) == {"own.svg": "40", "other.svg": "40"}


def test_an_expression_draws(folder: Path) -> None:
    assert main(["eval", "draw(5)", "-f", "many.nesl", "--target", "reference", "--draw", "five.svg"]) == 0
    assert pictures(folder)["five.svg"] == "50"


def test_only_pictures_are_replaced_without_draw(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["run", "many.nesl", "-e", "draw", "6", "--target", "reference"]
    Path("many.svg").write_text("mine", "utf-8")
    assert main(call) == 1 and Path("many.svg").read_text("utf-8") == "mine"
    assert "there is another file many.svg" in capsys.readouterr().err
    assert main([*call, "--draw", "many.svg"]) == 0 and pictures(folder)["many.svg"] == "60"
    assert main([*call[:4], "7", *call[5:]]) == 0 and pictures(folder)["many.svg"] == "70"


def test_a_picture_that_cannot_be_written_keeps_no_other_from_it(folder: Path,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    Path("many-2.svg").mkdir()
    assert main(["run", "many.nesl", "--target", "reference"]) == 1
    Path("many-2.svg").rmdir()
    assert pictures(folder) == {"many.svg": "10", "many-3.svg": "30"}
    assert "cannot write many-2.svg" in capsys.readouterr().err


def test_a_program_names_its_file(folder: Path) -> None:
    source = 'let w = make_ps_window(((0,0),(9,9)), bounding_box([(0,0),(1,1)]), "plan.ps") in draw_points([(0,0)], w)'
    assert main(["eval", source, "--target", "reference"]) == 0
    assert pictures(folder) == {"plan.ps.svg": "9"}


def test_a_program_that_draws_nothing_writes_nothing(folder: Path) -> None:
    assert main(["eval", 'first(rest(xps_make_window(((0,0),(9,9)), "", display)))', "--target", "reference"]) == 0
    assert not pictures(folder)
