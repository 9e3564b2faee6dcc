"""Sessions: what top-level forms give, one after another."""
from __future__ import annotations

from pathlib import Path

import pytest

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.running.targets import Limits, Target
from nessie.running.world import World
from nessie.session.session import Session


def outcomes(text: str, target: Target | None = None) -> list[str]:
    """What each form prints; for one that fails `error: ` and the message."""
    session = Session(target or Target("reference"))
    found = run_deep(lambda: list(session.run(Source("test", text))))
    return [f"error: {o.message}" if isinstance(o, NessieError) else str(o) for o in found]


PRINTED = [
    ("2 + 3;", ["it = 5 : int"]),
    ("x = [1, 2]; x ++ x;", ["x = [1, 2] : [int]", "it = [1, 2, 1, 2] : [int]"]),
    ("(a, (b, c)) = (1, \"s\", [2.5]); b;",
     ['(a, b, c) = (1, "s", [2.5]) : int, [char], [float]', 'it = "s" : [char]']),
    ("1; it + 1; it + 1;", ["it = 1 : int", "it = 2 : int", "it = 3 : int"]),
    ("function inc(a) = a + 1; inc(1);", ["inc = fn : int -> int", "it = 2 : int"]),
    ("function id(a) = a; id;", ["id = fn : a -> a :: (a in any)", "it = fn : a -> a :: (a in any)"]),
    ("datatype point(float, int); p = point(1.0, 2); point(a, b) = p; [p];",
     ["point = fn : (float, int) -> point", "p = point(1.0, 2) : point", "point(a, b) = point(1.0, 2) : point",
      "it = [point(1.0, 2)] : [point]"]),
    ("h = negate; [(sin, 1)]; h(3); k = 2; g = x => x + k; (g, g(1));",
     ["h = fn : a -> a :: (a in number)", "it = [(fn, 1)] : [(float -> float, int)]", "it = -3 : int",
      "k = 2 : int", "g = fn : int -> int", "it = (fn, 3) : int -> int, int"]),
    ("a = 3; b = a; a = 4; b;", ["a = 3 : int", "b = 3 : int", "a = 4 : int", "it = 3 : int"]),
    ("function a1(x) = x + 1; function b1(x) = a1(x); function a1(x) = x + 2; b1(1);",
     [*["a1 = fn : int -> int", "b1 = fn : int -> int"], "a1 = fn : int -> int", "it = 3 : int"]),
    ("a = 1; a = 0.5; a = 2; function add(k) = x => x + k; g = add(a); a = t; g(1);",
     ["a = 1 : int", "a = 0.5 : float", "a = 2 : int", "add = fn : a -> (a -> a) :: (a in number)",
      "g = fn : int -> int", "a = T : bool", "it = 3 : int"]),
    ("{(a, _) in [(1, 2), (3, 4)] | a > 1}; {_ in [1, 2]}; datatype p(int, int); {p(_, b) in [p(1, 2)] | b > 1};",
     ["it = [(3, 4)] : [(int, int)]", "it = [1, 2] : [int]", "p = fn : (int, int) -> p",
      "it = [p(1, 2)] : [p]"]),
    ("set print_length 3; [0:9];", ["", "it = [0, 1, 2,...] : [int]"]),
    ("([] int, [] [float], \"\");", ['it = ([], [], "") : [int], [[float]], [char]']),
]


@pytest.mark.parametrize(("text", "printed"), PRINTED)
def test_what_forms_print(text: str, printed: list[str]) -> None:
    assert outcomes(text) == printed


def test_a_form_that_fails_changes_nothing_and_the_session_goes_on() -> None:
    text = "x = 1; x = 1/0; (y, z) = (1, [1][5]); x; y; 1 +; function g(a) = b; g(1); it; x + t; 7;"
    found = outcomes(text)
    assert [o for o in found if not o.startswith("error")] == ["x = 1 : int", "it = 1 : int", "it = 1 : int",
                                                               "it = 7 : int"]
    assert len(found) == 11


def test_long_results_are_laid_out_on_three_lines() -> None:
    lines = outcomes("[0:40];")[0].split("\n")
    assert [lines[0], lines[1][:8], lines[2]] == ["it = ", "  [0, 1,", "   : [int]"]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_values_live_on_between_forms(target: str) -> None:
    text = "v = {float(i) : i in [0:1000]}; w = {x * 2.0 : x in v}; sum(w); sum(v); (#v, w[999]);"
    assert outcomes(text, Target(target))[2:] == ["it = 999000.0 : float", "it = 499500.0 : float",
                                                  "it = (1000, 1998.0) : int, float"]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_limits_are_errors_with_a_place_and_the_session_survives(target: str) -> None:
    text = "function r(n) = if n == 0 then sum([1]) else sum([r(n - 1), 1]); r(10); r(5000); 3;"
    session = Session(Target(target, limits=Limits(depth=100)))
    found = run_deep(lambda: list(session.run(Source("test", text))))
    assert isinstance(found[2], NessieError) and "deep" in found[2].message and found[2].places
    assert [str(found[1]), str(found[3])] == ["it = 11 : int", "it = 3 : int"]
    little = Session(Target(target, limits=Limits(memory=100_000)))
    found = run_deep(lambda: list(little.run(Source("test", "x = [0:1000000]; #[0:10];"))))
    assert isinstance(found[0], NessieError) and "memory" in found[0].message
    assert str(found[1]) == "it = 10 : int"


def test_stats_count_what_was_done() -> None:
    target = Target("reference")
    outcomes("sum({x * x : x in [0:10]});", target)
    assert target.stats.launches > 0 and target.stats.elements >= 10 and target.stats.interpreted == 0


def test_commands() -> None:
    written: list[str] = []
    target = Target("reference", world=World(written.append))
    forms = 'describe sum; apropos plus_sc; help; set nonsense 3; load "no such file"; get x; x |= 5; x;'
    found = outcomes(forms, target)
    text = "".join(written)
    assert "sum : [a] -> a :: (a in number)" in text and "plus_scan" in text and "load" in text and "x : int" in text
    assert [o.startswith("error") for o in found] == [False] * 3 + [True] * 3 + [False] * 2


def test_loaded_forms_are_as_good_as_written_ones(tmp_path: Path) -> None:
    (tmp_path / "a.b.nesl").write_text("x = 1; 1 +; function inc(y) = x + y;")
    found = outcomes(f'load "{tmp_path}/a.b"; inc(1); load "{tmp_path}/a.b.nesl"; load x;')
    defined = ["x = 1 : int", "error: syntax error: found `;`", "inc = fn : int -> int"]
    assert found == [*defined, "it = 2 : int", *defined, "error: load needs the name of a file, in quotes"]


def test_a_print_length_is_a_number() -> None:
    for wrong in ("²", "9" * 5000, "-1"):
        assert outcomes(f"set print_length {wrong};") == [f"error: print_length cannot be set to {wrong}"]
