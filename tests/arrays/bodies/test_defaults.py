"""Defaults of parameters in host sections, functions among them; what reductions give of no elements."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nessie

A = nessie.array([1, 2, 3])


def two_more(x):
    return x + 2


@nessie.host_section
def of_a_lambda(a, f=lambda x: x * 10):
    return a.map(f)


@nessie.host_section
def of_a_function(a, k=4, f=two_more):
    return a.map(lambda x: f(x) * k)


@nessie.host_section
def before_a_number(a, f=two_more, k=4):
    return a.map(f) * k


@nessie.host_section
def by_name(a, *, k=4):
    return a * k


def inner(a, f=two_more):
    return a.map(f)


@nessie.host_section
def of_a_call(a):
    return inner(a)


def test_defaults_may_be_functions() -> None:
    assert of_a_lambda(A).tolist() == [10, 20, 30]
    assert of_a_function(A).tolist() == [12, 16, 20]
    assert of_a_function(A, 1).tolist() == of_a_function(A, k=1).tolist() == [3, 4, 5]
    assert by_name(A).tolist() == [4, 8, 12]


@pytest.mark.parametrize(("call", "says"), [
    (lambda: before_a_number(A), "a section takes arrays and numbers, and f is a function"),
    (lambda: of_a_lambda(A, two_more), "a section takes arrays and numbers, and f is a function"),
    (lambda: by_name(A, k=5), "arguments are given in order here, and k is given by name only"),
    (lambda: of_a_call(A), "f has no constant as its default, and a body takes no other over")])
def test_what_they_cannot_be(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(nessie.NessieError, match=says):
        call()


def test_rows_of_any_lengths_lie_in_the_computers_memory() -> None:
    assert nessie.nest([[1], []], device="cpu").device == "cpu"
    for device, says in (("cudasim", "rows of any lengths lie in the computer's memory, and not on cudasim"),
                         ("gpu", "there is no device 'gpu'")):
        with pytest.raises(nessie.NessieError, match=says):
            nessie.nest([[1], []], device=device)


@pytest.mark.parametrize("call", [
    lambda: nessie.array(np.empty(0)).mean(), lambda: nessie.array(np.empty((0, 3))).mean(axis=0),
    lambda: A.select(lambda x: x > 9).mean().item(), lambda: nessie.nest([[1], []]).map(lambda r: r.mean()).evaluate(),
    lambda: nessie.host_section(lambda a: a.mean())(np.empty(0))])
def test_there_is_no_mean_of_no_elements(call: Callable[[], Any]) -> None:
    with pytest.raises(nessie.NessieError, match=r"(?i)there is no mean of no elements"):
        call()
