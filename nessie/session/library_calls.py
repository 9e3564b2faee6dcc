"""Tells a check that fails in a function of the library as a mistake in the call that the user wrote.

    k_smallest(v, 7)        Bad arguments to function K_SMALLEST.       k is 7, #v is 3
                            hint: k_smallest(v,k) needs 0 <= k <= #v

What fails is a step of the library's, with names of its own. The user has written the call: its function is found in
the typed program, and what it needs stands in its documentation, behind `Checked:`. The message of the function's own
check stays. A function that was given functions is not blamed for what these do: its own checks alone are told.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import Span, user_span
from nessie.base.types import Fun, Identity, Type, components
from nessie.interpreter.meanings_any import text
from nessie.typing import nodes as typed
from nessie.typing.environment import Definitions, Environment
from nessie.typing.node_types import pattern_names
from nessie.typing.walk import expressions

CHECKED = re.compile(r"\bChecked: (.*?)(?<!\.)\.(?=\s|$)", re.DOTALL)        # in a function's documentation
LENGTH_OR_NAME = re.compile(r"#?\b[a-z]\w*(?:\[0\])?")
SHOWN = 30              # characters of a value that are shown


@dataclass(frozen=True)
class LibraryCall:
    """A call of a function of the library: how one writes it, what it needs, its parameters' names, and the messages
    of its own checks."""
    name: str
    written: str
    needs: str
    parameters: tuple[str, ...]
    messages: frozenset[str]

    def message(self, found: str) -> str:
        """The message of a check that has failed in the call."""
        return found if found in self.messages else f"Bad arguments to function {self.name.upper()}."

    @property
    def hint(self) -> str:
        return f"{self.written} needs {self.needs}"

    def values(self, given: Mapping[str, Any], digits: int) -> str:
        """The values of the parameters and lengths that the needs mention, in their order, and the lengths of rows that
        are not as is needed."""
        shown: dict[str, str] = {}
        for name in LENGTH_OR_NAME.findall(self.needs):
            bare = name.removeprefix("#").removesuffix("[0]")
            value = given.get(bare) if bare in self.parameters else None
            if value is not None and (told := measure(name, value) if name[0] == "#" else brief(value, digits)):
                shown[name] = told
        return ", ".join(f"{name} {value}" for name, value in {**shown, **self.wrong_rows(given)}.items())

    def wrong_rows(self, given: Mapping[str, Any]) -> dict[str, str]:
        """The lengths of the first row that is not like the first one, or is empty, where that is needed; its sequence
        is the first parameter."""
        name, found = self.parameters[0], list[int]()
        rows = given.get(name) or []
        if "rows of one length" in self.needs:
            other = next((at for at, row in enumerate(rows) if len(row) != len(rows[0])), None)
            found = [0, other] if other is not None else []
        elif "no row empty" in self.needs:
            found = [at for at, row in enumerate(rows) if not len(row)][:1]
        return {f"#{name}[{at}]": f"is {len(rows[at])}" for at in found}


def measure(name: str, value: Any) -> str:
    """The words that tell the length of a sequence, or that of its first row."""
    if not name.endswith("[0]"):
        return f"is {len(value)}"
    return f"is {len(value[0])}" if len(value) else ""


def brief(value: Any, digits: int) -> str:
    """The words that tell a value; of a long sequence of numbers, or of pairs with a number, the least and the
    greatest, of others none."""
    if not isinstance(value, list) or len(value) <= SHOWN:
        shown = text(value, digits=digits)
        if len(shown) <= SHOWN:
            return f"is {shown}"
    if isinstance(value, list) and all([isinstance(number(element), int | float) for element in value]):
        ends = [text(end, 2, 2, digits) for end in (min(value, key=number), max(value, key=number))]
        return f"goes from {ends[0]} to {ends[1]}" if max(map(len, ends)) <= SHOWN else ""
    return ""


def number(element: Any) -> Any:
    return element[0] if isinstance(element, tuple) else element


def library_call(place: Span | None, message: str, exp: typed.Exp, environment: Environment) -> LibraryCall | None:
    """The call of a function of the library that stands there, in the expression or a function of the program, and may
    be what the message is about; without a place, the expression itself."""
    if place is None:
        return called(exp, message, environment)
    bodies = [exp, *[function.body for function in environment.program.functions.values() if function.body is not None]]
    calls = [called(e, message, environment) for body in bodies for e in expressions(body)
             if isinstance(e, typed.Apply) and user_span(e.origin[:1]) == place]
    return next((call for call in calls if call is not None), None)


def called(exp: typed.Exp, message: str, environment: Environment) -> LibraryCall | None:
    """The call that the expression is, if a function of the library is called that says what it needs; one that is
    given functions, if the message is of a check of its own."""
    type_ = exp.function.type if isinstance(exp, typed.Apply) and isinstance(exp.function, (typed.Name, typed.Global)) \
        else None
    if not isinstance(type_, Fun) or not isinstance(type_.identity, Identity):
        return None
    name = type_.identity.name
    function = environment.library.function(name) if environment.program.function(name) is None else None
    needs = CHECKED.search(environment.library.documentation(name)) if function is not None else None
    if function is None or needs is None or name.startswith("_"):
        return None
    own = frozenset(messages(name, environment.library, set()))
    if takes_functions(type_.argument) and message not in own:
        return None
    parameters = tuple([pattern.name for pattern in pattern_names(function.parameter)])
    return LibraryCall(name, f"{name}({','.join(parameters)})", " ".join(needs[1].split()), parameters, own)


def takes_functions(argument: Type) -> bool:
    return any([isinstance(part, Fun) for part in components(argument)])


def messages(name: str, library: Definitions, seen: set[str]) -> Iterator[str]:
    """The messages of the checks in the function, and in those that it calls and that are not told for themselves: the
    library's own, and such as are given functions."""
    function = library.function(name)
    if name in seen or function is None or function.body is None:
        return
    seen.add(name)
    for exp in expressions(function.body):
        match exp:
            case typed.Apply(typed.Global("_check"), typed.Pair(_, typed.Pair(typed.String(characters), _))):
                yield "".join(characters)
            case typed.Global(inner, _, type_) if inner.startswith("_") or (
                    isinstance(type_, Fun) and takes_functions(type_.argument)):
                yield from messages(inner, library, seen)
