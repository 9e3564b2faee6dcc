"""Arrays that go to workers in files: what they read is what the driver has, or it is told."""
from __future__ import annotations

import os
import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import cpu_code
from executors import Compiled

from nessie.base.source import NessieError
from nessie.base.system.seen_files import Seen, look
from nessie.cudagen.cluster import workers
from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cluster.files.arrays import mapped_in
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.moving.tasks import heads, sorted_run
from nessie.cudagen.cluster.slabs import Slab, Spread
from nessie.cudagen.cluster.tasks import elements
from nessie.cudagen.cluster.tasks.elements import Given

XS = np.arange(100_000.0)


@pytest.mark.parametrize("part", [slice(None), slice(30_000, 60_000)])
def test_a_file_that_has_taken_anothers_place_is_not_read(part: slice, tmp_path: Path) -> None:
    """Though it has the same size and ends."""
    np.save(tmp_path / "xs.npy", XS)
    mapped = np.load(tmp_path / "xs.npy", mmap_mode="r")[part]
    found = mapped_in(mapped)
    assert found is not None and np.array_equal(found[""], XS[part])
    other = XS.copy()
    other[50_000] = 0.0
    np.save(tmp_path / "new.npy", other)
    os.replace(tmp_path / "new.npy", tmp_path / "xs.npy")
    assert mapped_in(mapped) is None
    assert mapped_in(np.load(tmp_path / "xs.npy", mmap_mode="r")[part]) is not None


def test_a_file_for_an_array_goes_with_the_last_task_that_needs_it() -> None:
    """Whoever has submitted the tasks, and whether that is still there."""
    engine = InProcess(scratch=look(__file__))
    (slab,) = Hands(engine).lying(XS, [(0, len(XS))])
    path = slab.task.place.path
    whole = Given("float", 0, len(XS), [(0, len(XS), 0, "", 0)])
    first = Hands(engine).submit("whole", elements.whole, whole, given=[slab.task])
    second = Hands(engine).submit("whole", elements.whole, whole, given=[first])
    del slab, first
    assert os.path.exists(path)
    assert np.array_equal(engine.gather([second])[0][""], XS)
    del second
    assert not os.path.exists(path)


WHOLE = Given("float", 0, len(XS), [(0, len(XS), 0, "", 0)])


@pytest.mark.parametrize("function, arguments", [
    (elements.whole, (WHOLE,)), (elements.picked, (WHOLE, None)), (elements.picked, (WHOLE, np.array([3]))),
    (elements.cast, (WHOLE, "int")), (sorted_run, (WHOLE, "", False)), (heads, (WHOLE, 2))])
@pytest.mark.parametrize("function_changes", [False, True])
def test_what_a_task_reads_is_of_one_file(function: Callable[..., Any], arguments: tuple[Any, ...],
                                          function_changes: bool, tmp_path: Path) -> None:
    """A file that is written to while a task reads it is told; what it gives stays when it is written to later."""
    file = np.lib.format.open_memmap(tmp_path / "xs.npy", "w+", np.float64, XS.shape)
    file[:] = XS

    def change() -> None:
        file[:] = -1.0
        file.flush()
        os.utime(tmp_path / "xs.npy", ns=(1, 1))

    def changing(*arguments: Any) -> Any:
        found = function(*arguments)
        change()
        return found

    array = mapped_in(np.load(tmp_path / "xs.npy", mmap_mode="r"))
    engine = InProcess()
    if function_changes:
        with pytest.raises(NessieError, match=r"xs\.npy is not what it was when it was opened: it has changed"):
            engine.gather([engine.submit("task", changing, *arguments, given=[array])])
        return
    found = engine.submit("task", function, *arguments, given=[array]).value
    before = pickle.dumps(found)
    change()
    assert pickle.dumps(found) == before


def test_a_part_that_is_read_of_a_file_is_of_one_file(tmp_path: Path) -> None:
    np.save(tmp_path / "xs.npy", XS)
    array = mapped_in(np.load(tmp_path / "xs.npy", mmap_mode="r"))

    def changing(*arguments: Any) -> Any:
        found = elements.from_file(*arguments)
        np.save(tmp_path / "xs.npy", -XS)
        return found

    engine = InProcess()
    read = engine.submit("read", changing, array, 0, 10)
    with pytest.raises(NessieError, match=r"xs\.npy is not what it was"):
        engine.gather([engine.submit("sum", sum, given=[read])])


def test_a_disk_without_room_for_an_array_is_told() -> None:
    """Files may not grow beyond a limit: the system's own error, after some of the elements."""
    hands, before = Hands(InProcess(scratch=look(__file__))), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(NessieError, match="an array of 800000 bytes cannot be written for workers: File too large"):
            hands.lying(XS, [(0, len(XS))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("scratch", [None, look(__file__)])
def test_elements_that_nobody_has_written_are_the_fill(scratch: Seen | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an array comes to the driver by itself or in a file."""
    monkeypatch.setattr(workers, "LARGE", 10)
    program = Compiled("function main(xs) = {x + 1.0 : x in xs};")
    cluster = Cluster(cpu_code(program.executable("ilp")), InProcess(3, scratch=scratch), quick=True)
    task = cluster.workers.submit("read", elements.values, XS[1:11])
    slabs = [Slab(low, low + 10, task) for low in (10, 30, 40)]
    expected = np.full(60, 7.0)
    for slab in slabs:
        expected[slab.low:slab.high] = XS[1:11]
    spread = Spread("float", 60, slabs, fill=7.0)
    assert np.array_equal(cluster.workers.download(spread), expected)
    assert np.array_equal(cluster.workers.elements(spread, np.array([45, 3, 12, 3])), expected[[45, 3, 12, 3]])


def test_a_file_that_changes_while_the_driver_reads_it_is_told(tmp_path: Path) -> None:
    """Elements that lie in a file are read by who needs them."""
    np.save(tmp_path / "xs.npy", XS)
    engine = InProcess()
    hands = Hands(engine)
    array = hands.in_file(np.load(tmp_path / "xs.npy", mmap_mode="r"))
    assert array is not None and np.array_equal(hands.fetched(array, 10, 20), XS[10:20])
    assert np.array_equal(hands.elements(array, np.array([7, 3, 7])), XS[[7, 3, 7]])
    assert not engine.names
    np.save(tmp_path / "xs.npy", -XS)
    with pytest.raises(NessieError, match=r"xs\.npy is not what it was"):
        hands.fetched(array, 10, 20)
