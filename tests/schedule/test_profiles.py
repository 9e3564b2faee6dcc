"""Profiles of devices: their text, and what is no profile."""
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nessie.base.source import IllFormed
from nessie.schedule.cost.profiles import CPU, H200, check, parse, show


@pytest.mark.parametrize("profile", [CPU, H200])
def test_text_comes_back(profile: object) -> None:
    assert isinstance(profile, type(CPU)) and parse(show(profile)) == profile


@pytest.mark.parametrize("text, wrong", [
    ("{", "no JSON"), ("[]", "a profile has the fields"), ('{"name": "x"}', "a profile has the fields"),
    (show(CPU).replace("20.7", '"fast"'), "bandwidth is 'fast'"),
    (show(CPU).replace("20.7", "true"), "bandwidth is True"),
    (show(CPU).replace("20.7", "0"), "bandwidth is 0"), (show(CPU).replace("20.7", "-1"), "bandwidth is -1"),
    (show(CPU).replace("20.7", "NaN"), "bandwidth is nan"), (show(CPU).replace("64", "0"), "arrays is 0"),
    (show(CPU).replace("64", "2.5"), "arrays is 2.5"), ("[" * 100_000, "no JSON"),
])
def test_what_is_no_profile(text: str, wrong: str) -> None:
    with pytest.raises(IllFormed, match=wrong):
        parse(text)


def test_checks_hold_for_values_too() -> None:
    with pytest.raises(IllFormed, match="launch is 0"):
        check(replace(CPU, launch=0.0))


def test_times_are_proportional_to_bytes() -> None:
    assert CPU.streaming(2 * 20.7e9) == pytest.approx(2e9)
    assert json.loads(show(H200))["bandwidth"] > 100 * CPU.bandwidth
