"""Random expressions give what NumPy gives, computed one by one or in one pass, on each executor, and on a device."""
from __future__ import annotations

import numpy as np
import pytest
from amounts import PROFILE
from random_expressions import expression

import nessie

COUNT = {"quick": 25, "ci": 100}.get(PROFILE, 10_000)


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_expression_gives_what_numpy_gives(seed: int) -> None:
    made, expected = expression(seed, "cudasim" if seed % 50 == 12 else "cpu")
    target = "cudasim" if seed % 25 == 12 else "reference" if seed % 10 == 3 else "cpu"
    nessie.evaluate(*made, target=target)
    for array, value in zip(made, expected, strict=True):
        found = np.asarray(array.to_numpy())
        assert found.shape == value.shape and found.dtype == value.dtype, (found, value)
        assert np.allclose(found, value, rtol=1e-9, atol=1e-12)
