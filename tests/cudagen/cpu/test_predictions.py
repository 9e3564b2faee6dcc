"""The linear model of benchmarks/predictions.py: its prices, and what several runs have measured."""
from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from paths import BENCHMARKS

sys.path.append(str(BENCHMARKS))
predictions = import_module("predictions")


def kernel(workload: str, rounds: list[float], **features: float) -> Any:
    return predictions.Kernel(workload, False, "K1", rounds, {name: features.get(name, 0.0)
                                                              for name in predictions.FEATURES})


def test_prices_are_found_whatever_some_kernels_say() -> None:
    random = np.random.default_rng(1)
    prices = {"launches": 1e-5, "scalar": 1e-10, "free_l3": 2e-9}
    kernels = []
    for number in range(60):
        features = {"launches": 1, "scalar": random.integers(0, 10**8), "free_l3": random.integers(0, 10**7)}
        seconds = sum(price * features[name] for name, price in prices.items())
        kernels.append(kernel(f"w{number}", [seconds * (5 if number % 10 == 0 else 1)], **features))
    found = predictions.fitted(kernels)
    for one in kernels[1:10]:
        assert predictions.predicted(one, found) == pytest.approx(one.seconds, rel=0.15)


def test_the_quickest_of_all_rounds_counts() -> None:
    before, now = [kernel("a", [3.0, 2.0], scalar=1), kernel("b", [1.0])], [kernel("a", [4.0, 2.5], scalar=2)]
    first, second = predictions.joined(before, now)
    assert first.rounds == [3.0, 2.0, 4.0, 2.5] and first.seconds == 2.0 and first.features["scalar"] == 2
    assert second is before[1]


def test_no_kernel_is_predicted_by_its_own_prices() -> None:
    """A workload that alone has a feature is predicted without a price for it."""
    kernels = [kernel(name, [1e-3], scalar=1e6) for name in "abc"] + [kernel("d", [2e-3], scalar=1e6, atomics=1e3)]
    text = "\n".join(predictions.report(kernels, 1))
    (ratio,) = (float(line.split()[-1]) for line in text.splitlines() if line.startswith("d "))
    assert ratio == pytest.approx(0.5, abs=0.03)
    assert "predicted, within 1.5 x: 3 of 4 kernels, 75 %" in text
