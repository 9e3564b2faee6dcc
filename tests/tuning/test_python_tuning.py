"""Versions of functions, and their thresholds, from Python."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.source import Source
from nessie.tuning import measure
from nessie.tuning.file import machine, parse

PICK = "function pick(xs, is) : ([float],[int]) -> [float] = let a = {exp(x) + sin(x) : x in xs} in {a[i] : i in is};"
FEW = np.arange(100.0), np.array([1, 2])
MANY = np.arange(10.0), np.arange(10)


def test_versions_tell_conditions_and_what_a_call_took() -> None:
    program = nessie.compile(PICK)
    there = program.pick.versions()
    assert list(there) == ["pick.it"] and len(there) == 1
    choice = there["pick.it"]
    assert choice.versions == {"pulled": "#is * 8 <= #xs or #is * 2 <= #xs and #is <= 10000", "items": ""}
    assert choice.thresholds == {"pulled share": 8, "pulled few": 10000} and choice.took == {}
    assert program.pick.versions(*FEW)["pick.it"].took == {"pulled": 1}
    found = program.pick.versions(*MANY)
    assert found["pick.it"].took == {"items": 1}
    assert "    items else\n    it took items 1 time" in repr(found)
    assert "if #is * 8 &lt;= #xs" in found._repr_html_()
    reference = nessie.compile(PICK, target="reference").pick
    assert repr(reference.versions(*FEW)).endswith("\nthe call took none: the target reference has no versions")
    assert "took" not in repr(reference.versions())


def test_versions_of_another_target_and_of_types() -> None:
    text = "function sums(rows) = let ys = {sum(r) : r in rows} in ys;"
    program = nessie.compile(text, target="cudasim", tuning=nessie.Thresholds(
        f'machine "{machine()}"\nprogram "program" sums\nchoice sums.ys {{\n  sub8 n = 3\n  items\n}}\n'))
    assert program.sums.versions(type="[[int]]")["sums.ys"].versions["sub8"] == "#rows >= 3 and longest(rows) <= 64"
    assert program.sums.versions([[1, 2], [3], [], [4]])["sums.ys"].took == {"sub8": 1}
    assert program.sums.versions([[1, 2], [3]])["sums.ys"].took == {"items": 1}
    assert list(program.sums([[1, 2], [3], [], [4]])) == [3, 3, 0, 4]
    with pytest.raises(nessie.NessieError, match="none for the target cpu"):
        program.sums.versions(type="[[int]]", target="cpu")
    found = nessie.compile(text).sums.versions([[1]])
    assert len(found) == 0 and repr(found) == "sums has one version of all that it computes"


def test_what_runs_is_what_the_tuning_says(tmp_path: Path) -> None:
    path = tmp_path / "pick.tuning"
    path.write_text(f'machine "{machine()}"\nprogram "p" pick\nchoice pick.it {{\n  pulled share = 1000\n'
                    "  pulled few = 0\n  items\n}\n")
    tuned = nessie.compile(PICK, tuning=path)
    assert tuned.pick.versions(*FEW)["pick.it"].took == {"items": 1}
    assert tuned.pick.versions()["pick.it"].thresholds == {"pulled share": 1000, "pulled few": 0}
    assert "(share = 1000, few = 0)" in str(tuned.pick.explain())
    never = nessie.compile(PICK, tuning="none").pick.versions(*FEW)["pick.it"]
    assert never.versions == {"items": ""} and never.took == {"items": 1}


def test_tune_finds_thresholds_that_load_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock says that the version is quicker up to a share of 3, whatever the machine does."""
    sizes: list[tuple[int, int]] = []
    asked = []
    times = measure.times

    def by_share(target: Any, built: Any, arguments: Any) -> measure.Sample:
        found = times(target, built, arguments)
        n, m = sizes[-1]
        asked.append((n, m))
        seconds = {"pick.it": {"pulled": 3.0 * m, "items": float(n)}}
        return measure.Sample(found.tunables, {name: measure.Measured(seconds[name], of.conditions)
                                               for name, of in found.choices.items()})
    monkeypatch.setattr("nessie.api.tuning.times", by_share)
    monkeypatch.setattr(measure, "ROUNDS", 1)
    monkeypatch.setattr(measure, "ENOUGH", 0.0)

    def calls() -> Iterator[tuple[Any, Any]]:
        for n, m in ((20000, 16000), (20000, 14000), (20000, 4000), (60000, 18000), (60000, 22000), (60000, 50000)):
            sizes.append((n, m))
            yield np.linspace(0, 1, n), np.arange(m)
    program = nessie.compile(PICK, name="pick.nesl")
    found = program.pick.tune(calls())
    assert asked == sizes and [list(time["pick.it"]) for time in found.times] == [["pulled", "items"]] * 6
    tuning = parse(Source("x", found.text))
    assert (tuning.machine, tuning.program, tuning.entry) == (machine(), "pick.nesl", "pick")
    path = tmp_path / "pick.tuning"
    found.save(path)
    assert path.read_text() == found.text == repr(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for option in (found, path, str(path)):
            tuned = nessie.compile(PICK, tuning=option)
            took = [[*tuned.pick.versions(np.ones(n), np.arange(m))["pick.it"].took] for n, m in sizes]
            assert took == [["items"], ["items"], ["pulled"], ["pulled"], ["items"], ["items"]]


def test_tune_says_what_is_wrong() -> None:
    program = nessie.compile(f"{PICK}\nfunction twice(v) : [int] -> [int] = {{2 * x : x in v}};"
                             "\nfunction more(v, k := 1) = {k * x : x in v};")
    for calls, message in (([np.arange(3)], "a call is a tuple of arguments, not a"), ([], "there is no call of pick"),
                           ([(np.arange(3.0),)], "pick takes"), ([([1.0], [7])], "out of bounds"),
                           (3, "calls are in a list or come from a generator, and this is an int")):
        with pytest.raises(nessie.NessieError, match=message):
            program.pick.tune(calls)
    with pytest.raises(nessie.NessieError, match=r"twice has no versions[\s\S]*program.twice.versions"):
        program.twice.tune([([1],)])
    with pytest.raises(nessie.NessieError, match="times of more need all 2 parameters"):
        program.more.tune([([1],)])
    with pytest.raises(nessie.NessieError, match="the times of cudasim mean nothing: tune on cpu or cuda"):
        program.pick.tune([FEW], target="cudasim")
    with pytest.warns(UserWarning, match="several sizes, and here is one of pick") as told:
        program.pick.tune([FEW])
    assert [one.filename for one in told] == [__file__]
    for tuning in (3, ""):
        with pytest.raises(nessie.NessieError, match='tuning is the name of a file, "none" or what tune has found'):
            nessie.compile(PICK, tuning=tuning)  # type: ignore[arg-type]
    with pytest.raises(nessie.NessieError, match=r"x\.tuning"):
        nessie.compile(PICK, tuning=Path("x.tuning"))
    with pytest.raises(nessie.NessieError, match=r"there is no choice pick.at[\s\S]*tuning:3:8"):
        nessie.compile(PICK, tuning=nessie.Thresholds(
            f'machine "{machine()}"\nprogram "p" pick\nchoice pick.at {{\n  items\n}}\n')).pick(*FEW)


def test_mistakes_of_a_generator_of_calls_are_its_own() -> None:
    def calls() -> Iterator[tuple[Any, Any]]:
        yield FEW
        raise ValueError("no more data")
    with pytest.raises(ValueError, match="no more data"):
        nessie.compile(PICK).pick.tune(calls())


def test_doubts_about_thresholds_point_where_the_program_is_compiled() -> None:
    with pytest.warns(UserWarning, match="another machine") as told:
        nessie.compile(PICK, tuning=nessie.Thresholds('machine "another"\nprogram "p" pick\n'))
    assert [one.filename for one in told] == [__file__]
