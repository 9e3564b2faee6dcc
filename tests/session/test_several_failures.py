"""Which of several failures in an apply-to-each is told (docs/language.md): the first step's, in its first element."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from amounts import examples
from executors import QUICK, Compiled, Failed, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DIVIDE, BOUNDS = "Divide by zero.", "Sequence reference (a[i]) out of bounds."
Step = tuple[str, str, str, Callable[[int], bool]]      # its text, what fails in it, the message, for which a
HEAD = "function main(v) : [int] -> [int] = {"

steps = st.integers(-2, 4).flatmap(lambda k: st.sampled_from([
    (f"6 / (a - {k})", f"6 / (a - {k})", DIVIDE, lambda a: a == k),
    (f"[1, 2, 3][a + {k}]", f"[1, 2, 3][a + {k}]", BOUNDS, lambda a: not 0 <= a + k < 3),
    (f"(if a > {k} then 7 / (a - 3) else a)", "7 / (a - 3)", DIVIDE, lambda a: a > k and a == 3),
    (f"(if a > {k} then a else [5, 6][a])", "[5, 6][a]", BOUNDS, lambda a: a <= k and not 0 <= a < 2),
    (f"(let b = 8 / (a + {k}) in b * b)", f"8 / (a + {k})", DIVIDE, lambda a: a == -k),
]))


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=1, max_size=4), st.lists(st.integers(-2, 4), max_size=5))
def test_the_first_step_that_fails_and_its_first_element(body: list[Step], v: list[int]) -> None:
    source = f"{HEAD}{' + '.join(text for text, _, _, _ in body)} : a in v}};"
    expected, start = None, len(HEAD)
    for text, failing, message, fails in body:
        if expected is None and any(map(fails, v)):
            at = [fails(a) for a in v].index(True)
            begin = start + text.index(failing)
            expected = message, (begin, begin + len(failing), f"at element {at}")
        start += len(text + " + ")
    program = Compiled(source)
    for executor in QUICK:
        assert told(outcome(program, executor, (v,))) == expected, f"{executor}: {source}"


@pytest.mark.parametrize("body, v, message", [
    ("{sum({1 / b : b in [0:a]}) + [1][a] : a in v}", [1, 0, 2], DIVIDE),
    ("{[1][a] + sum({1 / b : b in [0:a]}) : a in v}", [1, 0, 2], BOUNDS),
    ("{1 / a : a in v | [1][a] == 1}", [0, 5], BOUNDS),
    ("{if a > 2 then [1][a] else 1 / a : a in v}", [0, 3], BOUNDS),
    ("let w = {1 / (a - 1) : a in v} in {[1][a] + b : a in v; b in w}", [5, 1], DIVIDE)])
def test_steps_with_steps_inside(body: str, v: list[int], message: str) -> None:
    program = Compiled(f"function main(v) : [int] -> [int] = {body};")
    for executor in QUICK:
        found = outcome(program, executor, (v,))
        assert isinstance(found, Failed) and found.message == message, executor


def told(result: Any) -> tuple[str, tuple[int, int, str]] | None:
    """The message, what in the text it is about, and the label; None for a value."""
    if not isinstance(result, Failed):
        return None
    assert result.told
    span, label = result.told[0]
    return result.message, (span.start, span.end, label)
