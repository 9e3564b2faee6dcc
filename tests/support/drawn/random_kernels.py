"""Random fused kernels, such as schedules make: one root space, survivors, segments, and what may read what when."""
from __future__ import annotations

from random import Random

PLUS = "{ (x, y) => x + y }"
GREATER = "{ (x, y) => max(x, y) }"
LATER = "{ (a, p, b, q) => if q then (b, q) else (a, p) }"


class Maker:
    """Writes the kernel's text. `early`: arrays that look-back SOACs may read, by place; `late`: those that only
    others may (they are known after the look-back)."""

    def __init__(self, seed: int, segmented: bool) -> None:
        self.random = Random(seed)
        self.segmented = segmented
        self.lines: list[str] = []
        self.names: list[str] = []
        self.count = 0
        root = "irregular(offs0, m, n)" if segmented else "(n)"
        self.spaces: list[tuple[str, list[str], list[str], bool]] = [(root, ["xs", "ws"], [], True)]
        self.rows: list[str] = ["vs"]
        self.row_results: list[str] = ["vs"]
        self.scalars: list[str] = ["n"]

    def fresh(self, returned: float = 0.6) -> str:
        self.count += 1
        name = f"r{self.count}"
        if self.random.random() < returned:
            self.names.append(name)
        return name

    def kernel(self) -> str:
        for _ in range(self.random.randint(1, 6)):
            self.bind()
        if self.random.random() < 0.5:
            a, b = self.random.choice(self.scalars), self.random.choice(self.scalars)
            used = ", ".join(dict.fromkeys([a, b]))
            self.lines.append(f"let {self.fresh(1)} = ONCE {{ () => {a} + {b} using {used} }}")
        if not self.names:
            self.lines.append("let z = ONCE { () => 1 }")
            self.names.append("z")
        more = ", m : int, vs : [int; m], offs0 : [int; m+1]" if self.segmented else ""
        body = "\n  ".join([*self.lines, f"return ({', '.join(self.names)})"])
        return f"kernel K (n : int, xs : [int; n], ws : [int; n]{more}) {{\n  {body}\n}}"

    def bind(self) -> None:
        at = self.random.randrange(len(self.spaces))
        choices = [self.map, self.reduce, self.scan, self.filter, self.scatter]
        if self.segmented and self.random.random() < 0.3:
            self.row()
        else:
            self.random.choice(choices)(at)

    def seg(self, at: int) -> str:
        return "SEG_" if not self.spaces[at][0].startswith("(") else ""

    def thunk(self, at: int, late: bool, boolean: bool = False) -> str:
        """Of one or two arrays at the own index, constants, and sometimes the index itself or the segment's value."""
        _, early, after, indexed = self.spaces[at]
        pool = early + (after if late else [])
        arrays = [self.random.choice(pool) for _ in range(self.random.randint(1, 2))] if pool else []
        terms = [f"{a}[i]" for a in arrays] or ["1"]
        using = list(arrays)
        if self.random.random() < 0.3 and (late or indexed):
            terms.append("i")
        if self.seg(at) and self.random.random() < 0.3 and (late or indexed):
            terms.append("j")
        if self.seg(at) and self.random.random() < 0.3:
            row = self.random.choice(self.rows)
            terms.append(f"{row}[s]")
            using.append(row)
        body = self.random.choice([" + ", " - "]).join(terms)
        if self.random.random() < 0.15:
            body = f"let v = {body} in if v /= 2 then v else fail s{self.random.randrange(4)} : int"
        if boolean:
            body = f"({body}) > {self.random.randint(-3, 3)}" if not body.startswith("let") else f"{terms[0]} > 0"
        params = "(s, j, i)" if self.seg(at) else "i"
        listed = [u for u in dict.fromkeys(using) if f"{u}[" in body]
        return f"{{ {params} => {body}{' using ' + ', '.join(listed) if listed else ''} }}"

    def map(self, at: int) -> None:
        space, early, after, _ = self.spaces[at]
        name = self.fresh()
        late = self.random.random() < 0.5
        self.lines.append(f"let {name} = {self.seg(at)}MAP {self.thunk(at, late)} {space}")
        (after if late else early).append(name)

    def reduce(self, at: int) -> None:
        space, seg = self.spaces[at][0], self.seg(at)
        name = self.fresh()
        if self.random.random() < 0.3:
            params, thunk = ("(s, j, i)" if seg else "i"), self.spaces[at][1]
            array = self.random.choice(thunk) if thunk else None
            test = f"{array}[i] > 0 using {array}" if array else "true"
            value = f"{{ {params} => ({array}[i], {test.replace(' using', ') using', 1)} }}" if array else \
                f"{{ {params} => (1, true) }}"
            self.lines.append(f"let ({name}, _) = {seg}REDUCE {value} (0, false) {LATER} {space}")
        else:
            operator, identity = self.random.choice([(PLUS, "0"), (GREATER, "-1000000")])
            self.lines.append(f"let {name} = {seg}REDUCE {self.thunk(at, not seg)} ({identity}) {operator} {space}")
        if seg:
            self.row_results.append(name)
        else:
            self.scalars.append(name)

    def scan(self, at: int) -> None:
        space, _, after, _ = self.spaces[at]
        name = self.fresh()
        total = not self.seg(at) and self.random.random() < 0.3
        operator, identity = self.random.choice([(PLUS, "0"), (GREATER, "-1000000")])
        self.lines.append(f"let {name} = {self.seg(at)}SCAN {self.thunk(at, False)} ({identity}) {operator} {space}"
                          + (" total" if total else ""))
        if not total:
            after.append(name)

    def filter(self, at: int) -> None:
        space, seg = self.spaces[at][0], self.seg(at)
        predicate = self.thunk(at, False, boolean=True)
        count, name = self.fresh(0.4), self.fresh()
        value = self.thunk(at, False)
        if seg:
            offsets = self.fresh(0.4)
            self.lines.append(f"let ({count}, {name}, {offsets}) = SEG_FILTER {value} {predicate} {space}")
            inner = f"irregular({offsets}, m, {count})"
        elif self.random.random() < 0.3:
            other, falses, positions = self.fresh(0.4), self.fresh(), self.fresh()
            self.lines.append(f"let ({count}, {other}, {name}, {falses}, {positions}) = PARTITION {value} {predicate} "
                              f"{space}")
            self.spaces.append((f"({other})", [falses], [], False))
            self.spaces[at][2].append(positions)
            self.scalars.append(other)
            inner = f"({count})"
        else:
            self.lines.append(f"let ({count}, {name}) = FILTER {value} {predicate} {space}")
            inner = f"({count})"
        self.spaces.append((inner, [name], [], False))
        self.scalars.append(count)

    def scatter(self, at: int) -> None:
        seg, name = self.seg(at), self.fresh(1)
        params = "(s, j, i)" if seg else "i"
        pool = self.spaces[at][1]
        index = f"{self.random.choice(pool)}[i]" if pool else "i"
        using = f" using {index[:-3]}" if pool else ""
        index = f"{{ {params} => {index} and 7{using} }}"
        if self.random.random() < 0.5:
            self.lines.append(f"let {name} = {seg}PERMUTE {self.thunk(at, True)} {index} {self.spaces[at][0]} "
                              "into 6 (-1) last")
        else:
            self.lines.append(f"let {name} = {seg}REDUCE_BY_INDEX {{ {params} => 7 }} {index} (0) {PLUS} "
                              f"{self.spaces[at][0]} into 6 (-1)")

    def row(self) -> None:
        """A binding over the segments."""
        pool = self.random.choice([self.rows, self.row_results])
        array, name = self.random.choice(pool), self.fresh()
        thunk = f"{{ s => {array}[s] * 2 + s using {array} }}"
        if self.random.random() < 0.5:
            self.lines.append(f"let {name} = MAP {thunk} (m)")
            pool.append(name)
        else:
            self.lines.append(f"let {name} = REDUCE {thunk} (0) {PLUS} (m)")
            self.scalars.append(name)
