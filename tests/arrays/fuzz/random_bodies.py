"""Random Python functions of two numbers, as text: what bodies may hold, with numbers that stay small."""
from __future__ import annotations

import random

INT_OPS = ("+", "-", "*", "//", "%", "&", "|", "^")
FLOAT_OPS = ("+", "-", "*", "/", "%", "//")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")


class Bodies:
    """Writes one function. `ints` and `floats` are the names that have a value here."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.ints, self.floats = ["x"], ["y"]
        self.count = 0

    def function(self, name: str) -> str:
        lines = [f"def {name}(x, y):", *self.block(self.rng.randint(1, 4), 1)]
        lines.append(f"    return {self.any(3)}")
        return "\n".join(lines) + "\n"

    def block(self, statements: int, depth: int, loop: bool = False) -> list[str]:
        return [line for _ in range(statements) for line in self.statement(depth, loop)]

    def statement(self, depth: int, loop: bool) -> list[str]:
        pad, kind = "    " * depth, self.rng.randrange(12)
        if kind < 4 or depth > 3:
            return [pad + self.assignment()]
        if kind < 6:
            name, op = self.rng.choice([n for n in self.ints if n[0] != "i"]), self.rng.choice(("+", "-", "*"))
            return [f"{pad}{name} {op}= {self.int(2)}", f"{pad}{name} %= 97"]
        if kind < 8:
            known = list(self.ints), list(self.floats)
            then = self.block(self.rng.randint(1, 2), depth + 1, loop)
            self.ints, self.floats = list(known[0]), list(known[1])
            orelse = self.block(1, depth + 1, loop) if self.rng.random() < 0.6 else []
            self.ints, self.floats = known
            return [f"{pad}if {self.bool(2)}:", *then, *([f"{pad}else:", *orelse] if orelse else [])]
        if kind < 10:
            return self.loop(pad, depth)
        if kind == 10 and loop:
            return [f"{pad}if {self.bool(1)}:", f"{pad}    {self.rng.choice(('break', 'continue'))}"]
        if depth > 1:
            return [f"{pad}if {self.bool(2)}:", f"{pad}    return {self.any(2)}"]
        return [pad + self.assignment()]

    def loop(self, pad: str, depth: int) -> list[str]:
        known = list(self.ints), list(self.floats)
        self.count += 1
        i = f"i{self.count}"
        if self.rng.random() < 0.6:
            if self.rng.random() < 0.3:                 # a name that has a value
                i = self.rng.choice([n for n in self.ints if n[0] != "i"])
            bounds = self.rng.choice(("4", "1, 5", "x % 5", "5, -2, -2", f"0, {self.rng.choice(self.ints)} % 7, 2"))
            head = [f"{pad}for {i} in range({bounds}):"]
            self.ints = [*self.ints, i]
            body = self.block(self.rng.randint(1, 3), depth + 1, True)
        else:
            head = [f"{pad}{i} = 0", f"{pad}while {i} < {self.rng.randint(1, 6)} and {self.bool(1)}:",
                    f"{pad}    {i} += 1"]
            body = self.block(self.rng.randint(1, 3), depth + 1, True)
        if self.rng.random() < 0.5:                     # what the loop sets has no value if it had no round
            self.ints, self.floats = known[0], known[1]
        if self.rng.random() < 0.7:
            return [*head, *body]
        before = list(self.ints), list(self.floats)
        orelse = self.block(1, depth + 1, False)
        self.ints, self.floats = before
        return [*head, *body, f"{pad}else:", *orelse]

    def assignment(self) -> str:
        if self.rng.random() < 0.2:
            a, b = self.rng.choice(self.ints), self.rng.choice(self.ints)
            if a != b and not (a + b).count("i"):
                return f"{a}, {b} = {self.int(1)} % 50, {self.int(1)} % 50"
        if self.rng.random() < 0.5:
            value = f"({self.int(2)}) % 101"
            name = self.target("n", self.ints)
        else:
            value = f"min(max({self.float(2)}, -50.0), 50.0)"
            name = self.target("z", self.floats)
        return f"{name} = {value}"

    def target(self, stem: str, names: list[str]) -> str:
        """A name that is set, a new one perhaps; what counts a loop's rounds is not."""
        known = [name for name in names if not name.startswith("i")]
        if self.rng.random() < 0.3 or not known:
            self.count += 1
            names.append(f"{stem}{self.count}")
            return names[-1]
        return self.rng.choice(known)

    def any(self, depth: int) -> str:
        kind = self.rng.randrange(4)
        if kind == 0:
            return f"({self.int(depth)}, {self.float(depth)})"
        return (self.int, self.float, self.bool)[kind - 1](depth)

    def int(self, depth: int) -> str:
        if depth == 0:
            return self.rng.choice([*self.ints, str(self.rng.randint(0, 9)), f"-{self.rng.randint(1, 5)}"])
        kind = self.rng.randrange(8)
        if kind < 4:
            op = self.rng.choice(INT_OPS)
            return f"({self.int(depth - 1)} {op} {self.int(depth - 1)})"
        if kind == 4:
            return f"({self.int(depth - 1)} if {self.bool(depth - 1)} else {self.int(depth - 1)})"
        if kind == 5:
            return f"{self.rng.choice(('min', 'max'))}({self.int(depth - 1)}, {self.int(depth - 1)})"
        if kind == 6:
            return f"{self.rng.choice(('abs', 'round', 'int'))}({self.int(depth - 1)})"
        return f"int(min(max({self.float(depth - 1)}, -9.0), 9.0))"

    def float(self, depth: int) -> str:
        if depth == 0:
            return self.rng.choice([*self.floats, "0.5", "2.0", "-1.25"])
        kind = self.rng.randrange(7)
        if kind < 3:
            return f"({self.float(depth - 1)} {self.rng.choice(FLOAT_OPS)} {self.float(depth - 1)})"
        if kind == 3:
            return f"({self.int(depth - 1)} / {self.rng.choice(('2', '4', '8'))})"
        if kind == 4:
            return f"({self.float(depth - 1)} if {self.bool(depth - 1)} else {self.int(depth - 1)} + 0.5)"
        if kind == 5:
            return f"abs({self.float(depth - 1)})"
        return f"float({self.int(depth - 1)})"

    def bool(self, depth: int) -> str:
        if depth == 0:
            return f"{self.int(0)} {self.rng.choice(COMPARE)} {self.int(0)}"
        kind = self.rng.randrange(5)
        if kind == 0:
            return f"({self.bool(depth - 1)} {self.rng.choice(('and', 'or'))} {self.bool(depth - 1)})"
        if kind == 1:
            return f"(not {self.bool(depth - 1)})"
        if kind == 2:
            return f"({self.int(0)} {self.rng.choice(COMPARE)} {self.int(0)} {self.rng.choice(COMPARE)} {self.int(0)})"
        if kind == 3:
            return f"({self.int(depth - 1)} {self.rng.choice(COMPARE)} {self.float(depth - 1)})"
        return f"({self.float(depth - 1)} {self.rng.choice(COMPARE)} {self.float(depth - 1)})"
