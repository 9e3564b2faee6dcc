"""Functions of numbers at their edges: between arrays they give what NumPy gives, in bodies what Python gives."""
from __future__ import annotations

import ast
import itertools
import math
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.arrays.bodies.expressions.numbers import folded

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.3, -0.3, 1.5, -1.5, 2.5, -2.5, 2.0, -3.0, 10.0, 27.0, 1000.0, 1e15 + 0.5,
          1e19, -1e19, 1e200, -1e200, 1e308, 5e-324, 1e-200, math.inf, -math.inf, math.nan]
INTS = [0, 1, -1, 2, -3, 7, 10, -10, 2**62, -2**63, 2**63 - 1]
OF_ONE = ["sqrt", "cbrt", "exp", "log", "log2", "log10", "exp2", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
          "sinh", "cosh", "tanh", "isnan", "isinf", "isfinite", "floor", "ceil", "trunc", "rint", "sign", "signbit",
          "negative", "absolute", "fabs", "square", "deg2rad", "degrees"]
OF_TWO = ["divide", "hypot", "arctan2", "copysign", "fmod", "remainder", "floor_divide", "float_power", "power", "add"]


def same(found: Any, expected: Any) -> bool:
    """Equal but for the last bit; zeros with their signs."""
    if found.dtype != expected.dtype or found.dtype.kind != "f":
        return bool(found.dtype == expected.dtype and np.array_equal(found, expected))
    numbers = ~np.isnan(expected)
    return np.allclose(found, expected, rtol=4e-16, atol=0, equal_nan=True) and \
        np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("function", OF_ONE)
def test_functions_of_one(function: str, target: str) -> None:
    f, ints = getattr(np, function), np.array([x for x in INTS if function != "fabs" or x != -2**63])
    with np.errstate(all="ignore"):
        assert same(f(nessie.array(FLOATS)).evaluate(target).to_numpy(), f(np.array(FLOATS)))
        if function != "signbit" and (function not in ("floor", "ceil", "trunc") or f(ints).dtype == np.int64):
            assert same(f(nessie.array(ints)).evaluate(target).to_numpy(), f(ints))


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("function", OF_TWO)
def test_functions_of_two(function: str, target: str) -> None:
    f = getattr(np, function)
    x, y = np.array(list(itertools.product(FLOATS, FLOATS))).T.copy()
    pairs = [(a, b) for a, b in itertools.product(INTS, INTS) if
             (b != 0 if function in ("fmod", "remainder", "floor_divide") else 0 <= b < 100 or function != "power")]
    a, b = np.array(pairs).T.copy()
    with np.errstate(all="ignore"):
        assert same(f(nessie.array(x), nessie.array(y)).evaluate(target).to_numpy(), f(x, y))
        assert same(f(nessie.array(a), nessie.array(b)).evaluate(target).to_numpy(), f(a, b))


def rests(x: float, y: float) -> tuple[float, float, float]:
    return x % y, x // y, -x


def test_remainders_in_bodies_are_pythons() -> None:
    pairs = [(x, y) for x, y in itertools.product(FLOATS, FLOATS) if y != 0]
    x, y = np.array(pairs).T.copy()
    found = nessie.array(x).combine(y, rests).to_numpy()
    expected = np.array([rests(*pair) for pair in pairs])
    assert all([same(found[f"f{k}"], expected[:, k].copy()) for k in range(3)])
    for divided in (lambda x: x % 0.0, lambda x: x // 0.0):
        with pytest.raises(nessie.NessieError, match="by zero"):
            nessie.array([1.0]).map(divided).evaluate()


OF_MATH = {
    "exp": lambda x: math.exp(x), "log": lambda x: math.log(x), "log2": lambda x: math.log2(x),
    "log by 3": lambda x: math.log(x, 3), "log by any base": lambda x: math.log(7.5, x),
    "log10": lambda x: math.log10(x), "asin": lambda x: math.asin(x), "acos": lambda x: math.acos(x),
    "cosh": lambda x: math.cosh(x), "sqrt": lambda x: math.sqrt(x), "floor": lambda x: math.floor(x),
    "ceil": lambda x: math.ceil(x), "trunc": lambda x: math.trunc(x), "round": lambda x: round(x),
    "power": lambda x: x ** -1.5, "fmod": lambda x: math.fmod(7.5, x),
    "atan2": lambda x: math.atan2(x, -2.0), "copysign": lambda x: math.copysign(2.0, x)}


def pythons(function: Any, x: float) -> Any:
    """None where Python has an error, a complex number, or an int that has more than 64 bits."""
    try:
        found = function(x)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return None if isinstance(found, complex) or (isinstance(found, int) and not -2**63 <= found < 2**63) else found


@pytest.mark.parametrize("name", OF_MATH)
def test_functions_of_math_fail_where_they_do_in_python(name: str) -> None:
    function = OF_MATH[name]
    for x in FLOATS:
        expected, a = pythons(function, x), nessie.array([x]).map(function)
        if expected is None:
            with pytest.raises(nessie.NessieError) as failed:
                a.evaluate()
            assert failed.value.span is not None
        else:
            assert math.isclose(a.tolist()[0], expected, rel_tol=4e-16) or expected != expected


def test_equal_and_close_arrays() -> None:
    a, b = nessie.array([[1.0, 2.0]]), np.array([[1.0, 2.0 + 1e-9]])
    assert np.array_equal(a, a.to_numpy()) is True and np.array_equal(a, b) is False
    assert np.array_equal(a, [1.0, 2.0]) is False and np.array_equal([1, 2], nessie.array([1, 2])) is True
    positive = nessie.array([1, -1, 2]).select(lambda x: x > 0)
    assert np.array_equal(positive, [1, 2]) and not np.array_equal(positive, [1, 2, 3])
    assert not np.array_equal(nessie.array([math.nan]), [math.nan])
    x = np.array(FLOATS)
    for y in (x, x * (1 + 1e-6), x[::-1].copy(), x + 1e-9):
        with np.errstate(all="ignore"):
            assert np.array_equal(np.isclose(nessie.array(x), y).to_numpy(), np.isclose(x, y))
    assert np.allclose(a, b) is True and np.allclose(a, b, rtol=0, atol=1e-12) is False


LITERALS = ["10**15", "-7 // 2 % 4", "(5 ^ 3) + (~2 << 3) - (77 >> 2 & 9 | 4)", "-2**63", "(-2)**63",
            "2**62 + (2**62 - 1)", "2**63 * 2 - 1 >> 1", "+3 * -4", "0**0", "1 - -2**63 // 2"]


@pytest.mark.parametrize("text", LITERALS)
def test_arithmetic_of_literal_ints_is_done_by_python(text: str) -> None:
    assert folded(ast.parse(text, mode="eval").body) == eval(text)


@nessie.host_section
def with_powers(a, rounds):
    for _ in range(rounds):
        if a.sum() < 10**15:
            a = a.map(lambda x: x + 10**15 // 3 - (1 << 40) % 7)
    return a, -2**62 + 5 * 3


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_powers_of_literals_in_bodies_and_sections(target: str) -> None:
    a, found = with_powers([1], 3, target=target)
    assert a.tolist() == [1 + 3 * (10**15 // 3 - (1 << 40) % 7)] and found == 15 - 2**62


@pytest.mark.parametrize("text", ["2**-1", "1 // 0", "1 % 0", "1 << -1", "3 / 2", "2.0 + 1", "True + 1", "x + 1",
                                  "1 @ 2", "not 1", "-x"])
def test_arithmetic_that_is_left_to_the_run(text: str) -> None:
    assert folded(ast.parse(text, mode="eval").body) is None


@pytest.mark.parametrize("text", ["2**64", "2**63", "2**62 * 2", "-2**63 - 1", "1 << 64", "10**10**10", "-3 << 2**70",
                                  "9**63 - 9**63"])
def test_literal_ints_beyond_64_bits_are_refused(text: str) -> None:
    with pytest.raises(OverflowError):
        folded(ast.parse(text, mode="eval").body)
