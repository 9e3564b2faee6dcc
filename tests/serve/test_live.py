"""What the live page is told of a program: stages, wishes, sizes and machines, results, errors with their places."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from nessie.inspect.collect import TITLES
from nessie.serve.live import Live
from nessie.serve.moved import moved
from nessie.serve.page import examples

NORM2 = (ROOT / "nesl_examples" / "norm2.nesl").read_text("utf-8")


@pytest.fixture(scope="module")
def live() -> Live:
    return Live(20.0, 1 << 28, 1)


def look(live: Live, program: str, **asked: Any) -> dict[str, Any]:
    """The answer, as it is sent."""
    found: dict[str, Any] = json.loads(json.dumps(live.answer({"do": "look", "program": program, **asked})))
    return found


def kernels(found: dict[str, Any]) -> list[list[str]]:
    (schedule,) = [one for one in found["schedules"] if one["mode"] == found["mode"]]
    return [sorted(kernel["nodes"])
            for region in schedule["regions"] for kernel in region["kernels"]]


def test_stages_come_when_they_are_wanted(live: Live) -> None:
    first = look(live, NORM2, stages=["fused"])
    assert [stage["name"] for stage in first["stages"]] == [name for name in TITLES if name != "measured"]
    assert [stage["name"] for stage in first["stages"] if stage["text"] is not None] == ["source", "fused"]
    assert first["stages"][0]["text"] == NORM2 and first["entry"] == "norm2" and first["type"] == "[float]"
    assert len(first["schedules"]) == 1 and not first["detailed"]
    more = look(live, NORM2, stages=["llvm", "graph"], details=True)
    assert more["collected"] == first["collected"] and more["spans"][:len(first["spans"])] == first["spans"]
    assert [one["mode"] for one in more["schedules"]] == ["none", "greedy", "ilp"]
    assert "define" in {stage["name"]: stage["text"] for stage in more["stages"]}["llvm"]
    assert look(live, NORM2 + " ")["collected"] != first["collected"]


def test_edits_of_calls_compile_nothing(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    first = look(live, NORM2, stages=["fused", "notes"])
    monkeypatch.setattr("nessie.serve.live.run_through", None)
    edited = NORM2.replace("[3.0, -1.0, 2.0]", "[31.0, -1.0, 2.0]") + "\n% more %\n"
    second = look(live, edited, stages=["fused", "notes"])
    assert edited != NORM2 and second["errors"] == [] and second["stages"][0]["text"] == edited
    assert second["data"] == "[31.0, -1.0, 2.0]" and second["collected"] != first["collected"]
    assert second["stages"][1:] == first["stages"][1:] and second["schedules"] == first["schedules"]
    assert look(live, NORM2 + "norm2(")["errors"]
    again = look(live, edited, stages=["fused"])
    assert again["errors"] == [] and again["collected"] != second["collected"], "errors are to be taken away"
    for other in ({"data": "[1, 2]"}, {"sizes": {"n": 7}}, {"machine": "h200"}, {"cut": [["gts", "sum1"]]}):
        assert look(live, edited, **other)["errors"], "it is compiled"
    for text in (f"{edited}% cut gts, sum1 %", edited.replace("sum1", "sum9"), f"% above %\n{edited}"):
        assert look(live, text)["errors"], "it is compiled"


def test_edits_of_blanks_and_comments_compile_nothing_at_first(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    first = look(live, NORM2, stages=["fused"])
    monkeypatch.setattr("nessie.serve.live.run_through", None)
    edited = "% above %\n" + NORM2.replace(" = ", "  =% ... %\n ")
    second = look(live, edited, stages=["fused"])
    assert second["errors"] == [] and second["stages"][1:] == first["stages"][1:]
    assert second["nodes"] == first["nodes"] and second["collected"] != first["collected"]
    said = [" ".join(NORM2[start:end].replace(" = ", "").split()) for start, end in first["spans"]]
    assert said == [" ".join(edited[start:end].replace("  =% ... %\n ", "").split()) for start, end in second["spans"]]
    source, after = first["stages"][0], second["stages"][0]
    assert after["text"] == edited and [mark[2:] for mark in after["marks"]] == [mark[2:] for mark in source["marks"]]
    assert all(edited[start:end] == NORM2[a:b] or "=" in NORM2[a:b]
               for (a, b, *_), (start, end, *_) in zip(source["marks"], after["marks"], strict=True))
    assert look(live, edited, stages=["fused"], details=True)["errors"], "details are of the text as it is"
    monkeypatch.undo()
    last = look(live, edited, stages=["fused"], details=True)
    assert last["spans"] == second["spans"] and last["stages"][0] == after


@pytest.mark.parametrize(("before", "after"), [("f(x) = xy", "f(x) = x y"), ("x = 1;", "x = 1"), ("#s", "# s%"),
                                               ("a % cut a, b %", "a = b")])
def test_other_words_are_no_moved_ones(before: str, after: str) -> None:
    assert moved(before, after) is None and moved(before, before) is not None


def test_data_are_those_of_the_programs_own_call(live: Live) -> None:
    assert look(live, NORM2)["data"] == "[3.0, -1.0, 2.0]"
    found = live.answer({"do": "run", "program": NORM2})
    assert found["value"] == "([0.75, -0.25, 0.5], [0.6, -0.2, 0.4])" and found["launches"] == 2
    other = live.answer({"do": "run", "program": NORM2, "data": "[1.0, 1.0]"})
    assert other["value"] == "([0.5, 0.5], [0.5, 0.5])" and other["type"] == "[float], [float]"


def test_without_data_there_is_nothing_to_run(live: Live) -> None:
    program = "function total(xs) : [int] -> int = sum(xs);"
    assert look(live, program)["errors"] == []
    told = live.answer({"do": "run", "program": program})["nothing"]
    assert told.startswith("total takes [int]. Write its arguments")


def test_several_arguments_stand_as_in_a_call(live: Live) -> None:
    program = "function scaled(xs, by) = {x * by : x in xs}; function other(x) = x;"
    found = live.answer({"do": "run", "program": program, "entry": "scaled", "data": "[1, 2], 3"})
    assert (found["value"], found["type"]) == ("[3, 6]", "[int]")
    assert look(live, program, entry="scaled", data="[1.0], 3.0")["type"] == "([float], float)"
    assert "other takes a :: (a in any)" in look(live, program)["errors"][0]["message"]
    assert look(live, program, data="1")["entry"] == "other"
    assert look(live, program, data="1")["functions"] == {
        "scaled": "([a], a) -> [a] :: (a in number)", "other": "a -> a :: (a in any)"}


def test_wishes_change_the_schedule(live: Live) -> None:
    assert kernels(look(live, NORM2)) == [["gts", "sum1", "sum2"], ["it", "it_1"]]
    cut = look(live, NORM2, cut=[["gts", "sum1"]])
    assert len(kernels(cut)) == 3 and not any({"gts", "sum1"} <= set(kernel) for kernel in kernels(cut))
    forced = look(live, NORM2, fuse=[["it", "sum1"]])
    assert "cannot share a kernel" in forced["errors"][0]["message"]
    assert "nothing is called" in look(live, NORM2, cut=[["nobody", "sum1"]])["errors"][0]["message"]


def test_sizes_and_machines_change_prices(live: Live) -> None:
    def cost(**asked: Any) -> float:
        return next(float(one["cost"]) for one in look(live, NORM2, **asked)["schedules"])

    large, small = cost(sizes={"n": 1e8}), cost(sizes={"n": 100})
    assert large > 50 * cost() > 50 * small
    assert cost(machine="h200", sizes={"n": 1e8}) < large / 50
    assert look(live, NORM2, machine="h200")["target"] == "cuda"
    assert {"xs", "gts", "n"} <= set(look(live, NORM2)["names"])
    assert "nothing is called m" in look(live, NORM2, sizes={"m": 3})["errors"][0]["message"]


def test_all_errors_are_told_with_their_places(live: Live) -> None:
    program = 'function one(x) = x + ;\n% \N{GRINNING FACE} % function two(x) = yy;\nfunction three(x) = two(x);'
    found = look(live, program)["errors"]
    assert [error["message"] for error in found] == ["syntax error: found `;`", "yy is not defined"]
    places = [program[start:end] for error in found for _, start, end, _ in error["places"]]
    assert places == [";", "yy"], "what follows from another error is not told"
    failed = live.answer({"do": "run", "program": "function over(x) = 10 / x;", "data": "0"})["errors"][0]
    assert failed["message"] == "Divide by zero." and [place[1:3] for place in failed["places"]] == [[19, 25]]
    wrong = look(live, "function one(x) = x;", data="[1, ")["errors"][0]
    assert wrong["places"] and wrong["places"][0][0] == "data"


@pytest.mark.parametrize("program", ["", "  % nothing yet %", "2 + 3;"])
def test_a_program_without_a_function_is_told_what_to_write(live: Live, program: str) -> None:
    assert look(live, program)["errors"][0]["message"].startswith("the program has no function yet")


@pytest.mark.parametrize("name", sorted(examples()))
def test_examples_begin_well(live: Live, name: str) -> None:
    assert look(live, examples()[name], stages=["fused"])["errors"] == []


def test_the_examples_are_those_of_the_folder() -> None:
    assert list(examples()) == sorted(path.stem for path in Path(ROOT / "nesl_examples").glob("*.nesl"))


def test_what_is_drawn_comes_with_the_result(live: Live) -> None:
    draws = "function draw(n) = draw_points([(0,0)], make_window(((0,0),(10 * n,30)), bounding_box([(0,0),(1,1)]), " \
            '"<w>", display));'
    found = live.answer({"do": "run", "program": draws, "data": "4"})
    (picture,) = found["pictures"]
    assert picture["title"] == "<w>" and picture["svg"].startswith("<svg") and "<title>&lt;w&gt;" in picture["svg"]
    assert "pictures" not in live.answer({"do": "run", "program": NORM2})
