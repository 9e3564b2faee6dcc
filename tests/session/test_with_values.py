"""The values that a failed check is told with, and when they are not looked for."""
from __future__ import annotations

import copyreg
import time
from collections.abc import Callable
from typing import Any

import pytest

from nessie.base.source import NessieError, Source
from nessie.cudagen.cuda.cudasim import compiler
from nessie.interpreter import interpreter
from nessie.running.targets import Limits, Target
from nessie.session import with_values
from nessie.session.session import Session
from nessie.typing import nodes as typed


def failure(program: str, target: Target | None = None) -> NessieError:
    """Of the last form."""
    *_, found = Session(target or Target("reference")).run(Source("test", program))
    assert isinstance(found, NessieError)
    return found


def told(error: NessieError) -> str:
    return error.places[0][1]


def test_values_are_told() -> None:
    assert "3" in told(failure("v = [5, 7]; v[3];"))


def sharing(error: NessieError) -> tuple[Callable[..., NessieError], tuple[Any, ...]]:
    """Reduces an error for a copy that has its attributes in common with it."""
    def made(attributes: dict[str, Any]) -> NessieError:
        copied = NessieError.__new__(NessieError)
        copied.__dict__ = attributes
        return copied
    return made, (vars(error),)


def test_libraries_may_change_how_exceptions_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As tblib does, which Dask imports."""
    monkeypatch.setitem(copyreg.dispatch_table, NessieError, sharing)
    error = failure("isqrt(-4);")
    assert (error.message, told(error)) == ("Bad arguments to function ISQRT.", "n is -4")


def test_much_is_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter would take seconds for this."""
    worked: list[int] = []
    run = interpreter.run

    def recorded(program: typed.Program, world: interpreter.World) -> object:
        try:
            return run(program, world)
        finally:
            worked.append(world.work)

    monkeypatch.setattr(interpreter, "run", recorded)
    error = failure("v = [0:300000]; {v[i + 1] : i in [0:300000]};")
    assert "300000" not in told(error) and "out of bounds" in error.message and max(worked, default=0) < 100_000


def test_a_large_variable_matters_only_where_it_is_used() -> None:
    assert "3" in told(failure("big = [0:300000]; v = [5, 7]; v[3];"))


PROGRAM = "v = [5, 7]; v[sum([1, 2])];"


def test_it_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(failure(PROGRAM)) == "the index is 3, the length 2"
    monkeypatch.setattr(with_values, "SECONDS", 0.0)
    assert told(failure(PROGRAM)) != "the index is 3, the length 2"


def test_it_ends_when_the_run_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(with_values, "mix", lambda seed: time.sleep(0.3))
    monkeypatch.setattr(with_values, "SECONDS", 60.0)
    limited = Target("reference", limits=Limits(seconds=0.25))
    assert told(failure(PROGRAM, limited)) != "the index is 3, the length 2"


def test_a_bug_of_the_interpreter_hides_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise KeyError("lost")
    monkeypatch.setattr(interpreter, "run", broken)
    assert "out of bounds" in failure("v = [5, 7]; v[3];").message


IN_THREADS = """function at(v, x, i) = if i < 0 then v[x] else 1 + at(v, x + 1, i - 1);
function down(n) = if n > 3 then down(n - 1) + 10 / n else 10 / (n - 3);
"""


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("form, label, callers", [
    ("{at([5, 6, 7], x, 0) : x in [1, 0, 2]};", "at element 2: the index is 3, the length 3",
     ["at(v, x + 1, i - 1)", "at([5, 6, 7], x, 0)"]),
    ("{down(n) : n in [1, 0, 6, 5]};", "at element 2: 10 / 0", ["down(n - 1)", "down(n)"]),
    ("down(3);", "10 / 0", ["down(3)"])])
def test_recursion_in_a_thread_tells_element_values_and_callers(target: str, form: str, label: str,
                                                                callers: list[str]) -> None:
    error = failure(IN_THREADS + form, Target(target))
    assert told(error) == label
    assert [(span.source.text[span.start:span.end], said) for span, said in error.places[1:]] == [
        (caller, "called from here") for caller in callers]


ROWS = """function quotients(v, k) = {100 / (x - k) : x in v} ++ {100 / x : x in v};
function ends(v, k) = {v[i + k] : i in [0:k]};
"""


@pytest.mark.parametrize("target", ["cpu", "reference", "cudasim"])
@pytest.mark.parametrize("form, label", [
    ("{{1 / (i - j + 2) : i in [0:3]} : j in [0:4]};", "at element [2][0]: 1 / 0"),
    ("{{v[i] : i in [0:#v + 1]} : v in [[] int, [1]]};", "at element [0][0]: the index is 0, the length 0"),
    ("{{{1 / x : x in a} : a in b} : b in [[[1], [2]], [] [int], [[3], [4, 0, 0]]]};", "at element [2][1][1]: 1 / 0"),
    ("{{1 / x : x in a | x < 3} : a in [[5], [9, 4, 2, 0]] | #a > 1};", "at element [1][3]: 1 / 0"),
    ("{sum([0:3 - i]) : i in [0:6]};", "at element 4: s is 0, e is -1, l is 1"),
    ("{[0:a:b] : a in [4, 5, 6]; b in [1, 2, 0]};", "at element 2: s is 0, e is 6, l is 0"),
    ("{take(v, n) : v in [[1], [2], [3]]; n in [0, 1, 2]};", "at element 2: n is 2, #v is 1"),
    ("{{sum(take(v, n)) : n in [0, 1, 2]} : v in [[1, 2], [3]]};", "at element [1][2]: n is 2, #v is 1"),
    ("{if a > 1 then sum({10 / (x - a) : x in [3, a]}) else a : a in [0, 1, 5, 3]};", "at element [2][1]: 10 / 0"),
    ("{quotients(v, k) : v in [[1, 2], [4, 0]]; k in [3, 4]};", "at element [1][0]: 100 / 0"),
    ("{sum({ends(v, k)[0] : v in vs}) : vs in [[[1, 2], [3, 4]], [[5]]]; k in [1, 2]};",
     "at element [1][0][0]: the index is 2, the length 1"),
    ("{pad(v, k, 0, clamp) : v in [[1], [2, 3], [4]]; k in [2, 1, -1]};", "at element 2: l is -1, r is 0, #v is 1")])
def test_the_element_of_each_row_around_is_told(target: str, form: str, label: str) -> None:
    if target == "cudasim" and not compiler.found():
        pytest.skip("no compiler for cudasim")
    assert told(failure(ROWS + form, Target(target))) == label
