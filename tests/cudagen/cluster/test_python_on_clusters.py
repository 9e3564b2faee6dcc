"""What Python's callers may ask for works on a cluster, too: its tasks are done in this process, none on the driver."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.activity import Activity
from nessie.cudagen.cluster import device
from nessie.cudagen.cluster.engine import Does, InProcess, Wait, by_name, quiet
from nessie.running.targets import Target

N = 100_000                     # some chunks
XS = np.random.default_rng(2).standard_normal(N)
PLACES = np.random.default_rng(3).integers(0, 50, N)
TEXT = """
function halves(xs) = {x * 0.5 : x in xs};
function sums(m) = {sum({0.5 * x : x in row}) : row in m};
function keys(is, xs) = {(k, sum(v)) : (k, v) in collect({(i, 0.5 * x) : i in is; x in xs})};
function means(xs) = {if i == 0 then xs[0] else 0.5 * (xs[i - 1] + xs[i]) : i in [0:#xs]};
function steps(n, x) = if n == 0 then x else steps(n - 1, 0.5 * x + 1.0);
function folds(is, xs) = {steps(i, x) : i in is; x in xs};
"""


class Watched(InProcess):
    """An engine that notes what is told while somebody waits."""

    def gather(self, waiting: Any, wait: Wait = quiet, does: Does = by_name) -> list[Any]:
        def noted(*told: Any) -> None:
            wait(*told)
            self.told.append(self.activity and str(self.activity))
        return super().gather(waiting, noted, does)

    told: list[Any]
    activity: Any = None


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Watched:
    made = Watched(3)
    made.told = []

    begin = Activity.begin

    def begun(activity: Activity, *arguments: Any, **named: Any) -> None:
        made.activity = activity
        begin(activity, *arguments, **named)

    monkeypatch.setattr(Activity, "begin", begun)
    monkeypatch.setattr(Target, "engine_of_cluster", lambda target: made)
    monkeypatch.setattr(device, "HERE", 0)
    monkeypatch.setattr(device, "FEW", 0)
    return made


def both(engine: Watched, name: str, *arguments: Any, text: str = TEXT, **options: Any) -> tuple[Any, Any]:
    found = [nessie.compile(text, target=target, **options)[name](*arguments) for target in ("cpu", "dask")]
    assert any(task.startswith("K") for task in engine.names)
    return found[0], found[1]


@pytest.mark.parametrize("option", [{"workers": 2}, {"cluster": "tcp://127.0.0.1:8786"}])
def test_options_of_clusters_want_the_target(option: Any) -> None:
    (name,) = option
    with pytest.raises(nessie.NessieError, match=f"{name} is an option of the target dask, and the target is cpu"):
        nessie.compile(TEXT, **option)
    assert nessie.compile(TEXT, target="dask", **option)._options.target == "dask"


def test_it_is_told_what_is_waited_for(engine: Watched) -> None:
    nessie.compile(TEXT, target="dask").halves(XS)
    assert any("result 4/4 slabs" in (told or "") for told in engine.told), engine.told
    text = "function fact(n) = if n < 2 then 1 else n * fact(n - 1); function two(xs) = fact(round(xs[1])) + fact(5);"
    assert nessie.compile(text, target="dask").two(np.array([1.0, 3.0])) == 126
    assert any(" on one worker" in (told or "") for told in engine.told), engine.told


def test_floats_of_32_bits(engine: Watched) -> None:
    cpu, cluster = both(engine, "halves", XS.astype(np.float32), float=32)
    assert (cpu.dtype, cpu.tobytes()) == (cluster.dtype, cluster.tobytes())


def test_rows_of_arrow_and_awkward(engine: Watched) -> None:
    rows = [XS[i:i + i % 7].tolist() for i in range(0, N, 10)]
    for module, made in (("pyarrow", "array"), ("awkward", "Array")):
        given = getattr(pytest.importorskip(module), made)(rows)
        cpu, cluster = both(engine, "sums", given)
        assert np.asarray(cpu).tobytes() == np.asarray(cluster).tobytes()


@pytest.mark.parametrize("name, arguments", [("means", (XS,)), ("folds", (PLACES, XS))])
def test_borders_and_folds(name: str, arguments: Any, engine: Watched) -> None:
    cpu, cluster = both(engine, name, *arguments)
    assert cpu.tobytes() == cluster.tobytes()


@pytest.mark.parametrize("count, took", [(100, "pulled"), (N, "items")])
def test_versions_are_taken_as_on_the_cpu(count: int, took: str, engine: Watched) -> None:
    """By sizes, and by a tuning file."""
    text = """function pick(xs, is) : ([float], [int]) -> [float] =
  let a = {0.5 * x + x * x : x in xs} in {a[i] : i in is};"""
    arguments = XS, PLACES[:count]
    for tuning, taken in ((None, took), ("none", "items")):
        found, expected = [nessie.compile(text, target=target, tuning=tuning) for target in ("dask", "cpu")]
        assert found.pick(*arguments).tobytes() == expected.pick(*arguments).tobytes()
        (took_there,), (took_here,) = [program.pick.versions(*arguments).values() for program in (found, expected)]
        assert took_there.took == took_here.took == {taken: 1}
    assert any(task.startswith("K") for task in engine.names)


def test_mappings_are_for_gpus(engine: Watched) -> None:
    """As on the CPU, a pragma rests, and an option is told to be for others."""
    text = """function sums(m) : [[float]] -> [float] =
  let a = {{0.5 * x : x in row} : row in m} % map a by Jing %; in {sum(row) : row in a};"""
    rows = nessie.Nested(np.arange(0, N + 1, 10), XS)
    for options in ({}, {"mappings": {"a": "JingExt"}}, {"levels": {"a": "grid,block"}}):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            cpu, cluster = both(engine, "sums", rows, text=text, **options)
        assert cpu.tobytes() == cluster.tobytes()
        assert [str(one.message).rpartition(" is for ")[2] for one in told] == [
            f"threads of a GPU, and this runs on {target}" for target in ("cpu", "dask") if options]


def test_sums_by_keys(engine: Watched) -> None:
    cpu, cluster = both(engine, "keys", PLACES, XS)
    assert [np.asarray(part).tobytes() for part in cpu] == [np.asarray(part).tobytes() for part in cluster]
