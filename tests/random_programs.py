"""Random well-typed NESL programs with random arguments, for tests that compare executors.

Programs draw from nested apply-to-each with filters, conditionals, lets, tuples, reductions, scans, gather, scatter,
append, flatten, partition, and calls of a small library of recursive functions, parallel and per element. Some index
and divide without care, so errors occur, too. Numbers are small ints and halves, so that sums are exact.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

INT, BOOL, FLOAT, POINT = "int", "bool", "float", "(int, int)"
INTS, ROWS, FLOATS, POINTS = "[int]", "[[int]]", "[float]", "[(int, int)]"
PARAMETERS = {"a": INTS, "m": ROWS, "k": INT, "q": POINTS, "x": FLOATS}

LIBRARY = """
function gcd_of(a, b) = if b == 0 then a else gcd_of(b, mod(a, b));
function steps(n, c) = if n < 2 then c else if mod(n, 2) == 0 then steps(n / 2, c + 1) else steps(3 * n + 1, c + 1);
function quick(v) =
  if #v < 2 then v
  else let p = v[#v / 2];
           low = {e in v | e < p}; same = {e in v | e == p}; high = {e in v | e > p};
           parts = {quick(w) : w in [low, high]}
       in parts[0] ++ (same ++ parts[1]);
function choose(k, v, w) =
  if k < 1 then v else let z = sum([0:k]) in (if z >= 0 then choose(k - 1, w, v) else v);
function halves(v, k) =
  if #v < 2 or k < 1 then [v]
  else let h = #v / 2 in flatten({halves(w, k - 1) : w in partition(v, [h, #v - h])});
function one_of(c, v, w) = if c then v else {e + 1 : e in w};
function tree(v, k) = if k < 1 then #v else 1 + sum({tree({e in v | mod(e, 2) == r}, k - 1) : r in [0, 1]});
"""


@dataclass(frozen=True)
class RandomProgram:
    """`source` defines main over PARAMETERS; `arguments` are plain values of those types."""
    source: str
    arguments: tuple[Any, ...]


@st.composite
def programs(draw: Callable[[st.SearchStrategy[T]], T], depth: int = 4) -> RandomProgram:
    result = draw(st.sampled_from((INT, INTS, ROWS, POINTS, FLOATS, FLOAT)))
    body = Generator(draw).expression(result, dict(PARAMETERS), draw(st.integers(1, depth)))
    parameters = ", ".join(PARAMETERS)
    types = ", ".join(PARAMETERS.values())
    source = f"{LIBRARY}\nfunction main({parameters}) : ({types}) -> {result} =\n  {body};\n"
    return RandomProgram(source, arguments(draw))


def arguments(draw: Callable[[st.SearchStrategy[T]], T]) -> tuple[Any, ...]:
    small = st.integers(-5, 9)
    ints = st.lists(small, max_size=5)
    points = st.tuples(st.integers(0, 5), st.integers(0, 5))
    halves = st.integers(-8, 8).map(lambda n: n / 2)
    return (draw(ints), draw(st.lists(ints, max_size=4)), draw(st.integers(-2, 5)),
            draw(st.lists(points, max_size=4)), draw(st.lists(halves, max_size=5)))


class Generator:
    """Expressions of a wanted type over variables of known types."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def one(self, *options: T) -> T:
        return self.draw(st.sampled_from(options))

    def expression(self, type_: str, env: dict[str, str], depth: int) -> str:
        variables = [name for name, t in env.items() if t == type_]
        if depth <= 0 or self.one(*range(12)) == 0:
            return self.leaf(type_, variables)
        general = [self.let, self.conditional, self.projection]
        if type_ in (INT, INTS, POINT):
            general.append(self.indexing)
        own = {INT: self.int_, BOOL: self.bool_, FLOAT: self.float_, POINT: self.point}.get(type_, self.sequence)
        return self.one(*general, own, own, own, own)(type_, env, depth)

    def leaf(self, type_: str, variables: list[str]) -> str:
        if variables and self.one(0, 1, 1):
            return self.one(*variables)
        if type_ == INT:
            return f"({self.one(*range(-3, 7))})"
        if type_ == FLOAT:
            return f"({self.one(-1.5, 0.5, 2.0, 4.0)})"
        if type_ == BOOL:
            return self.one("t", "f")
        if type_ == POINT:
            return f"({self.leaf(INT, [])}, {self.leaf(INT, [])})"
        items = [self.leaf(type_[1:-1], []) for _ in range(self.one(0, 1, 2))]
        return f"[{', '.join(items)}]" if items else f"([] {type_[1:-1]})"

    # Any type

    def let(self, type_: str, env: dict[str, str], depth: int) -> str:
        bound, name = self.one(INT, INTS, ROWS, BOOL, POINT, FLOATS), self.name()
        value = self.expression(bound, env, depth - 1)
        return f"(let {name} = {value} in {self.expression(type_, {**env, name: bound}, depth - 1)})"

    def conditional(self, type_: str, env: dict[str, str], depth: int) -> str:
        test, then, other = (self.expression(t, env, depth - 1) for t in (BOOL, type_, type_))
        return f"(if {test} then {then} else {other})"

    def projection(self, type_: str, env: dict[str, str], depth: int) -> str:
        kept, lost = self.expression(type_, env, depth - 1), self.expression(INT, env, depth - 2)
        return self.one(f"first(({kept}, {lost}))", f"rest(({lost}, {kept}))")

    def indexing(self, type_: str, env: dict[str, str], depth: int) -> str:
        sequence, index = self.expression(f"[{type_}]", env, depth - 1), self.expression(INT, env, depth - 2)
        if self.one(*range(6)) == 0:
            return f"({sequence})[{index}]"
        name = self.name()
        return (f"(let {name} = {sequence} in if #{name} > 0 then {name}[mod({index}, #{name})] "
                f"else {self.leaf(type_, [])})")

    # Scalars and pairs

    def int_(self, type_: str, env: dict[str, str], depth: int) -> str:
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        return self.one(
            lambda: f"({sub(INT)} {self.one('+', '-', '*')} {sub(INT)})",
            lambda: f"{self.one('max', 'min')}({sub(INT)}, {sub(INT)})",
            lambda: f"({sub(INT)} / {sub(INT)})",
            lambda: f"mod({sub(INT)}, {self.one(1, 2, 5)})",
            lambda: f"{self.one('sum', 'sum', 'max_val', 'min_val')}({sub(INTS)})",
            lambda: f"#{sub(self.one(INTS, ROWS, POINTS))}",
            lambda: f"{self.one('first', 'rest')}({sub(POINT)})",
            lambda: f"gcd_of({sub(INT)}, {sub(INT)})",
            lambda: f"steps(mod({sub(INT)}, 9), 0)",
            lambda: f"tree({sub(INTS)}, mod({sub(INT)}, 3))",
            lambda: f"count({{{sub(BOOL)} : {self.name()} in {sub(INTS)}}})",
            lambda: f"floor({sub(FLOAT)})",
        )()

    def bool_(self, type_: str, env: dict[str, str], depth: int) -> str:
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        return self.one(
            lambda: f"({sub(INT)} {self.one('<', '<=', '==', '/=')} {sub(INT)})",
            lambda: f"({sub(FLOAT)} < {sub(FLOAT)})",
            lambda: f"({sub(BOOL)} {self.one('and', 'or', 'xor')} {sub(BOOL)})",
            lambda: f"not({sub(BOOL)})",
            lambda: f"{self.one('any', 'all')}({{{sub(BOOL)} : {self.name()} in {sub(INTS)}}})",
        )()

    def float_(self, type_: str, env: dict[str, str], depth: int) -> str:
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        return self.one(
            lambda: f"({sub(FLOAT)} {self.one('+', '-')} {sub(FLOAT)})",
            lambda: f"float({sub(INT)})",
            lambda: f"{self.one('sum', 'max_val')}({sub(FLOATS)})",
        )()

    def point(self, type_: str, env: dict[str, str], depth: int) -> str:
        return f"({self.expression(INT, env, depth - 1)}, {self.expression(INT, env, depth - 1)})"

    # Sequences

    def sequence(self, type_: str, env: dict[str, str], depth: int) -> str:
        element = type_[1:-1]

        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)

        options: list[Callable[[], str]] = [
            lambda: self.each(element, env, depth), lambda: self.each(element, env, depth),
            lambda: self.each(element, env, depth),
            lambda: f"({sub(type_)} ++ {sub(type_)})",
            lambda: f"dist({sub(element)}, mod({sub(INT)}, 4))",
            lambda: self.gather(type_, env, depth),
            lambda: self.scatter(type_, env, depth),
            lambda: f"reverse({sub(type_)})",
            lambda: f"[{sub(element)}, {sub(element)}]",
        ]
        own: dict[str, list[Callable[[], str]]] = {
            INTS: [
                lambda: f"{self.one('plus_scan', 'max_scan')}({sub(INTS)})",
                lambda: f"[0:mod({sub(INT)}, 6)]",
                lambda: f"flatten({sub(ROWS)})",
                lambda: f"quick({sub(INTS)})",
                lambda: f"sort({sub(INTS)})",
                lambda: f"rank({sub(INTS)})",
                lambda: f"choose(mod({sub(INT)}, 4), {sub(INTS)}, {sub(INTS)})",
                lambda: f"one_of({sub(BOOL)}, {sub(INTS)}, {sub(INTS)})",
            ],
            ROWS: [
                lambda: f"halves({sub(INTS)}, mod({sub(INT)}, 4))",
                lambda: self.partition(env, depth),
            ],
            FLOATS: [lambda: f"plus_scan({sub(FLOATS)})"],
            POINTS: [lambda: f"zip({sub(INTS)}, {sub(INTS)})"],
        }
        return self.one(*options, *own.get(type_, []))()

    def each(self, element: str, env: dict[str, str], depth: int) -> str:
        source_type, name = self.one(INTS, INTS, ROWS, POINTS, FLOATS), self.name()
        source = self.expression(source_type, env, depth - 1)
        inner = {**env, name: source_type[1:-1]}
        generators, wrap = f"{name} in {source}", "{}"
        if self.one(0, 0, 1):
            held, index = self.name(), self.name()
            wrap = f"(let {held} = {source} in {{}})"
            generators = f"{name} in {held}; {index} in [0:#{held}]"
            inner[index] = INT
        body = self.expression(element, inner, depth - 1)
        keep = f" | {self.expression(BOOL, inner, depth - 2)}" if self.one(0, 1) else ""
        return wrap.replace("{}", f"{{{body} : {generators}{keep}}}")

    def gather(self, type_: str, env: dict[str, str], depth: int) -> str:
        name, index = self.name(), self.name()
        sequence, indices = self.expression(type_, env, depth - 1), self.expression(INTS, env, depth - 1)
        return (f"(let {name} = {sequence} in if #{name} == 0 then {name} "
                f"else {name} -> {{mod({index}, #{name}) : {index} in {indices}}})")

    def scatter(self, type_: str, env: dict[str, str], depth: int) -> str:
        name, index = self.name(), self.name()
        sequence, indices = self.expression(type_, env, depth - 1), self.expression(INTS, env, depth - 1)
        value = self.expression(type_[1:-1], {**env, name: type_, index: INT}, depth - 2)
        return (f"(let {name} = {sequence} in if #{name} == 0 then {name} "
                f"else {name} <- {{(mod({index}, #{name}), {value}) : {index} in {indices}}})")

    def partition(self, env: dict[str, str], depth: int) -> str:
        name = self.name()
        return (f"(let {name} = {self.expression(INTS, env, depth - 1)} "
                f"in partition({name}, [#{name} / 2, #{name} - #{name} / 2]))")
