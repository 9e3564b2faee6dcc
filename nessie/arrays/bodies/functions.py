"""A Python function at the kinds of its arguments, as functions of NESL.

What it sees outside, and what the functions see that it calls, are parameters of all functions made of it, by the same
names: nothing else about a value from outside is in the code.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from nessie.arrays.bodies.expressions.values import Env
from nessie.arrays.bodies.kinds import Kind, Unknown, shown
from nessie.arrays.bodies.outside import Seen, method_of
from nessie.arrays.bodies.source import IN_ORDER
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import Fresh, Made, name, pattern, together, typed
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.library.library import library
from nessie.syntax import nodes as syntax

ROUNDS = 8              # of a function that calls itself, until the kind of its result is given up


@dataclass(frozen=True)
class MadeFunction:
    """A function of NESL: the kinds that it takes and gives, and the names from outside that it is passed."""
    name: str
    takes: tuple[Kind, ...]
    gives: Kind
    passed: tuple[str, ...]

    def called(self, arguments: Sequence[syntax.Exp], span: Span | None = None) -> syntax.Exp:
        return syntax.Apply(name(self.name), together([*arguments, *map(name, self.passed)]), span=span)


Edition = tuple[Seen, tuple[Kind, ...], type[Statements]]       # a function at kinds, and who translates it


class Module:
    """The functions of one program. `captured` has what comes from outside, by the function and the text that see
    it; `translator` translates a function's statements. `offsets`: what stencils see outside, and where.
    `units`: what is translated on several paths (nessie.arrays.sections.unions), each time with why it is refused."""

    def __init__(self, translator: type[Statements] = Statements) -> None:
        self.translator = translator
        self.fresh = Fresh(library().names())
        self.functions: list[syntax.FunctionDef] = []
        self.captured: dict[tuple[Seen, str], Made] = {}
        self.offsets: list[tuple[Seen, ast.expr, list[tuple[int, ...]]]] = []
        self.made: dict[Edition, MadeFunction] = {}
        self.working: dict[Edition, MadeFunction | None] = {}       # None: what it gives is unknown
        self.recursive: set[Edition] = set()
        self.methods: dict[tuple[Any, str], Seen | None] = {}
        self.units: list[tuple[Hashable, NessieError | None]] = []

    def capture(self, function: Seen, text: str, made: Made) -> None:
        """Let a value from outside be known by this expression, a name, wherever the function is called."""
        self.captured[function, text] = made

    def method(self, kind: Any, name_: str) -> Seen | None:
        """A method of a class of records; None if it has none of this name."""
        if (kind, name_) not in self.methods:
            self.methods[kind, name_] = method_of(kind, name_)
        return self.methods[kind, name_]

    def passed(self, function: Seen) -> dict[str, Kind]:
        """The names from outside that the function is passed, with their kinds."""
        found = [self.captured[seen, text] for seen, text, _ in function.captured]
        return {made.exp.name: made.kind for made in found if isinstance(made.exp, syntax.Name)}

    def mark(self) -> tuple[int, int, int]:
        """What there is now, for `forget`."""
        return len(self.functions), len(self.units), len(self.made)

    def forget(self, mark: tuple[int, int, int]) -> None:
        """Drop what was made since the mark."""
        functions, units, made = mark
        del self.functions[functions:]
        del self.units[units:]
        for key in list(self.made)[made:]:
            del self.made[key]

    def settle(self) -> None:
        """Refuse what no path can do."""
        good = {unit for unit, error in self.units if error is None}
        for unit, error in self.units:
            if error is not None and unit not in good:
                raise error

    def function(self, function: Seen, kinds: tuple[Kind, ...],
                 told: Callable[[NessieError], NessieError] = lambda error: error,
                 translator: type[Statements] | None = None) -> MadeFunction:
        """Return the function at these kinds of its arguments. `told` makes the error of its body the caller's;
        `translator` translates it instead of the module's own."""
        key = function, kinds, translator or self.translator
        if key in self.made:
            return self.made[key]
        if key in self.working:
            self.recursive.add(key)
            working = self.working[key]
            if working is None:
                raise Unknown(key)
            return working
        wanted = function.parameters
        if beyond := function.written.beyond_order:
            raise told(NessieError(f"arguments are given in order here, and {beyond}",
                                   (function.span(function.written.tree), ""), hint=IN_ORDER))
        if len(wanted) != len(kinds):
            raise told(NessieError(
                f"the function takes {', '.join(wanted) or 'nothing'}, and is called with {len(kinds)} "
                f"argument{'s' * (len(kinds) != 1)}", (function.span(function.written.tree), ""),
                hint="map gives a function the element; combine one of each array; with_index=True the place, too"))
        try:
            self.made[key] = self.of_kinds(*key)
        except NessieError as error:
            raise told(error) from None
        return self.made[key]

    def of_kinds(self, function: Seen, kinds: tuple[Kind, ...], translator: type[Statements]) -> MadeFunction:
        """Translate the function. Where it calls itself, its other paths say first what it gives."""
        key = function, kinds, translator
        called, place = self.fresh(function.name), function.span(function.written.tree)
        passed = self.passed(function)
        gives: Kind | None = None
        for _ in range(ROUNDS):
            kept = self.mark()
            self.working[key] = None if gives is None else MadeFunction(called, kinds, gives, tuple(passed))
            parameters = [self.fresh(parameter) for parameter in function.parameters]
            env: Env = {parameter: Made(name(n), kind)
                        for parameter, n, kind in zip(function.parameters, parameters, kinds)}
            translate = translator(self, function)
            try:
                made = translate.body(env)
            except Unknown as unknown:
                if unknown.of != key:
                    raise
                raise NessieError(f"{function.name} calls itself on every path", (place, ""),
                                  hint="a path on which it does not is where it ends") from None
            finally:
                del self.working[key]
            if made.kind == gives or key not in self.recursive:
                break
            self.forget(kept)
            before, gives = gives or made.kind, translate.join(made.kind, gives or made.kind)
            if gives is None:
                raise NessieError(f"the function gives {shown(made.kind)} here and {shown(before)} there", (place, ""))
        else:
            raise NessieError(f"the kind of what {function.name} gives never comes to rest", (place, ""))
        definition = syntax.FunctionDef(called, pattern([*parameters, *passed]),
                                        typed([*kinds, *passed.values()], made.kind), None, made.exp, span=place)
        if key in self.recursive:           # what it has called may call it
            self.functions.insert(kept[0], replace(definition, body=None))
        self.functions.append(definition)
        return MadeFunction(called, kinds, made.kind, tuple(passed))
