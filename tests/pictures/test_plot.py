"""Plots: which kinds a value has, what they show, and the files of nessie plot."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nessie.base.source import NessieError, Source
from nessie.base.types import expand
from nessie.pictures import plot
from nessie.running.targets import Target
from nessie.session.session import Session
from nessie.syntax.parser import parse_expression
from nessie.tool.cli import main

pytest.importorskip("matplotlib")


def value(text: str) -> tuple[Any, Any]:
    session = Session(Target("reference"))
    exp = parse_expression(Source("test.nesl", text))
    return session.value_of(exp), expand(session.type_of(exp), session.content)


class Axes:
    """What is drawn on matplotlib's axes: the name of each call, and its arrays."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[Any]]] = []
        self.figure = self

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> None:
            arrays = [*arguments, *([options["bins"]] if "bins" in options else [])]
            self.calls.append((name, [np.asarray(a).tolist() for a in arrays if isinstance(a, np.ndarray)]))
        return call


@pytest.mark.parametrize(("text", "kind", "drawn"), [
    ("[3, 1, 2]", None, ("plot", [[0, 1, 2], [3, 1, 2]])),
    ("[0.5]", None, ("plot", [[0], [0.5]])),
    ("[t, f]", None, ("plot", [[0, 1], [True, False]])),
    ("[3, 1]", "scatter", ("scatter", [[0, 1], [3, 1]])),
    ("[(1, 0.5), (2, 1.5)]", None, ("scatter", [[1, 2], [0.5, 1.5]])),
    ("([1, 2], [0.5, 1.5])", "line", ("plot", [[1, 2], [0.5, 1.5]])),
    ("[3, 1, 3]", "histogram", ("hist", [[3.0, 1.0, 3.0], [0.5, 1.5, 2.5, 3.5]])),
    ("[0.5, nan, 1.0]", "histogram", ("hist", [[0.5, 1.0]])),
    ("[[1, 2], [3, 4]]", None, ("imshow", [[[1, 2], [3, 4]]])),
    ("[[1, 2], [3, 4]]", "lengths", ("hist", [[2.0, 2.0], [1.5, 2.5]])),
    ("[[1, 2], [3]]", None, ("hist", [[2.0, 1.0], [0.5, 1.5, 2.5]])),
    ("[[1, 2], [3]]", "histogram", ("hist", [[1.0, 2.0, 3.0], [0.5, 1.5, 2.5, 3.5]])),
    ('["a", "bcd"]', None, ("hist", [[1.0, 3.0], [0.5, 1.5, 2.5, 3.5]])),
    ("[[[1], [] int], [] [int]]", None, ("hist", [[2.0, 0.0], [-0.5, 0.5, 1.5, 2.5]])),
    ("drop([[1, 2], [3, 4], [5, 6]], 1)", None, ("imshow", [[[3, 4], [5, 6]]])),
])
def test_what_a_plot_shows(text: str, kind: str | None, drawn: tuple[str, list[Any]]) -> None:
    given, type_ = value(text)
    axes = Axes()
    plot.DRAWERS[plot.chosen(kind, given, type_)](axes, given)
    assert axes.calls[0] == drawn


@pytest.mark.parametrize(("text", "kind", "message"), [
    ("3", None, "a value of the type int has no plot"), ('"a"', None, "a value of the type [char] has no plot"),
    ("[[1], [] int]", "image", "a value of the type [[int]] has no image where its rows have different lengths"),
    ('["a"]', "histogram", "a value of the type [[char]] has no histogram"),
    ("([1], [2, 3])", None, "there are 1 numbers for x and 2 for y"),
])
def test_what_has_no_plot(text: str, kind: str | None, message: str) -> None:
    given, type_ = value(text)
    with pytest.raises(NessieError) as failed:
        plot.plot(given, type_, kind, "", "svg")
    assert failed.value.message == message


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text("function squares(n) = {i * i : i in [0:n]}; squares(2);", "utf-8")
    assert main(["plot", "squares(5)", "-f", "p.nesl", "--target", "reference"]) == 0
    assert main(["plot", "[[1, 2]]", "-o", "a.png", "--target", "reference"]) == 0
    assert "squares(5)" in Path("plot.svg").read_text("utf-8"), "the title"
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().err.endswith("plot.svg is written\na.png is written\n")
    again = Path("plot.svg").read_bytes()
    assert main(["plot", "squares(5)", "-f", "p.nesl", "--target", "reference"]) == 0
    assert Path("plot.svg").read_bytes() == again


def test_the_prompt_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(
        'x = [1, 2, 2];\n:plot x --kind histogram "x.svg"\n:plot {a : a in x}\ndraw = xps_draw_point((1,1), '
        'xps_gc(67108863), xps_window(0,(1,1)));\nlet (w,_) = xps_make_window(((0,0),(9,9)), "", display) in '
        "xps_draw_point((1,1), xps_gc(67108863), w);\n"))
    assert main(["--target", "reference"]) == 1, "there is no window 0 before one is made"
    assert {path.name for path in tmp_path.iterdir()} == {"x.svg", "plot.svg", "drawing.svg"}
