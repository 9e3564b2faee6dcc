"""Bodies and calls that are refused, each a function of no arguments that raises. Their names are the sections of the
golden file, in order."""
from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

import nessie

A = nessie.array([1, 2, 3])
M = nessie.array([[1, 2], [3, 4]])
F = nessie.array([1.5, 2.5])
ROWS = nessie.nest([[1, 2], [3]])
TEXT, TABLE = "text", {"a": 1}
MASKED = np.ma.masked_array([1, 2, 3], [True, False, False])
OBJECTS = np.array([1, 2, 3], object)
OFFSETS = [-1, 0]
LONG, LONGS = 2 ** 64, np.array([1, 2 ** 63], np.uint64)


def changes(x):
    x[0] = 1
    return x


def with_print(x):
    print(x)
    return x


def opens(x):
    with open("f") as file:
        return x


def tries(x):
    try:
        return 1 // x
    except ZeroDivisionError:
        return 0


def yields(x):
    yield x


def raises(x):
    raise ValueError


def asserts(x):
    assert x > 0
    return x


def imports(x):
    import math
    return math.sqrt(x)


def sometimes(x):
    if x > 1:
        return x


def nothing(x):
    return


def two_kinds(x):
    if x > 1:
        return x
    return (x, x)


def unset(x):
    if x > 1:
        y = 2
    return y


def changing_kind(x):
    y = 0
    for i in range(3):
        y = (y, i)
    return y


def endless(x):
    while True:
        x += 1
    return x


def inner(x):
    def g(y):
        return y
    return g(x)


def global_(x):
    global TEXT
    return x


def matched(x):
    match x:
        case 1:
            return 2
    return x


class Point(NamedTuple):
    x: int
    y: int


def two(x, y):
    return x + y


def calls_wrong(x):
    return two(x)


def step_of_range(x):
    for i in range(0, 9, x):
        x += i
    return x


def all_of(*xs):
    return xs


def changes_outside(x):
    np_table[x] = 1
    return x


def adds_outside(x):
    np_table[x] += 1
    return x


def deletes(x):
    del x
    return 1


def yields_within(x):
    y = yield x
    return y


async def awaits(x):
    return x


@nessie.host_section
def section_of_elements(a):
    if a > 1:
        a = a + 1
    return a


@nessie.host_section
def section_until_nothing(a):
    while a:
        a = a - 1
    return a


@nessie.host_section
def section_that_changes(a):
    a[0] = 1
    return a


@nessie.host_section
def section_that_prints(a):
    print(a)
    return a


@nessie.host_section
def section_that_tries(a):
    try:
        a = a + 1
    except ValueError:
        pass
    return a


@nessie.host_section
def section_that_opens(a):
    with open("f") as file:
        return a


@nessie.host_section
def section_that_yields(a):
    yield a


@nessie.host_section
def section_of_a_dict(a):
    table = {1: a}
    return table[1]


@nessie.host_section
def section_of_places(a, places):
    return a.map(lambda x, i: x + i, with_index=places)


@nessie.host_section
def section_of_a_text(a):
    if a.sum() == "6":
        a = a + 1
    return a


def executed() -> None:
    exec("A.map(lambda x: x + 1)", {"A": A})


REFUSED: dict[str, Any] = {
    "a change of an element": lambda: A.map(changes),
    "print": lambda: A.map(with_print),
    "open": lambda: A.map(opens),
    "try": lambda: A.map(tries),
    "yield": lambda: A.map(yields),
    "raise": lambda: A.map(raises),
    "assert": lambda: A.map(asserts),
    "import": lambda: A.map(imports),
    "a path without a result": lambda: A.map(sometimes),
    "a return of nothing": lambda: A.map(nothing),
    "results of two kinds": lambda: A.map(two_kinds),
    "a name that is not set": lambda: A.map(unset),
    "a name whose kind changes": lambda: A.map(changing_kind),
    "a loop without an end": lambda: A.map(endless),
    "a function inside": lambda: A.map(inner),
    "global": lambda: A.map(global_),
    "match": lambda: A.map(matched),
    "a call with too few arguments": lambda: A.map(calls_wrong),
    "the step of a range": lambda: A.map(step_of_range),
    "any number of arguments": lambda: A.map(all_of),
    "a string": lambda: A.map(lambda x: "a"),
    "a formatted string": lambda: A.map(lambda x: f"{x}"),
    "a string from outside": lambda: A.map(lambda x: TEXT),
    "a dict": lambda: A.map(lambda x: {"a": x}),
    "a dict from outside": lambda: A.map(lambda x: TABLE["a"]),
    "a name that does not exist": lambda: A.map(lambda x: x + missing),         # noqa: F821
    "an int of more than 64 bits": lambda: A.map(lambda x: x + 9223372036854775808),
    "None": lambda: A.map(lambda x: None),
    "in a number": lambda: A.map(lambda x: x in x),
    "is": lambda: A.map(lambda x: x is None),
    "elements of a number": lambda: A.map(lambda x: x[0]),
    "an attribute of a number": lambda: A.map(lambda x: x.real),
    "a method of a number": lambda: A.map(lambda x: x.bit_length()),
    "a comprehension over a number": lambda: A.map(lambda x: [y for y in x]),
    "two fors in a comprehension": lambda: ROWS.map(lambda row: [x * y for x in row for y in row]),
    "a slice with a step": lambda: ROWS.map(lambda row: row[::2]),
    "a method that rows do not have": lambda: ROWS.map(lambda row: row.argsort()),
    "an item that a tuple does not have": lambda: A.zip(A).map(lambda p: p[2]),
    "items of two kinds by a computed index": lambda: A.zip(A > 1).map(lambda p: p[p[0]]),
    "bits of a float": lambda: F.map(lambda x: x & 1),
    "a matrix product": lambda: A.map(lambda x: x @ x),
    "an assignment in an expression": lambda: A.map(lambda x: x > 1 and (y := x) > 2),
    "a function of C as a body": lambda: A.map(chr),
    "a function of C of two": lambda: A.combine(A, math.comb),
    "an operator as a body": lambda: A.map(operator.neg),
    "a class of C as a body": lambda: A.map(str),
    "a value as a body": lambda: A.map(np.array([1, 2])),
    "a function of C of rows": lambda: A.map(len),
    "a function of C that no body has": lambda: A.map(lambda x: math.comb(x, 4)),
    "a function of Python's with other arguments": lambda: A.map(lambda x: round(x, 1)),
    "an int from outside of more than 64 bits": lambda: A.map(lambda x: x + LONG),
    "an array from outside of more than 64 bits": lambda: A.map(lambda i: LONGS[i]),
    "an operand of more than 64 bits": lambda: A + 2 ** 70,
    "an array of more than 64 bits": lambda: nessie.array(LONGS),
    "the greatest of a row without elements": lambda: nessie.nest([[1], []]).map(lambda row: max(row)).evaluate(),
    "the place of the least of no elements": lambda: nessie.nest([[1.5], []]).map(lambda r: r.argmin()).evaluate(),
    "a reduction of what may be nothing": lambda: A.select(lambda x: x > 9).reduce(lambda x, y: x * y).evaluate(),
    "a float modulo by zero": lambda: F.map(lambda x: x % (x - x)).evaluate(),
    "a negative power of an int": lambda: A.map(lambda x: 2 ** (1 - x)).evaluate(),
    "a function as a value": lambda: A.map(lambda x: two),
    "a function that no body has": lambda: A.map(lambda x: np.linalg.norm(x)),
    "a comparison of tuples": lambda: A.zip(A).map(lambda p: p < (1, 2)),
    "a call with other arguments": lambda: A.map(lambda x, y: x),
    "arrays of other shapes": lambda: A + nessie.array([1, 2]),
    "offsets of other dimensions": lambda: M.stencil([-1, 1], 0, lambda v: v[-1]),
    "a neighbour that is none": lambda: A.stencil([-1, 1], 0, lambda v: v[0]),
    "a neighbour that is computed": lambda: A.stencil([-1, 1], 0, lambda v: v[v[1]]),
    "neighbours as a whole": lambda: A.stencil([-1, 1], 0, lambda v: v),
    "too many neighbours": lambda: A.stencil([-1, 0, 1], 0, lambda a, b: a + b),
    "an outside of another kind": lambda: A.stencil([-1, 1], (1, 2), lambda v: v[-1]),
    "a reduction of nothing": lambda: nessie.array(np.empty(0)).reduce(lambda x, y: x * y),
    "a reduction that gives another kind": lambda: A.reduce(lambda x, y: (x, y)),
    "a sum of tuples": lambda: A.zip(A).sum(),
    "an order of tuples": lambda: A.zip(A).sort(),
    "select in two dimensions": lambda: M.select(lambda x: x > 1),
    "a change of an array": lambda: operator.setitem(A, 0, 1),
    "the truth of an array": lambda: bool(A > 1),
    "the number of an array": lambda: float(A),
    "rows of several lengths": lambda: nessie.array([[1], [1, 2]]),
    "an array of objects": lambda: nessie.array(np.array([object()])),
    "an array of texts": lambda: nessie.array(["a", "b"]),
    "a masked array": lambda: nessie.array(np.ma.masked_array([1, 2], [True, False])),
    "an int that no array holds": lambda: nessie.array([2 ** 70]),
    "five dimensions": lambda: nessie.array(np.zeros((1, 1, 1, 1, 1))),
    "a negative shape": lambda: nessie.pnew(-1, lambda i: i),
    "a function without a text": lambda: A.map(eval("lambda x: x + 1")),
    "an element beyond the end": lambda: A.map(lambda i: np_table[i]).evaluate(),
    "a division by zero": lambda: A.map(lambda x: 10 // (x - 2)).evaluate(),
    "NumPy's function that arrays do not have": lambda: np.linalg.det(A),
    "an explanation of what is computed": lambda: nessie.array([1]).explain(),
    "a parameter by name only": lambda: A.map(lambda x, *, k: x + k),
    "any number of parameters": lambda: A.map(lambda *x: 1),
    "an argument by name only": lambda: A.map(lambda x: by_name(x, k=2)),
    "a key": lambda: nessie.nest([[1]]).map(lambda row: max(row, key=lambda x: (x, x))),
    "a reverse order": lambda: nessie.nest([[1]]).map(lambda row: sorted(row, reverse=len(row))),
    "a change of an array from outside": lambda: A.map(changes_outside),
    "an addition to an array from outside": lambda: A.map(adds_outside),
    "a name that is deleted": lambda: A.map(deletes),
    "yield within": lambda: A.map(yields_within),
    "an async function": lambda: A.map(awaits),
    "open in an expression": lambda: A.map(lambda x: len(open("f").read())),
    "a set": lambda: A.map(lambda x: {x}),
    "a dict of a comprehension": lambda: A.map(lambda x: {y: y for y in range(x)}),
    "bytes": lambda: A.map(lambda x: b"a"),
    "a complex number": lambda: A.map(lambda x: x + 1j),
    "a lambda that is called": lambda: A.map(lambda x: (lambda y: y)(x)),
    "arguments by a star": lambda: A.map(lambda x: max(*[x, x])),
    "a power of more than 64 bits": lambda: A.map(lambda x: x + 2 ** 70),
    "a masked array as an operand": lambda: A + MASKED,
    "a masked array beside another": lambda: A.combine(MASKED, lambda x, y: x + y),
    "a masked array from outside": lambda: A.map(lambda x: MASKED[x - 1]),
    "a masked row": lambda: nessie.nest([MASKED]),
    "a masked array in a section": lambda: section_that_changes(MASKED),
    "an array of objects that are ints": lambda: nessie.array(OBJECTS),
    "an array of objects as an operand": lambda: A * np.array([1, "a", None], object),
    "an array of objects from outside": lambda: A.map(lambda x: OBJECTS[x - 1]),
    "None among numbers": lambda: nessie.array([1, None]),
    "an array of complex numbers": lambda: nessie.array([1j]),
    "a number of rows": lambda: nessie.nest(5),                                 # type: ignore[arg-type]
    "rows among numbers": lambda: nessie.nest([1, [2]]),
    "offsets that are no ints": lambda: A.stencil([0.5, 1], 0, lambda v: v[1]),
    "offsets that are texts": lambda: A.stencil(["left"], 0, lambda v: v[1]),
    "offsets that are one number": lambda: A.stencil(1, 0, lambda v: v[1]),
    "no offsets": lambda: A.stencil([], 0, lambda v: 1),
    "offsets of several dimensions": lambda: M.stencil([(0, 1), 1], 0, lambda v: v[0, 1]),
    "a neighbour by a name from outside": lambda: A.stencil(OFFSETS, 0, lambda v: v[OFFSETS[0]]),
    "a neighbour by a loop's variable": lambda: A.stencil(OFFSETS, 0, lambda v: sum([v[k] for k in (-1, 0)])),
    "a neighbour of other dimensions": lambda: M.stencil([(0, 1)], 0, lambda v: v[1]),
    "neighbours by a slice": lambda: A.stencil(OFFSETS, 0, lambda v: v[-1:1]),
    "the greatest of no elements": lambda: nessie.array([]).max(),
    "the greatest of no elements of each row": lambda: nessie.array(np.zeros((2, 0))).max(axis=1),
    "the greatest of what is nothing": lambda: A.select(lambda x: x > 5).max().evaluate(),
    "an element that is deleted": lambda: operator.delitem(A, 0),
    "a result in an array that is given": lambda: np.add(A, 1, out=np.zeros(3)),
    "arrays under if": lambda: 1 if A else 2,
    "arrays under and": lambda: A and A,
    "an array of elements under if in a section": lambda: section_of_elements(A),
    "an array of elements under while in a section": lambda: section_until_nothing(A),
    "a change of an element in a section": lambda: section_that_changes(A),
    "print in a section": lambda: section_that_prints(A),
    "try in a section": lambda: section_that_tries(A),
    "with in a section": lambda: section_that_opens(A),
    "yield in a section": lambda: section_that_yields(A),
    "a dict in a section": lambda: section_of_a_dict(A),
    "a text in a section": lambda: section_of_a_text(A),
    "exec": executed,
    "too large a shape": lambda: nessie.pnew(2 ** 50, lambda i: i),
    "an argument that is given twice": lambda: A.map(lambda x: two(x, x=2)),
    "arguments by names from a dict": lambda: A.map(lambda x: two(x, **TABLE)),
    "an attribute that is given twice": lambda: A.map(lambda x: Point(x, x=1, y=2).x),
    "running sums along two axes": lambda: M.cumsum(axis=(0, 1)),
    "vectors of two lengths": lambda: np.dot(A, nessie.array([1])),
    "a logarithm to the base 1": lambda: F.map(lambda x: math.log(x, 1)).evaluate(),
    "a logarithm to the base 0": lambda: F.map(lambda x: math.log(x, 0)).evaluate(),
    "one value beyond its dtype": lambda: A.reduce(lambda x, y: x * 100 + y).astype(np.int8).evaluate(),
    "places where a name says so": lambda: section_of_places(A, True),
    "a list of two kinds": lambda: A.map(lambda x: sorted([x, (x, x)])),
}
np_table = np.array([5, 6])


def by_name(x, *, k):
    return x + k
