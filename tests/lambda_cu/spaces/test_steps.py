"""Step polynomials and their closed sums: random lengths equal what they are computed from, and starts equal loops."""
from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
from index_arithmetic import evaluated, wrapped

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces import steps
from nessie.lambda_cu.spaces.closed import INTS, about
from nessie.lambda_cu.spaces.polynomials import binomials, name, number, value
from nessie.lambda_cu.spaces.segments import length_at, start_at
from nessie.lambda_cu.spaces.steps import INDEX, NoForm, Place, Steps, lift

Env = Mapping[str, int]
Length = tuple[Callable[[], Steps], Callable[[int, Env], int]]
HOST = ("n", "b", "k")
SEGMENTS = 20


def holds(place: Place, i: int, env: Env) -> bool:
    return place.slope * i + value(place.offset, env) >= 0


def at(form: Steps, i: int, env: Env) -> int:
    """What the form is at i, by the definition."""
    total = 0
    for kind, exp in form.items():
        if all(holds(place, i, env) for place in kind.places):
            factor = 2 ** i if kind.doubling else 1
            if kind.quotient is not None:
                factor = (kind.quotient.slope * i + value(kind.quotient.offset, env)) // kind.quotient.divisor
            total += value(exp, {**env, INDEX: i}) * factor
    return total


def terms(form: Steps, env: Env) -> tuple[ir.Term, ...]:
    """The terms with the host's names evaluated, the places found by trying."""
    found: list[ir.Term] = []
    for kind, exp in form.items():
        first = next((i for i in range(SEGMENTS) if all(holds(p, i, env) for p in kind.places)), SEGMENTS)
        coefficients = tuple([value(c, env) for c in binomials(exp, INDEX)])
        if (quotient := kind.quotient) is None:
            found.append(ir.Binomial(first, coefficients, kind.doubling))
            continue
        if len(coefficients) > 1 or quotient.slope > 1:
            raise NoForm("a quotient has a slope or a factor of its own")
        whole, rest = divmod(value(quotient.offset, env), quotient.divisor)
        found.append(ir.Binomial(first, (coefficients[0] * whole,)))
        if quotient.slope:
            found.append(ir.Floor(first, coefficients[0], rest, quotient.divisor))
    return tuple(found)


def length(rng: random.Random, depth: int) -> Length:
    """A random length: how its form is made, and what it is."""
    if depth == 0 or rng.random() < 0.15:
        chosen = rng.choice(["i", "i", "i", "n", "b", "k", "c"])
        if chosen == "i":
            return lambda: lift(name(INDEX)), lambda i, env: i
        if chosen == "c":
            constant = rng.randrange(-3, 6)
            return lambda: lift(number(constant)), lambda i, env: constant
        return lambda: lift(name(chosen)), lambda i, env: env[chosen]
    (f, of_f), (g, of_g) = length(rng, depth - 1), length(rng, depth - 1)
    by = rng.randrange(2, 6)
    (u, of_u), (v, of_v) = length(rng, 1 if depth > 1 else 0), length(rng, 0)
    ways: list[Length] = [
        (lambda: steps.plus(f(), g()), lambda i, env: of_f(i, env) + of_g(i, env)),
        (lambda: steps.minus(f(), g()), lambda i, env: of_f(i, env) - of_g(i, env)),
        (lambda: steps.times(lift(number(by)), f()), lambda i, env: by * of_f(i, env)),
        (lambda: steps.least(f(), g()), lambda i, env: min(of_f(i, env), of_g(i, env))),
        (lambda: steps.greatest(f(), g()), lambda i, env: max(of_f(i, env), of_g(i, env))),
        (lambda: steps.times(f(), g()), lambda i, env: of_f(i, env) * of_g(i, env)),
        (lambda: steps.quotient(f(), by), lambda i, env: of_f(i, env) // by),
        (lambda: steps.minus(f(), steps.times(lift(number(by)), steps.quotient(f(), by))),
         lambda i, env: of_f(i, env) % by),
        (lambda: steps.choose(steps.not_negative(steps.minus(v(), u())), f(), g()),
         lambda i, env: of_f(i, env) if of_u(i, env) <= of_v(i, env) else of_g(i, env)),
        (lambda: steps.doubled(steps.plus(lift(name(INDEX)), lift(number(by)))), lambda i, env: 2 ** (i + by)),
    ]
    return rng.choice(ways if depth > 1 else ways[:5])


@pytest.mark.sampled(quick=5, ci=2)
@pytest.mark.parametrize("seed", range(10))
def test_starts_equal_loops(seed: int) -> None:
    """Of 1000 random lengths at least 900 have a form; each is what it is made of, and starts are sums."""
    rng, closed = random.Random(seed), 0
    for _ in range(1000):
        make, of = length(rng, rng.choice([1, 2, 2, 3]))
        try:
            form = make()
            for _ in range(2):
                env = {named: rng.randrange(-4, 14) for named in HOST}
                compare(ir.Closed(SEGMENTS, terms(form, env) or (ir.Binomial(0, (0,)),), 0), form, env, of)
        except NoForm:
            continue
        closed += 1
    assert closed >= 900


def compare(space: ir.Closed, form: Steps, env: Env, of: Callable[[int, Env], int]) -> None:
    segment, start = ir.Var("s"), 0
    starts, lengths = start_at(space, segment), length_at(space, segment)
    for i in range(SEGMENTS):
        expected = of(i, env)
        assert at(form, i, env) == expected
        assert evaluated(lengths, {"s": i}) == expected
        assert evaluated(starts, {"s": i}) == start
        start += expected
    assert evaluated(starts, {"s": SEGMENTS}) == start
    assert abs(evaluated(about(space), {}) - start) <= 1e-9 * abs(start) + 1e-3


@pytest.mark.parametrize("k", range(7))
def test_binomials_are_exact_modulo_words(k: int) -> None:
    rng = random.Random(k)
    for x in [*range(40), *[rng.randrange(2 ** rng.randrange(6, 60)) for _ in range(200)]]:
        exact = 1
        for j in range(k):
            exact = exact * (x - j) // (j + 1)
        assert evaluated(INTS.binomial(ir.Var("x"), k), {"x": x}) == wrapped(exact)
        assert evaluated(INTS.binomial(ir.Const(x, "int"), k), {}) == wrapped(exact)


def test_starts_up_to_the_greatest_size() -> None:
    """Parts of a start may leave the ints where the start does not: 2^48 elements in bands of many segments."""
    rng = random.Random(1)
    for _ in range(300):
        width = rng.randrange(1, 2 ** rng.randrange(1, 12))
        segments = 2 ** 48 // (2 * width + 1) - rng.randrange(3)
        form = steps.minus(steps.least(lift(name("n")), lift(steps.add(name(INDEX), number(width + 1)))),
                           steps.greatest({}, lift(steps.subtract(name(INDEX), number(width)))))
        env = {"n": segments}
        firsts = {place: max(0, -(value(place.offset, env) // place.slope)) for kind in form for place in kind.places}
        found = tuple([ir.Binomial(max([firsts[place] for place in kind.places], default=0),
                                tuple([value(c, env) for c in binomials(exp, INDEX)])) for kind, exp in form.items()])
        s = rng.choice([segments, segments - 1, rng.randrange(segments)])
        low, high = min(s, width), max(0, s - (segments - width - 1))
        exact = s * (2 * width + 1) - sum(range(width - low + 1, width + 1)) - sum(range(1, high))
        space = ir.Closed(segments, found, 0)
        assert evaluated(start_at(space, ir.Var("s")), {"s": s}) == exact
        assert abs(evaluated(about(space), {}) - segments * (2 * width + 1)) < 2 ** 61
