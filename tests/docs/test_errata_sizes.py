"""docs/errata.md on position-dependent arrays: printed sums, sizes and listings against counting one by one, and what
Nessie has instead."""
from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable

from executors import Failed
from index_arithmetic import evaluated
from printed import everywhere, kernel, values

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.segments import start_at

SIZES = range(7)
UP_TO: dict[str, Callable[[int], range]] = {"inclusive": lambda n: range(n + 1), "half-open": range}


def readings(term: Callable[[int], int], printed: Callable[[int], int]) -> set[str]:
    """How the bound of the sum must be read for the printed closed form to be the sum."""
    return {name for name, up_to in UP_TO.items() if all(sum(map(term, up_to(n))) == printed(n) for n in SIZES)}


def closed(n: int, *terms: ir.Term) -> int:
    """Nessie's closed form of the elements in n segments whose lengths are these terms."""
    return int(evaluated(start_at(ir.Closed("n", terms, "t"), ir.Var("n")), {"n": n}))


def binomial(*coefficients: int) -> ir.Binomial:
    return ir.Binomial(0, coefficients)


# Rules for sums (section 5.3) ---------------------------------------------------------------------


def test_sum_of_a_constant() -> None:
    assert readings(lambda _: 3, lambda n: n * 3 + 1) == set()
    assert readings(lambda _: 3, lambda n: closed(n, binomial(3))) == {"half-open"}


def test_sum_of_indices() -> None:
    def printed(n: int) -> int:
        return n * (n - 1) // 2

    rows = [rid + sum(range(rid)) for rid in SIZES]
    assert readings(lambda i: i, printed) == {"half-open"} != readings(lambda i: 2 ** i, lambda n: 2 ** (n + 1) - 1)
    assert [rid + printed(rid - 1) for rid in SIZES] != rows                  # the example: i = 0 .. rid - 1 inclusive
    assert [closed(rid, binomial(1, 1)) for rid in SIZES] == rows


def test_sum_of_powers() -> None:
    assert readings(lambda i: 2 ** i, lambda n: 2 ** (n + 1) - 1) == {"inclusive"}
    assert readings(lambda i: 2 ** i, lambda n: closed(n, ir.Binomial(0, (1,), True))) == {"half-open"}


def test_sum_from_a() -> None:
    def printed(up_to: Callable[[int], range], a: int, b: int) -> int:
        return sum(i * 5 + 1 for i in up_to(b)) - sum(i * 5 + 1 for i in up_to(a))

    assert printed(UP_TO["inclusive"], 2, 5) != sum(i * 5 + 1 for i in range(2, 6))
    assert printed(UP_TO["half-open"], 2, 5) == sum(i * 5 + 1 for i in range(2, 5))
    assert closed(5, binomial(1, 5)) - closed(2, binomial(1, 5)) == printed(range, 2, 5)


def test_sum_with_a_first_case() -> None:
    def length(i: int, first: int) -> int:
        return 7 if i == first else i

    def peeled(c: int, n: int, there: Callable[[int, int], bool]) -> int:
        return (7 if there(c, n) else 0) + sum(range(c + 1, n + 1))

    bounds = [(c, n) for c in SIZES for n in SIZES]
    one_by_one = [sum(length(i, c) for i in range(c, n + 1)) for c, n in bounds]
    assert [peeled(c, n, operator.ge) for c, n in bounds] != one_by_one
    assert [peeled(c, n, operator.le) for c, n in bounds] == one_by_one
    terms = {c: (binomial(0, 1), ir.Binomial(c, (7 - c,)), ir.Binomial(c + 1, (c - 7,))) for c in SIZES}
    assert [closed(n + 1, *terms[c]) - closed(c, *terms[c]) for c, n in bounds if c <= n] == [
        length for length, (c, n) in zip(one_by_one, bounds, strict=True) if c <= n]
    program = "function main(n) = #flatten({dist(0, if i == 2 then 7 else i) : i in [2:n]});"
    assert everywhere(program, 6) == peeled(2, 5, operator.le)


# Types and views ----------------------------------------------------------------------------------


def test_type_of_zip() -> None:
    def free(type_: str, *bound: str) -> set[str]:
        """The variables of `[i . element]_size` types that nothing binds."""
        found = set()
        for index, element, size in re.findall(r"\[(\w) \. ([^\]]*)\]_(\w)", type_):
            found |= {size, *re.findall(r"\b[a-z]\b", element)} - {index, *bound, "f", "g"}
        return found

    assert free("[i . f i]_N -> [j . g i]_n -> [k . f k * g k]_n", "n") == {"N", "i"}
    assert free("[i . f i]_n -> [j . g j]_n -> [k . f k * g k]_n", "n") == set()
    program = "function main(xs, ys) : ([int], [int]) -> [int] = {x * y : x in xs; y in ys};"
    assert isinstance(everywhere(program, [1, 2, 3], [4, 5]), Failed)
    assert everywhere(program, [1, 2], [4, 5]) == [4, 10]


def test_array_to_partition() -> None:
    program = "function main(xs) : [int] -> [[int]] = partition(xs, {i + 1 : i in [0:3]});"
    printed = [0, 1, 2, 3, 4, 5, 6]
    assert len(printed) != sum(i + 1 for i in range(3))
    assert isinstance(everywhere(program, printed), Failed)
    assert everywhere(program, printed[:6]) == [[0], [1, 2], [3, 4, 5]]


def test_place_in_a_partition() -> None:
    def lengths(i: int) -> int:
        return i + 1

    there = [sum(map(lengths, range(i))) + j for i in range(4) for j in range(lengths(i))]
    assert there == list(range(10))
    assert [sum(lengths(i) for _ in range(i)) + j for i in range(4) for j in range(lengths(i))] != there
    assert [sum(map(lengths, range(i - 1))) + j for i in range(4) for j in range(lengths(i))] != there
    nessie = kernel("let a = SEG_MAP { (s, j, i) => i - j } closed(n, (1, 1), t)", "a", "n : int, t : int")
    assert values(nessie, 4, 10) == [[at - j for at, j in zip(there, [0, 0, 1, 0, 1, 2, 0, 1, 2, 3], strict=True)]]


# Stencils -----------------------------------------------------------------------------------------


def test_partition_of_windows() -> None:
    def program(step: int) -> str:
        return f"""function main(n) =
          let windows = {{[i:i + 3] : i in [0:n:{step}]}}
          in {{{{sum(w) : w in part}} : part in partition(windows, [1, n - 2, 1])}};"""

    def windows(n: int, size: int, step: int, left: int, right: int) -> int:
        return (n + left + right - size) // step + 1

    assert [windows(5, 3, step, 1, 1) == 5 for step in (1, 2)] == [True, False]
    assert windows(5, 4, 1, 1, 1) != 5
    assert everywhere(program(1), 5) == [[3], [6, 9, 12], [15]]
    assert isinstance(everywhere(program(2), 5), Failed)


def test_sum_of_floats_is_no_int() -> None:
    values_ = [0.5, 0.25, 0.125]
    summed = 0
    for value in values_:
        summed = int(summed + value)                # as C's `int sum; sum += A[pos]`
    assert summed != sum(values_)
    assert everywhere("function main(xs) = sum(xs) + 0.0;", values_) == sum(values_)


N, WIDTH = 9, 3
CLAMPED = """function main(xs, width) : ([int], int) -> [int] =
  let n = #xs; half = width / 2
  in {sum({xs[min(max(i + j - half, 0), n - 1)] : j in [0:width]}) : i in [0:n]};"""
CELLS = [2 ** i for i in range(N)]


def window(start: int, width: int = WIDTH) -> int:
    return sum(CELLS[min(max(start + j, 0), N - 1)] for j in range(width))


def stencil(width: int = WIDTH) -> list[int]:
    found = everywhere(CLAMPED, CELLS, width)
    assert found == [window(i - width // 2, width) for i in range(N)]
    return list(found)


def test_rows_of_the_stencil() -> None:
    printed = [window(i - WIDTH // 2) for i in range(1 + N)]
    assert len(printed) != N + 2 * (WIDTH // 2) - WIDTH + 1 == N         # windows of the padded array
    assert printed[:N] == stencil()


def test_parts_of_the_stencil() -> None:
    def parts(body: Iterable[int], shift: int) -> Counter[int]:
        half = WIDTH // 2
        return Counter([*(window(i - half) for i in range(half)), *map(window, body),
                        *(window(i - half + N - shift) for i in range(half))])

    assert parts(range(N - WIDTH), 0) != Counter(stencil())
    assert sum(parts(range(N - WIDTH), 0).values()) < N
    assert parts(range(N - WIDTH + 1), 0) != Counter(stencil())           # as many; the last ones wrong
    assert parts(range(N - WIDTH + 1), WIDTH // 2) == Counter(stencil())


def test_rows_of_one_thread() -> None:
    rows, vector, threads = 5, [1, 2, 3, 4, 5], 2

    def basic(fresh: bool) -> list[int]:
        out = [0] * rows
        for thread in range(threads):
            accumulated = 0
            for row in range(thread, rows, threads):
                accumulated = 0 if fresh else accumulated
                for i in range(1 + row):
                    accumulated += (row + i + (row * row - row) // 2) * vector[i]
                out[row] = accumulated
        return out

    program = """function main(v) =
      let triangle = {[i * (i + 1) / 2:(i + 1) * (i + 2) / 2] : i in [0:#v]}
      in {sum({x * v[j] : x in row; j in [0:#row]}) : row in triangle};"""
    right = everywhere(program, vector)
    assert basic(fresh=False) != right
    assert basic(fresh=True) == right

