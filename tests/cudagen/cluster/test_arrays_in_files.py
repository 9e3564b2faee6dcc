"""Arrays that go to workers in files: what they read is what the driver has, or it is told."""
from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nessie.base.source import NessieError
from nessie.base.system.seen_files import look
from nessie.cudagen.cluster import tasks
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cluster.files.arrays import mapped_in
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.moving.tasks import heads, sorted_run
from nessie.cudagen.cluster.tasks import Given

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
    first = Hands(engine).submit("whole", tasks.whole, whole, given=[slab.task])
    second = Hands(engine).submit("whole", tasks.whole, whole, given=[first])
    del slab, first
    assert os.path.exists(path)
    assert np.array_equal(engine.gather([second])[0][""], XS)
    del second
    assert not os.path.exists(path)


WHOLE = Given("float", 0, len(XS), [(0, len(XS), 0, "", 0)])


@pytest.mark.parametrize("function, arguments", [
    (tasks.whole, (WHOLE,)), (tasks.picked, (WHOLE, None)), (tasks.picked, (WHOLE, np.array([3]))),
    (tasks.cast, (WHOLE, "int")), (sorted_run, (WHOLE, "", False)), (heads, (WHOLE, 2))])
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
            engine.submit("task", changing, *arguments, given=[array])
        return
    found = engine.submit("task", function, *arguments, given=[array]).value
    before = pickle.dumps(found)
    change()
    assert pickle.dumps(found) == before


def test_a_part_that_is_read_of_a_file_is_of_one_file(tmp_path: Path) -> None:
    np.save(tmp_path / "xs.npy", XS)
    array = mapped_in(np.load(tmp_path / "xs.npy", mmap_mode="r"))

    def changing(*arguments: Any) -> Any:
        found = tasks.from_file(*arguments)
        np.save(tmp_path / "xs.npy", -XS)
        return found

    with pytest.raises(NessieError, match=r"xs\.npy is not what it was"):
        InProcess().submit("read", changing, array, 0, 10)
