"""Small parts of large sequences: a recursion holds copies of them, not all that they were part of."""
from __future__ import annotations

from typing import Any

import pytest
from executors import EXECUTORS, Compiled, Failed, agree, outcome

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.flatten.calls import compaction
from nessie.mono.analysis.last_uses import given_away
from nessie.mono.analysis.summaries import summaries
from nessie.running.targets import Limits, Target
from nessie.session.session import Session

HELD = {
    "a let": "function go(k) = if k == 0 then 0.0 else let v = take(big(k), 2); r = go(k - 1) in r + v[1];",
    "an argument": "function g(k, v) = if k == 0 then sum(v) else g(k - 1, take(big(k), 2)) + v[0]; "
                   "function go(k) = g(k, [0.0]);",
    "a result": "function p(k) = if k < 0 then p(k + 1) else drop(big(k), 199998); "
                "function go(k) = if k == 0 then 0.0 else let v = p(k); r = go(k - 1) in r + v[0];",
    "rows": "function go(k) = if k == 0 then 0.0 else "
            "let m = {take(r, 1) : r in partition(big(k), dist(1000, 200))}; r = go(k - 1) in r + sum(m[0]);",
    "rows of rows": "function go(k) = if k == 0 then 0.0 else "
                    "let m = take(partition(big(k), dist(1000, 200)), 2); r = go(k - 1) in r + m[1][3];",
    "one of two": "function either(k, v, w) = if k < 1 then v "
                  "else let s = sum([0:k]) in either(k - 1, w, if s > 2 then v else w);"
                  "function go(k) = if k == 0 then 0.0 else "
                  "let v = drop(either(k, big(k), big(k + 1)), 199998); r = go(k - 1) in r + v[1];",
    "a pair": "function go(k) = if k == 0 then 0.0 else "
              "let (v, n) = (take(big(k), 2), k); r = go(k - 1) in r + v[1] + float(n);",
}
HELD |= {
    "a part of what was given":
        "function h(k, v) = if k == 0 then 0.0 else let w = take(v, 2); r = h(k - 1, big(k)) in r + w[1]; "
        "function go(k) = h(k, big(0));",
    "a part of what was made before":
        "function h(k, v) = if k == 0 then 0.0 else let w = take(v, 2); u = big(k); r = h(k - 1, u) in r + w[1]; "
        "function go(k) = h(k, big(0));",
}
BIG = "function big(k) = {float(i * k) : i in [0:200000]};"


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("call", ["go(60)", "{go(60) : x in [0, 1]}"])
@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("name", HELD)
def test_memory_is_bounded(name: str, target: str, call: str) -> None:
    """Sixty levels, each of which makes 1.6 MB, in 20 MB; twice that for two elements, in as much."""
    session = Session(Target(target, limits=Limits(memory=20_000_000)))
    found = run_deep(lambda: list(session.run(Source("test", f"{BIG} {HELD[name]} {call};"))))
    assert not isinstance(found[-1], NessieError), found[-1].message


@pytest.mark.slow
@pytest.mark.sampled(quick=3, ci=2)
@pytest.mark.parametrize("name", HELD)
def test_copies_have_the_same_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size from which on sequences are copied."""
    expected: Any = None
    for large in (0, 2 ** 17):
        monkeypatch.setattr(compaction, "LARGE", large)
        text = (BIG + HELD[name]).replace("200000", "4000").replace("199998", "3998").replace("1000, 200", "20, 200")
        program = Compiled(f"{text} function main(k) : int -> float = go(k);")
        for executor in EXECUTORS:
            found = outcome(program, executor, (3,))
            assert not isinstance(found, Failed)
            assert expected is None or agree(expected, found), f"{executor}: {found}, not {expected}"
            expected = found


GIVEN = {               # is the sequence that go takes given away?
    "made for the call": ("go(k, {x + 1 : x in v})", True),
    "made before": ("let u = {x + 1 : x in v} in go(k, u)", True),
    "a part of what was made before": ("let u = {x + 1 : x in v} in go(k, take(u, 2))", True),
    "used afterwards": ("let u = {x + 1 : x in v} in go(k, u) + u[0]", False),
    "a part of what is used": ("let u = {x + 1 : x in v}; w = take(u, 2) in go(k, w) + u[0]", False),
    "another part of it used afterwards":
        ("let u = {x + 1 : x in v}; a = take(u, 2); b = take(u, 3); r = go(k, a) in r + b[0]", False),
    "another part of it used before":
        ("let u = {x + 1 : x in v}; a = take(u, 2); b = sum(take(u, 3)); r = go(k, a) in r + b", True),
    "the entry's": ("go(k, v)", False),
    "a row of what was made": ("let m = {[0:x] : x in v} in sum({go(k, r) : r in m})", True),
    "a row that is used": ("let m = {[0:x] : x in v} in sum({go(k, r) + #r : r in m})", False),
    "by one call of two": ("go(k, {x + 1 : x in v}) + go(k, v)", False),
    "twice": ("let u = {x + 1 : x in v} in go(k, u) + go(k, u)", False),
    "beside it in a pair": ("let u = {x + 1 : x in v} in (u, go(k, u))", False),
    "before it in a pair": ("let u = {x + 1 : x in v} in (go(k, u), u)", False),
    "beside its length": ("let u = {x + 1 : x in v} in (#u, go(k, u))", True),
    "beside it in a literal": ("let u = {x + 1 : x in v} in [u, dist(go(k, u), 2)]", False),
    "to take a part of it": ("let u = {x + 1 : x in v} in take(u, go(k, u))", False),
    "beside a part of it": ("let u = {x + 1 : x in v} in (let w = take(u, 2) in w, go(k, u))", False),
    "for an argument after it": ("after(k, {x + 1 : x in v}, 0)", False),
    "for an argument before it": ("before(k, 0, {x + 1 : x in v})", False),
    "with each of its elements": ("let u = {x + 1 : x in v} in {x + go(k, u) : x in u}", False),
    "between its elements": ("let u = {x + 1 : x in v} in {x + y : x in u; y in dist(go(k, u), #u)}", False),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_away(name: str) -> None:
    body, given = GIVEN[name]
    source = f"""function go(k, v) : (int, [int]) -> int =
                   if k == 0 then sum(v) else let r = go(k - 1, {{x * 2 : x in v}}) in r + 1;
                 function after(k, v, n) = if k == 0 then n else after(k - 1, v, n + go(k, v));
                 function before(k, n, v) = if k == 0 then n else before(k - 1, n + go(k, v), v);
                 function main(k, v) = {body};"""
    program = Compiled(source).mono
    assert (("go", 1) in given_away(program, summaries(program.functions))) is given


@pytest.mark.parametrize("body, given", [
    ("less(k, {x + 1 : x in v})", True),
    ("let u = {x + 1 : x in v} in less(k, u)", False),
    ("let u = {x + 1 : x in v} in sum(less(k, u))", False),
])
def test_what_may_be_in_a_result_is_used_with_it(body: str, given: bool) -> None:
    program = Compiled(f"""function less(k, v) : (int, [int]) -> [int] =
                             if #v < k then v else less(k, {{x / 2 : x in v | x > k}});
                           function main(k, v) = {body};""").mono
    assert (("less", 1) in given_away(program, summaries(program.functions))) is given
