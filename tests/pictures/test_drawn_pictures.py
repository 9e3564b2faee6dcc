"""Drawing: programs draw the same shapes on every executor, in NESL's order; windows, events, and their limits."""
from __future__ import annotations

import xml.etree.ElementTree as xml
from typing import Any

import pytest
from executors import EXECUTORS, Compiled, Failed, outcome

from nessie.base.source import NessieError, Source
from nessie.pictures.drawing import Drawing, Window
from nessie.pictures.events import Event
from nessie.pictures.svg import svg
from nessie.running.targets import Target
from nessie.running.world import World
from nessie.session.session import Session

WINDOW = """let w = make_window(((0,0),(100,100)), bounding_box([(0,0),(10,10)]), "a", display) in """
BOX = """let w = w_make_window(((0,0),(200,100)), "b", w_black, display);
             (w,b) = w_add_box(((50,10),(80,80)), ((0.0,0.0),(1.0,1.0)), "box", w_white, w) in """
WHITE = (3 << 24) + 0xFFFFFF
RED = (3 << 24) + 0xFF0000

# What is drawn: the kind, the colour without X's function, the width and the numbers, of each shape.
DRAWINGS = {
    "points, from the upper left": (WINDOW + "draw_points([(0,0),(k,10)], w)",
                                    [(0, WHITE, 1, [0, 100]), (0, WHITE, 1, [20, 0])]),
    "lines, scaled": (WINDOW + "draw_lines([(0,0),(1,k)], 3, w)", [(1, WHITE, 3, [0, 100, 10, 80])]),
    "segments": (WINDOW + "draw_segments([((0,0),(1,1)),((k,2),(3,3))], 1, w)",
                 [(2, WHITE, 1, [0, 100, 10, 90, 20, 80, 30, 70])]),
    "text": (WINDOW + 'draw_string((5,5), "hi", w)', [(5, WHITE, 1, [50, 50, 104, 105])]),
    "elements draw in order": (WINDOW + "{draw_lines([(0,i),(i,0)], i, w) : i in [1:k+1]}",
                               [(1, WHITE, 1, [0, 90, 10, 100]), (1, WHITE, 2, [0, 80, 20, 100])]),
    "a step of all before the next of any": (
        WINDOW + "{let _ = draw_points([(i,i)], w) in draw_lines([(i,0)], 1, w) : i in [0:k]}",
        [(0, WHITE, 1, [0, 100]), (0, WHITE, 1, [10, 90]), (1, WHITE, 1, [0, 100]), (1, WHITE, 1, [10, 100])]),
    "only some elements": (WINDOW + "{if i > 1 then draw_lines([(i,i)], 1, w) else t : i in [0:3]}",
                           [(1, WHITE, 1, [20, 80])]),
    "a box": (BOX + "w_draw_points([(0.0,0.0),(0.5,0.25),(2.0,0.0)], w_red, b)",
              [(8, 3 << 24, 1, [0, 100, 200, 100, 200, 0, 0, 0]), (8, WHITE, 1, [50, 90, 130, 90, 130, 10, 50, 10]),
               (0, RED, 1, [50, 90]), (0, RED, 1, [90, 70])]),
    "segments are cut at a box": (BOX + "w_draw_segments([((0.5,0.5),(1.5,0.5)),((2.0,0.0),(3.0,0.0))], k, w_red, b)",
                                  [(8, 3 << 24, 1, [0, 100, 200, 100, 200, 0, 0, 0]),
                                   (8, WHITE, 1, [50, 90, 130, 90, 130, 10, 50, 10]), (2, RED, 2, [90, 50, 130, 50])]),
    "what turns is turned back": (BOX + "{w_draw_lines([(0.0,0.0),(1.0,1.0)], 1, w_xor, b) : i in [0:k+1]}",
                                  [(8, 3 << 24, 1, [0, 100, 200, 100, 200, 0, 0, 0]),
                                   (8, WHITE, 1, [50, 90, 130, 90, 130, 10, 50, 10]),
                                   (1, (6 << 24) + 1, 1, [50, 90, 130, 10])]),
}


def shapes(window: Window) -> list[tuple[int, int, int, list[int]]]:
    return [(shape.kind, shape.drawn, shape.width, shape.numbers.tolist()) for shape in window.shapes]


@pytest.mark.sampled(quick=5)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing(name: str, executor: str) -> None:
    expression, expected = DRAWINGS[name]
    program = Compiled(f"function main(k) = let k = k + 0 in {expression};")
    assert not isinstance(outcome(program, executor, [2]), Failed)
    (window,) = program.outside.drawing.close_all()
    assert shapes(window) == expected


# Windows ----------------------------------------------------------------------------------------

def drawn(source: str, events: str = "", target: str = "reference") -> tuple[Any, list[Window]]:
    """The value of the expression, or the failure, and the windows."""
    session = Session(Target(target, world=World(lambda text: None, events=events)))
    (found,) = session.run(Source("test.nesl", source), ends_itself=True)
    return found if isinstance(found, Exception) else found.value, session.target.world.drawing.close_all()


def test_a_window_is_no_place_of_an_apply_to_each() -> None:
    found, windows = drawn('{w_make_window(((0,0),(5,5)), "", w_red, display) : i in [0:2]}')
    assert isinstance(found, NessieError) and "inside an apply-to-each" in found.message and not windows


def test_a_closed_window_takes_nothing_more() -> None:
    found, windows = drawn(
        WINDOW + "let _ = draw_lines([(0,0),(1,1)], 1, w); _ = close_window(w) in draw_points([(0,0)], w)")
    assert isinstance(found, NessieError) and found.message.startswith("the window is closed")
    assert [len(window.shapes) for window in windows] == [1], "what was drawn before stays"


@pytest.mark.parametrize("size", ["0,5", "5,40000", "-1,1"])
def test_windows_have_sizes(size: str) -> None:
    found, _ = drawn(f'xps_make_window(((0,0),({size})), "", display)')
    assert isinstance(found, NessieError) and "pixels: there are only those of 1 to 32767" in found.message


# Events -----------------------------------------------------------------------------------------

ASKING = BOX + """let w = w_add_button(((0,0),(40,20)), "go on", w_blue, w);
    (type,name,point,(held,button),key) = w_get_input(w) in (type, name, point, button, char_code(key))"""


@pytest.mark.parametrize(("event", "told"), [
    ("go on", '("button", "go on", (0.0, 0.0), 1, 0)'), (" go   on ;click", '("button", "go on", (0.0, 0.0), 1, 0)'),
    ("90,30", '("click", "box", (0.5, 0.25), 1, 0)'), ("90,30,3", '("click", "box", (0.5, 0.25), 3, 0)'),
    ("box", '("click", "box", (0.5, 0.5), 1, 0)'), ("199,99", '("none", "", (199.0, 99.0), 0, 0)'),
    ("key q", '("key", "box", (0.625, 0.5), 0, 113)'), ("key space", '("key", "box", (0.625, 0.5), 0, 32)'),
])
def test_events(event: str, told: str) -> None:
    assert drawn(ASKING, event)[0] == told


def test_a_rectangle_that_the_mouse_draws() -> None:
    source = BOX + "let (_,_,point,_,_) = w_get_input(w) in w_get_zoom_box(point, 2, b)"
    assert drawn(source, "50,10-90,50")[0] == "((0.0, 0.0), 0.5, 0.5)"


def test_without_events_a_program_does_not_wait_forever() -> None:
    found, windows = drawn(ASKING)
    assert isinstance(found, NessieError)
    assert found.message == "the program waits for a click or a key, and none is left"
    assert found.hint.startswith("--events") and len(windows) == 1
    assert drawn(BOX + "first(w_get_input_noblock(w))")[0] == "F"


def test_an_event_that_the_window_does_not_have() -> None:
    found, _ = drawn(ASKING, "stop")
    assert isinstance(found, NessieError) and found.message == "stop is no event of this window"
    assert found.hint == "there are box, go on, click, 200,100, key q"


def test_events_come_one_after_another() -> None:
    drawing = Drawing("1,2; key a")
    number = drawing.open("", (10, 10), 0)
    found = [drawing.next_event(number, False) for _ in range(4)]
    assert found == [Event(4, 1, 8, 0, 1), Event(5, 1, 8, 0, 1), Event(2, 5, 5, 0, 97), None]


# Pictures ---------------------------------------------------------------------------------------

EVERYTHING = """let (win,_) = xps_make_window(((0,0),(50,40)), "<&>", display);
    gc = xps_color_gc(xps_func_copy, xps_color_blue, win);
    _ = xps_draw_point((1,2), gc, win); _ = xps_draw_point((3,4), gc, win);
    _ = xps_draw_lines([(0,0),(5,0),(0,0)], 2, gc, win); _ = xps_draw_segments([((1,1),(2,2))], 0, gc, win);
    _ = xps_draw_circle(((10,10),5), 1, gc, win); _ = xps_draw_arc(((10,10),5), 0, 90, 1, gc, win);
    _ = xps_shade_circle(((10,10),5), gc, win); _ = xps_shade_polygon([(0,0),(1,0),(1,1)], gc, win);
    _ = xps_draw_string((1,1), "a<b", gc, win); _ = xps_draw_image(((0,0),(2,1)), [0,255], win)
    in xps_shade_rectangle(((0,0),(1,1)), xps_line_gc(xps_func_xor, 1, 0, win), win)"""


def test_a_picture_has_every_shape() -> None:
    _, (window,) = drawn(EVERYTHING)
    picture = xml.fromstring(svg(window))
    names = [element.tag.rpartition("}")[2] for element in picture]
    assert names == ["title", "rect", *["path"] * 6, "text", "image", "path"]
    assert picture[0].text == "<&>" and picture[8].text == "a<b"
    points, lines, segments, *_ = picture[2:]
    assert points.get("d") == "M1 38h0M3 36h0" and points.get("stroke") == "#0000ff"
    assert lines.get("d") == "M0 40L5 40L0 40Z" and lines.get("stroke-width") == "2"
    assert segments.get("stroke-width") == "1", "X draws lines of width 0 thin"
    assert "difference" in str(picture[-1].get("style"))


def test_a_file_that_a_program_names() -> None:
    _, (window,) = drawn('let w = make_ps_window(((0,0),(10,10)), bounding_box([(0,0),(1,1)]), "a.ps") in '
                         "draw_lines([(0,0),(1,1)], 1, w)")
    assert window.file == "a.ps" and 'fill="#ffffff"' in svg(window) and 'stroke="#000000"' in svg(window)
