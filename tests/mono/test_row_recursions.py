"""Recursions on all rows that become recursions on each: which do, and that programs mean what they did."""
from __future__ import annotations

from typing import Any

import pytest
from mono_interpreter import Stopped, run

from nessie.base.system.deep import run_deep
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.passes.row_recursions import row_recursions
from nessie.mono.text import parse, show
from nessie.mono.walk import called

NEXT = "{{x + k : x : int in r} : r : [int] in v}"
MAIN = "function main (rows : [[int]], m : int) : [[int]] = let b : [[int]] = go(rows, m) in b\nentry main"


def program(body: str, main: str = MAIN) -> mono.Program:
    found = parse(f"function go (v : [[int]], k : int) : [[int]] = {body}\n{main}")
    check(found)
    return found


def changed(of: mono.Program, wished: set[str]) -> mono.Program:
    found = row_recursions(of, wished)
    check(found)
    assert parse(show(found)) == found
    return found


GOES = {
    "rounds": f"if k < 1 then v else go({NEXT}, k - 1)",
    "a let in between": f"if k < 1 then v else let d : int = k - 1 in go({NEXT}, d)",
    "several ends": f"if k < 1 then v else if k == 3 then {{{{y : y : int in s}} : s : [int] in v}} else "
                    f"go({NEXT}, k - 1)",
    "rows of rows in a row": f"if k < 1 then v else go({{let w : [int] = s in w : s : [int] in {NEXT}}}, k - 1)",
    "rows as they are": "if k < 1 then v else go(v, k - 1)",
}
STAYS = {
    "rows decide": f"if length(v) < k then v else go({NEXT}, k - 1)",
    "another argument has rows": f"if k < 1 then v else go({NEXT}, k - length(v))",
    "a row meets others": "if k < 1 then v else go({elt(v, 0) : r : [int] in v}, k - 1)",
    "two at a time": "if k < 1 then v else go({r : r : [int] in v; s : [int] in v}, k - 1)",
    "some are left out": "if k < 1 then v else go({r : r : [int] in v | k > 2}, k - 1)",
    "not the last step": f"if k < 1 then v else {{u : u : [int] in go({NEXT}, k - 1); s : [int] in v}}",
    "other rows": "if k < 1 then v else go({iseq(0, 1, k) : j : int in iseq(0, 1, 3)}, k - 1)",
}


@pytest.mark.parametrize("name", GOES)
def test_rows_that_mind_their_own_business(name: str) -> None:
    found = changed(program(GOES[name]), {"b"})
    go, main, by_row = found.functions
    assert go == program(GOES[name]).functions[0]
    assert called(main.body) == ["go", by_row.name] and set(called(by_row.body)) == {by_row.name}
    assert by_row.row_of == "go" and not go.row_of
    assert str(by_row.parameters[0].type) == str(by_row.result) and by_row.parameters[0].type != go.parameters[0].type


@pytest.mark.parametrize("name", STAYS)
def test_what_is_of_all_rows_stays(name: str) -> None:
    of = program(STAYS[name])
    assert changed(of, {"b"}) is of


def test_only_what_is_wished_for_changes() -> None:
    of = program(GOES["rounds"])
    assert changed(of, set()) is of
    assert changed(of, {"c"}).functions == of.functions
    ends = program(GOES["rounds"], "function main (rows : [[int]], m : int) : [[int]] = go(rows, m)\nentry main")
    assert called(changed(ends, {"main"}).functions[1].body) == ["go", "go_1"]


def test_functions_that_call_each_other_change_together() -> None:
    text = f"""function inner (v : [[int]], k : int) : [[int]] = if k < 1 then v else inner({NEXT}, k - 1)
function go (w : [[int]], n : int) : [[int]] = if n < 1 then w else go(inner(w, n), n - 1)
{MAIN}"""
    of = parse(text)
    found = changed(of, {"b"})
    assert [called(f.body) for f in found.functions[3:]] in ([["go_1", "inner_1"], ["inner_1"]],
                                                             [["inner_1"], ["go_1", "inner_1"]])
    given: tuple[Any, ...] = ([[1, 2], [], [3]], 4)
    assert run_deep(lambda: run(found, *given)) == run_deep(lambda: run(of, *given))


@pytest.mark.parametrize("name", GOES)
@pytest.mark.parametrize("rows", [[], [[]], [[1], [], [2, 3, 4]]])
@pytest.mark.parametrize("body", ["x + k", "x / (k - 2)"])
def test_values_and_failures_are_the_same(name: str, rows: list[list[int]], body: str) -> None:
    """Without rows, too, where a condition fails."""
    text = GOES[name].replace("x + k", body)
    for condition in ("k < 1", "(6 / k) < 1"):
        of = program(text.replace("k < 1", condition))
        for k in (-1, 0, 1, 3, 7):
            assert result(changed(of, {"b"}), rows, k) == result(of, rows, k), (text, k)


def result(of: mono.Program, rows: list[list[int]], k: int) -> Any:
    try:
        return run_deep(lambda: run(of, rows, k))
    except Stopped as stopped:
        return str(stopped)
