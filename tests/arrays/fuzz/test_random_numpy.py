"""Random programs of NumPy's operations give what NumPy gives: axes, products, shapes of any length, narrow arrays."""
from __future__ import annotations

import numpy as np
import pytest
from amounts import PROFILE
from random_numpy import program

import nessie
from nessie.arrays.array import Array

COUNT = {"quick": 20, "ci": 60}.get(PROFILE, 4000)


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_program_gives_what_numpy_gives(seed: int) -> None:
    found = program(seed)
    asked = [pair for pair in found.made if isinstance(pair[0], Array)][-found.rng.randint(1, 3):]
    nessie.evaluate(*[made for made, _ in asked], target="reference" if seed % 10 == 3 else "cpu")
    for made, expected in asked:
        array = np.asarray(made.to_numpy())
        kind = array.dtype.kind.replace("u", "i")           # a leaf has its own
        assert array.shape == expected.shape and kind == expected.dtype.kind, found.told
        assert np.allclose(array, expected, rtol=1e-9, atol=1e-12), found.told
