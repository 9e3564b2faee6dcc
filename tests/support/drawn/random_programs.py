"""Random well-typed NESL programs with random arguments, for tests that compare executors.

Programs draw from nested apply-to-each with filters, conditionals, lets, tuples, reductions, scans, gather, scatter,
append, flatten, partition, sorting, strings, and calls of the functions of random_library. Some index, divide and zip
without care, so errors occur, too. Ints are small and floats small multiples of 1/8, so that sums are exact.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from random_library import LIBRARY

T = TypeVar("T")
Options = list[Callable[[], str]]

INT, BOOL, FLOAT, CHAR, POINT = "int", "bool", "float", "char", "(int, int)"
INTS, ROWS, CUBE, FLOATS, POINTS = "[int]", "[[int]]", "[[[int]]]", "[float]", "[(int, int)]"
STRING, WORDS, KEYED, NESTED = "[char]", "[[char]]", "[(int, [int])]", "((int, bool), [float])"
PARAMETERS = {"a": INTS, "m": ROWS, "k": INT, "q": POINTS, "x": FLOATS, "s": STRING, "b": CUBE, "g": KEYED}
RESULTS = (INT, INTS, INTS, ROWS, ROWS, POINTS, FLOATS, FLOAT, STRING, WORDS, CUBE, KEYED, NESTED)
SOURCES = (INTS, INTS, ROWS, ROWS, POINTS, FLOATS, STRING, CUBE, KEYED)


@dataclass(frozen=True)
class RandomProgram:
    """`source` defines main over PARAMETERS; `arguments` are plain values of those types."""
    source: str
    arguments: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{self.source.removeprefix(LIBRARY)}\n{self.arguments!r}"


@st.composite
def programs(draw: Callable[[st.SearchStrategy[T]], T], depth: int = 4, prints: bool = False,
             draws: bool = False) -> RandomProgram:
    """`prints`: here and there they print; `draws`: they draw random numbers."""
    result = draw(st.sampled_from(RESULTS))
    body = Generator(draw, prints, draws).expression(result, dict(PARAMETERS), draw(st.integers(1, depth)))
    parameters = ", ".join(PARAMETERS)
    types = ", ".join(PARAMETERS.values())
    source = f"{LIBRARY}\nfunction main({parameters}) : ({types}) -> {result} =\n  {body};\n"
    return RandomProgram(source, arguments(draw))


@st.composite
def sharing_programs(draw: Callable[[st.SearchStrategy[T]], T], depth: int = 3) -> RandomProgram:
    """Two to four results of rows that were filtered, of their elements and of their lengths."""
    types = [draw(st.sampled_from((INTS, INTS, INTS, ROWS, ROWS, POINTS, INT))) for _ in range(draw(st.integers(2, 4)))]
    body = Generator(draw, False, False).sharing(types, dict(PARAMETERS), draw(st.integers(1, depth)))
    result = types[-1]
    for type_ in reversed(types[:-1]):
        result = f"({type_}, {result})"
    parameters, given = ", ".join(PARAMETERS), ", ".join(PARAMETERS.values())
    source = f"{LIBRARY}\nfunction main({parameters}) : ({given}) -> {result} =\n  {body};\n"
    return RandomProgram(source, arguments(draw))


def arguments(draw: Callable[[st.SearchStrategy[T]], T]) -> tuple[Any, ...]:
    ints = st.lists(st.integers(-5, 9), max_size=5)
    points = st.tuples(st.integers(0, 5), st.integers(0, 5))
    halves = st.integers(-8, 8).map(lambda n: n / 2)
    rows = st.lists(ints, max_size=4)
    return (draw(ints), draw(rows), draw(st.integers(-2, 5)), draw(st.lists(points, max_size=4)),
            draw(st.lists(halves, max_size=5)), draw(st.lists(st.sampled_from("ab Z1"), max_size=6)),
            draw(st.lists(rows, max_size=3)), draw(st.lists(st.tuples(st.integers(0, 3), ints), max_size=3)))


def parts(type_: str) -> tuple[str, str]:
    """The components of a pair's type."""
    depth = 0
    for at, character in enumerate(type_):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 1:
            return type_[1:at], type_[at + 2:-1]
    raise ValueError(type_)


class Generator:
    """Expressions of a wanted type over variables of known types."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], prints: bool, draws: bool) -> None:
        self.draw = draw
        self.prints, self.draws = prints, draws
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
        if self.prints:
            general += [self.printing, self.printing]
        if type_ in (INT, INTS, ROWS, CHAR, POINT):
            general.append(self.indexing)
        scalars = {INT: self.int_, BOOL: self.bool_, FLOAT: self.float_, CHAR: self.char}
        own = scalars.get(type_, self.pair if type_[0] == "(" else self.sequence)
        return self.one(*general, own, own, own, own)(type_, env, depth)

    def leaf(self, type_: str, variables: list[str]) -> str:
        if variables and self.one(0, 1, 1):
            return self.one(*variables)
        match type_:
            case "int":
                return f"({self.one(*range(-3, 7))})"
            case "float":
                return f"({self.one(-1.5, 0.5, 2.0, 4.0)})"
            case "bool":
                return self.one("t", "f")
            case "char":
                return self.one("`a", "`Z", "`1", "space")
            case "[char]":
                return self.one('""', '"a"', '"b Za"')
        if type_[0] == "(":
            return f"({self.leaf(parts(type_)[0], [])}, {self.leaf(parts(type_)[1], [])})"
        items = [self.leaf(type_[1:-1], []) for _ in range(self.one(0, 1, 2))]
        return f"[{', '.join(items)}]" if items else f"([] {type_[1:-1]})"

    # Several results

    def sharing(self, types: list[str], env: dict[str, str], depth: int) -> str:
        """Results of these types, each of the same filtered rows, their elements or their lengths."""
        rows, elements, lengths = self.name(), self.name(), self.name()
        bound = {rows: ROWS, elements: INTS, lengths: INTS}
        results = [self.of_rows(type_, tuple(bound), {**env, **bound}, depth) for type_ in types]
        pairs = results[-1]
        for result in reversed(results[:-1]):
            pairs = f"({result}, {pairs})"
        return (f"let {rows} = {self.filtered_rows(env, depth)}; {elements} = flatten({rows}); "
                f"{lengths} = {{#r : r in {rows}}} in {pairs}")

    def filtered_rows(self, env: dict[str, str], depth: int) -> str:
        row, element = self.name(), self.name()
        source = self.one("m", "m", "flatten(b)", self.expression(ROWS, env, depth - 1))
        inner = {**env, row: INTS, element: INT}
        keep = self.one(f"{element} > 1", f"mod({element}, 2) == 0", self.expression(BOOL, inner, depth - 1))
        value = self.one(element, element, f"{element} * {element}", self.expression(INT, inner, depth - 1))
        rows = f"{{{{{value} : {element} in {row} | {keep}}} : {row} in {source}}}"
        return self.one(rows, rows, f"{{{{e in r | e < 5}} : r in {rows}}}", f"{{r in {rows} | #r > 0}}")

    def of_rows(self, type_: str, names: tuple[str, ...], env: dict[str, str], depth: int) -> str:
        """A result of this type."""
        w, f, n = names
        known = {
            INTS: [f"reverse({f})", n, f"{{sum(r) : r in {w}}}", f"sort({f})", f"rank({f})", f"remove_duplicates({f})",
                   f"plus_scan({f})", f"{{x + k : x in {f}}}", f"{{#r + max_val([0] ++ r) : r in {w}}}",
                   f"{f} -> {{i : i in index(#{f}) | rem(i, 2) == 0}}", f"{{x in {f} | x /= 3}}", f"plus_scan({n})",
                   f"{f} <- {{(i, 7) : i in index(#{f}) | rem(i, 3) == 0}}",
                   f"{{{f}[#{f} - 1 - i] : i in index(#{f})}}", f"{{reduce(max, #r, r) : r in {w}}}",
                   f"{{reduce((a, b) => #{f} * a * b + a + b, #r, r) : r in {w}}}"],
            ROWS: [w, f"partition({f}, {n})", f"{{reverse(r) : r in {w}}}", f"{{{{x in r | x /= 2}} : r in {w}}}",
                   f"{{plus_scan(r) : r in {w}}}", f"{{sort(r) : r in {w}}}", f"reverse({w})",
                   f"{{{{x - max_val(r) : x in r}} : r in {w}}}", f"{{drop(r, #r / 2) : r in {w}}}",
                   f"{{inclusive_scan((a, b) => a * b, #r, r) : r in {w}}}"],
            POINTS: [f"histogram({f})", f"zip({f}, reverse({f}))", f"zip({n}, {{sum(r) : r in {w}}})",
                     f"{{(#r, x) : x in {f}; r in {{{n} : y in {f}}}}}"],
            INT: [f"sum({f})", f"#{f}", f"sum({n})", f"max_val([0] ++ {f})",
                  f"max_index([0] ++ {f})"],
        }
        return self.one(*known[type_], self.expression(type_, env, depth))

    # Any type

    def printing(self, type_: str, env: dict[str, str], depth: int) -> str:
        bound = self.one(INT, BOOL, INTS, STRING, POINT)
        value = self.expression(bound, env, depth - 1)
        text = value if bound == STRING else f"@{value} ++ \"{self.name()} \""
        return f"(let _ = print_string({text}) in {self.expression(type_, env, depth - 1)})"

    def let(self, type_: str, env: dict[str, str], depth: int) -> str:
        if self.one(*range(4)) == 0:
            return self.let_pair(type_, env, depth)
        bound, name = self.one(INT, INTS, ROWS, BOOL, POINT, FLOATS, STRING, KEYED, CUBE), self.name()
        value = self.expression(bound, env, depth - 1)
        return f"(let {name} = {value} in {self.expression(type_, {**env, name: bound}, depth - 1)})"

    def let_pair(self, type_: str, env: dict[str, str], depth: int) -> str:
        """Both results of a function."""
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        call, first, second = self.one(
            lambda: (f"quotient_and_rest({sub(INT)}, {sub(INT)})", INT, INT),
            lambda: (f"extremes({sub(INTS)})", INT, INT),
            lambda: (f"both_sides({sub(INTS)}, {sub(INT)})", INTS, INTS),
            lambda: (f"largest_and_others({sub(INTS)})", INT, INTS),
            lambda: (f"swap_rows(mod({sub(INT)}, 4), {sub(INTS)}, {sub(ROWS)})", INTS, ROWS),
            lambda: (f"unzip({sub(POINTS)})", INTS, INTS),
            lambda: (f"unzip({sub(KEYED)})", INTS, ROWS),
        )()
        a, b = self.name(), self.name()
        return f"(let ({a}, {b}) = {call} in {self.expression(type_, {**env, a: first, b: second}, depth - 1)})"

    def conditional(self, type_: str, env: dict[str, str], depth: int) -> str:
        test, then, other = (self.expression(t, env, depth - 1) for t in (BOOL, type_, type_))
        return f"(if {test} then {then} else {other})"

    def projection(self, type_: str, env: dict[str, str], depth: int) -> str:
        kept, lost = self.expression(type_, env, depth - 1), self.expression(self.one(INT, INTS), env, depth - 2)
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
            lambda: f"{self.one('mod', 'rem')}({sub(INT)}, {self.one(1, 2, 5)})",
            lambda: f"{self.one('sum', 'sum', 'max_val', 'min_val')}({sub(INTS)})",
            lambda: f"#{sub(self.one(INTS, ROWS, POINTS, STRING, CUBE))}",
            lambda: f"{self.one('first', 'rest')}({sub(POINT)})",
            lambda: f"gcd_of({sub(INT)}, {sub(INT)})",
            lambda: f"{self.one('steps(mod({}, 9), 0)', 'factorial(mod({}, 6))', 'fib(mod({}, 7))')}"
                    .format(sub(INT)),
            lambda: f"ackermann(mod({sub(INT)}, 3), mod({sub(INT)}, 3))",
            lambda: f"{self.one('first', 'rest')}(halving(mod({sub(INT)}, 60)))",
            lambda: f"risky(mod({sub(INT)}, 8))",
            lambda: self.reading(sub),
            lambda: f"tree({sub(INTS)}, mod({sub(INT)}, 3))",
            lambda: f"{self.one('unguarded', 'down', 'down_even')}({sub(INTS)})",
            lambda: f"count({{{sub(BOOL)} : {self.name()} in {sub(INTS)}}})",
            lambda: f"{self.one('floor', 'round', 'trunc', 'ceil')}({sub(FLOAT)})",
            lambda: f"{self.one('max_index', 'min_index')}({sub(self.one(INTS, FLOATS))})",
            lambda: f"find({sub(INT)}, {sub(INTS)})",
            lambda: f"char_code({sub(CHAR)})",
            lambda: f"first(parse_int({sub(STRING)}))",
            *([lambda: f"rand({self.one(1, 2, 100)} + mod({sub(INT)}, 9))"] * (8 if self.draws else 0)),
        )()

    def reading(self, sub: Callable[[str], str]) -> str:
        """What runs per element and reads sequences."""
        return self.one(
            lambda: f"bisected({sub(INTS)}, {sub(INT)}, 0, mod({sub(INT)}, 3))",
            lambda: f"prefix({sub(INTS)}, {sub(INTS)}, 0)",
            lambda: f"prefix({sub(STRING)}, {sub(STRING)}, 0)",
            lambda: f"hops({sub(INTS)}, 0, mod({sub(INT)}, 3))",
            lambda: f"inner({sub(ROWS)}, 0, mod({sub(INT)}, 4))",
        )()

    def bool_(self, type_: str, env: dict[str, str], depth: int) -> str:
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)

        def two(t: str) -> str:
            return f"{sub(t)}, {sub(t)}"
        return self.one(
            lambda: f"({sub(INT)} {self.one('<', '<=', '==', '/=')} {sub(INT)})",
            lambda: f"({sub(FLOAT)} {self.one('<', '==')} {sub(FLOAT)})",
            lambda: f"({sub(CHAR)} {self.one('<', '==')} {sub(CHAR)})",
            lambda: f"({sub(BOOL)} {self.one('and', 'or', 'xor')} {sub(BOOL)})",
            lambda: f"not({sub(BOOL)})",
            lambda: f"{self.one('any', 'all')}({{{sub(BOOL)} : {self.name()} in {sub(INTS)}}})",
            lambda: f"eql({two(self.one(INTS, STRING, ROWS, POINTS))})",
            lambda: f"{self.one('is_even', 'is_odd')}(mod({sub(INT)}, 6))",
        )()

    def float_(self, type_: str, env: dict[str, str], depth: int) -> str:
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        return self.one(
            lambda: f"({sub(FLOAT)} {self.one('+', '-')} {sub(FLOAT)})",
            lambda: f"float(rem({sub(INT)}, 64))",
            lambda: f"{self.one('sum', 'max_val', 'min_val')}({sub(FLOATS)})",
            lambda: f"{self.one('max', 'min')}({sub(FLOAT)}, {sub(FLOAT)})",
            lambda: f"{self.one('abs', '-', '2.0 *', '0.5 *')}({sub(FLOAT)})",
            lambda: f"sum({{{self.expression(FLOAT, {**env, 'e': FLOAT}, depth - 1)} : e in {sub(FLOATS)}}})",
            *([lambda: "0.125 * float(rand(40))"] * (3 if self.draws else 0)),
        )()

    def char(self, type_: str, env: dict[str, str], depth: int) -> str:
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        return self.one(
            lambda: f"{self.one('uppercase', 'lowercase')}({sub(CHAR)})",
            lambda: f"code_char(mod({sub(INT)}, 26) + 97)",
            lambda: f"code_char({sub(INT)})",
        )()

    def pair(self, type_: str, env: dict[str, str], depth: int) -> str:
        first, second = parts(type_)
        return f"({self.expression(first, env, depth - 1)}, {self.expression(second, env, depth - 1)})"

    # Sequences

    def sequence(self, type_: str, env: dict[str, str], depth: int) -> str:
        element = type_[1:-1]

        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)

        options: Options = [
            lambda: self.each(element, env, depth), lambda: self.each(element, env, depth),
            lambda: self.each(element, env, depth), lambda: self.filtered(type_, env, depth),
            lambda: f"({sub(type_)} ++ {sub(type_)})",
            lambda: f"dist({sub(element)}, mod({sub(INT)}, 4))",
            lambda: f"(if {sub(BOOL)} then dist({sub(element)}, min({sub(INT)}, 5)) else {sub(type_)})",
            lambda: self.zipped(element, env, depth),
            lambda: self.gather(type_, env, depth),
            lambda: self.scatter(type_, env, depth),
            lambda: self.part(type_, env, depth),
            lambda: f"reverse({sub(type_)})",
            lambda: f"[{sub(element)}, {sub(element)}]",
        ]
        if element[0] == "[":
            options.append(lambda: f"[dist({sub(element[1:-1])}, min({sub(INT)}, 5)), {sub(element)}]")
        if type_ in (INTS, ROWS, STRING):
            options.append(lambda: f"flatten({sub(f'[{type_}]')})")
        return self.one(*options, *self.only(type_, env, depth))()

    def only(self, type_: str, env: dict[str, str], depth: int) -> Options:
        """What makes sequences of this type only."""
        def sub(t: str) -> str:
            return self.expression(t, env, depth - 1)
        match type_:
            case "[int]":
                return [
                    lambda: f"{self.one('plus_scan', 'max_scan', 'min_scan')}({sub(INTS)})",
                    lambda: f"[0:mod({sub(INT)}, 6)]",
                    lambda: f"{self.one('quick', 'sort', 'rank', 'rank_down', 'remove_duplicates')}({sub(INTS)})",
                    lambda: f"rank({sub(FLOATS)})",
                    lambda: f"choose(mod({sub(INT)}, 4), {sub(INTS)}, {sub(INTS)})",
                    lambda: f"after({sub(INTS)}, {sub(INT)})",
                    lambda: f"either({sub(INTS)}, {sub(INTS)}, mod({sub(INT)}, 4))",
                    lambda: f"one_of({sub(BOOL)}, {sub(INTS)}, {sub(INTS)})",
                    lambda: f"{self.one('first', 'rest')}(unzip({sub(POINTS)}))",
                    lambda: f"digits(abs({sub(INT)}))",
                    lambda: f"inclusive_scan({self.one('max', '(a, b) => a + b')}, {sub(INT)}, {sub(INTS)})",
                    lambda: f"longest({sub(ROWS)}, {sub(INTS)})",
                    lambda: f"enumerate({{{sub(BOOL)} : {self.name()} in {sub(INTS)}}})",
                ]
            case "[[int]]":
                return [
                    lambda: f"halves({sub(INTS)}, mod({sub(INT)}, 4))",
                    lambda: f"suffixes({sub(INTS)})",
                    lambda: f"doubled(mod({sub(INT)}, 3), {sub(INTS)})",
                    lambda: self.partition(env, depth),
                    lambda: f"group_by({sub(INTS)}, 1 + mod({sub(INT)}, 3))",
                    lambda: f"bottop({sub(INTS)})",
                    lambda: f"{{{self.one('sort', 'rank', 'plus_scan', 'reverse', 'quick')}(r) : r in {sub(ROWS)}}}",
                    lambda: f"transpose({sub(ROWS)})",
                ]
            case "[float]":
                return [lambda: f"{self.one('plus_scan', 'max_scan', 'sort')}({sub(FLOATS)})"]
            case "[(int, int)]":
                return [lambda: f"zip({sub(INTS)}, {sub(INTS)})",
                        lambda: f"zip([0:mod({sub(INT)}, 4)], [0:mod({sub(INT)}, 4)])",
                        lambda: f"histogram({sub(INTS)})"]
            case "[char]":
                return [lambda: f"int_string({sub(INT)})", lambda: f"@({sub(self.one(INT, INTS, BOOL, POINT))})"]
            case "[[char]]":
                return [lambda: f"wordify({sub(STRING)})", lambda: f"{{int_string(e) : e in {sub(INTS)}}}"]
            case "[(int, [int])]":
                return [lambda: f"int_collect({sub(POINTS)})", lambda: f"zip({sub(INTS)}, {sub(ROWS)})"]
        return []

    def each(self, element: str, env: dict[str, str], depth: int) -> str:
        source_type, name = self.one(*SOURCES), self.name()
        source = self.expression(source_type, env, depth - 1)
        inner, pattern = {**env, name: source_type[1:-1]}, name
        if source_type in (POINTS, KEYED) and self.one(0, 1):
            a, b = self.name(), self.name()
            first, second = parts(source_type[1:-1])
            inner, pattern = {**env, a: first, b: second}, f"({a}, {b})"
        generators, wrap = f"{pattern} in {source}", "{}"
        if self.one(0, 0, 1):
            held, index = self.name(), self.name()
            wrap = f"(let {held} = {source} in {{}})"
            generators = f"{pattern} in {held}; {index} in [0:#{held}]"
            inner[index] = INT
        body = self.expression(element, inner, depth - 1)
        keep = f" | {self.expression(BOOL, inner, depth - 2)}" if self.one(0, 1) else ""
        return wrap.replace("{}", f"{{{body} : {generators}{keep}}}")

    def zipped(self, element: str, env: dict[str, str], depth: int) -> str:
        """Two sequences side by side, whose lengths may differ: guarded, or an error then."""
        first, second = self.one(*SOURCES), self.one(*SOURCES)
        a, b, x, y = self.name(), self.name(), self.name(), self.name()
        xs, ys = self.expression(first, env, depth - 1), self.expression(second, env, depth - 1)
        body = self.expression(element, {**env, x: first[1:-1], y: second[1:-1]}, depth - 1)
        each = f"{{{body} : {x} in {a}; {y} in {b}}}"
        guarded = f"if #{a} == #{b} then {each} else {self.leaf(f'[{element}]', [])}"
        return f"(let {a} = {xs}; {b} = {ys} in {self.one(each, guarded, guarded)})"

    def filtered(self, type_: str, env: dict[str, str], depth: int) -> str:
        """A filter of a filter."""
        name = self.name()
        inner = {**env, name: type_[1:-1]}
        source = self.expression(type_, env, depth - 1)
        one, two = self.expression(BOOL, inner, depth - 2), self.expression(BOOL, inner, depth - 2)
        return f"{{{name} in {{{name} in {source} | {one}}} | {two}}}"

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

    def part(self, type_: str, env: dict[str, str], depth: int) -> str:
        """A run of elements of a sequence, here and there outside of it."""
        name, at, end = self.name(), self.name(), self.name()
        sequence = self.expression(type_, env, depth - 1)
        i, j = self.expression(INT, env, depth - 2), self.expression(INT, env, depth - 2)
        cut = self.one(f"subseq({name}, min({at}, {end}), max({at}, {end}))", f"take({name}, {at})",
                       f"drop({name}, {at})", f"rotate({name}, {at})")
        size = self.one(f"(#{name} + 1)", f"(#{name} + 1)", f"(#{name} + 1)", f"(#{name} + 2)")
        return f"(let {name} = {sequence}; {at} = mod({i}, {size}); {end} = mod({j}, {size}) in {cut})"

    def partition(self, env: dict[str, str], depth: int) -> str:
        name, at = self.name(), self.name()
        sequence = self.expression(INTS, env, depth - 1)
        lengths = self.one(f"[{at}, 0, #{name} - {at}]", f"[#{name} / 2, #{name} - #{name} / 2]",
                           f"{{1 : e in {name}}}", self.expression(INTS, env, depth - 2))
        index = self.expression(INT, env, depth - 2)
        return f"(let {name} = {sequence}; {at} = mod({index}, #{name} + 1) in partition({name}, {lengths}))"
