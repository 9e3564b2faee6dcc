"""Arrays that go to workers in files: what they read is what the driver has, or it is told."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from nessie.cudagen.cluster.files.arrays import mapped_in

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
