"""The environment: the meanings of names at the top level, in the library and in the program so far.

A definition has an internal name, unique in the session. It is the written name, unless the library or an earlier
definition of another type, which old callers keep, has that name: then it is `f'2`, `f'3`, .. So typed programs need no
scopes for global names; base.names.shown_name returns the written name.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from nessie.base.layers import Layers
from nessie.base.names import shown_name
from nessie.base.records import dataclass
from nessie.base.source import NOWHERE, NessieError, Origin
from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import STRING, ZEROS, Base, Data, Fun, Identity, Pair, Scheme, Type
from nessie.base.widths import FULL, Widths
from nessie.library.primitives import CONSTANTS, PRIMITIVES, REDEFINABLE, ConstantValue
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing import walk as typed_walk
from nessie.typing.advice.reasons import Reason
from nessie.typing.node_types import pattern_type as pattern_type


@dataclass(frozen=True)
class Entry:
    """The meaning of a name. `kind` is function, primitive, constructor, variable or constant; `name` is the internal
    name; `defaults` are the names and values of a function's last parameters that may be left out; `reasons` are those
    for its parameter's type."""
    kind: str
    name: str
    scheme: Scheme
    origin: Origin = NOWHERE
    defaults: tuple[tuple[str, syntax.Exp], ...] = ()
    arity: int = 1
    reasons: tuple[Reason, ...] = ()


Anonymous = tuple[typed.Lambda, tuple[str, ...]]        # with the type variables of its definition


class Definitions:
    """Typed definitions by internal name, and the meanings of the names that users write."""

    def __init__(self, before: Definitions | None = None) -> None:
        """Copy the definitions before, if any."""
        self.entries: Layers[str, Entry] = Layers(before.entries if before else None)
        self.own_functions: Layers[str, typed.Function] = Layers(before.own_functions if before else None)
        self.datatypes: Layers[str, typed.Datatype] = Layers(before.datatypes if before else None)
        self.lambdas: Layers[str, Anonymous] = Layers(before.lambdas if before else None)       # by their identities

    @property
    def functions(self) -> Mapping[str, typed.Function]:
        return self.own_functions

    def entry(self, name: str) -> Entry | None:
        return self.entries.get(name)

    def names(self) -> Iterable[str]:
        return self.entries

    def function(self, name: str) -> typed.Function | None:
        return self.own_functions.get(name)

    def documentation(self, name: str) -> str:
        """Return the author's text about a function, by internal name; empty if there is none."""
        function = self.function(name)
        return (function.doc or "") if function else ""

    def datatype(self, name: str) -> typed.Datatype | None:
        return self.datatypes.get(name)

    def anonymous(self, identity: str) -> Anonymous | None:
        return self.lambdas.get(identity)

    def scheme(self, name: str) -> Scheme | None:
        """Return the scheme of a function or constructor, by internal name."""
        if function := self.function(name):
            return function_scheme(function)
        if datatype := self.datatype(name):
            return constructor_scheme(datatype)
        declared = next((e for e in self.entries.values() if e.name == name), None)
        return declared.scheme if declared else None

    def add(self, definition: typed.Definition) -> None:
        """Record a definition under its internal name (infer decides which visible name means it)."""
        match definition:
            case typed.Function():
                self.own_functions[definition.name] = definition
                self.add_lambdas(definition.body, tuple([v.name for v in definition.variables]))
            case typed.Datatype():
                self.datatypes[definition.name] = definition
            case typed.Variable():
                self.add_lambdas(definition.value, ())

    def add_lambdas(self, body: typed.Exp, variables: tuple[str, ...]) -> None:
        for exp in typed_walk.expressions(body):
            if isinstance(exp, typed.Lambda):
                self.lambdas[typed_walk.identity(exp).name] = exp, variables


@dataclass
class Environment:
    """The meanings of all names. Functions and datatypes are found by internal names, entries by the names that users
    write."""
    library: Definitions
    program: Definitions = field(default_factory=Definitions)
    versions: Layers[str, int] = field(default_factory=Layers)      # numbers of definitions of each name
    lambdas: int = 0                                        # the number of anonymous functions
    in_library: bool = False                                # is the library itself being inferred?
    widths: Widths = FULL                                   # of the program's numbers
    sees_library: bool = False                              # does the program see names that begin with `_`, too?

    def copy(self) -> Environment:
        return Environment(self.library, Definitions(self.program), Layers(self.versions), self.lambdas,
                           self.in_library, self.widths, self.sees_library)

    def lookup(self, name: str) -> Entry | None:
        """Return the meaning of the name. Names of the library that begin with `_` have a meaning in the library, and
        in programs that arrays make."""
        if found := self.program.entries.get(name):
            return found
        visible = self.in_library or self.sees_library or not name.startswith("_")
        return self.builtin(name) if visible else None

    def builtin(self, name: str) -> Entry | None:
        """Return the meaning of the name in the library, whatever the program made of it."""
        if row := PRIMITIVES.get(name):
            return Entry("primitive", name, primitive_scheme(name, row.type))
        if name in CONSTANTS:
            return Entry("constant", name, Scheme((), constant_type(CONSTANTS[name].type, CONSTANTS[name].value)))
        return self.program.entry(name) if self.in_library else self.library.entry(name)

    def constant(self, name: str) -> ConstantValue:
        """Return the value of a constant of the library in programs of these widths."""
        of_width: dict[str, int] = {"max_int": self.widths.max_int, "min_int": self.widths.min_int}
        return of_width[name] if name in of_width else CONSTANTS[name].value

    def is_protected(self, name: str) -> bool:
        """May no program define this name? It is a primitive or a constant."""
        return (not self.in_library and name not in REDEFINABLE and not name.startswith("_")
                and (name in PRIMITIVES or name in CONSTANTS))

    def global_scheme(self, name: str) -> Scheme | None:
        """The scheme of a function, primitive or constructor, by internal name."""
        if row := PRIMITIVES.get(name):
            return primitive_scheme(name, row.type)
        return self.program.scheme(name) or self.library.scheme(name)

    def function(self, name: str) -> typed.Function:
        """The definition of a function, by internal name."""
        found = self.program.function(name) or self.library.function(name)
        if found is None:
            entry = next((e for e in self.program.entries.values() if e.name == name), None)
            places = [(span, "declared here") for span in entry.origin[:1]] if entry else []
            raise NessieError(f"function {shown_name(name)} is declared, but not defined", *places)
        return found

    def documentation(self, name: str) -> str:
        """Return the author's text about a function, by internal name."""
        return self.program.documentation(name) or self.library.documentation(name)

    def anonymous(self, identity: str) -> Anonymous | None:
        """The lambda of this identity."""
        return self.program.anonymous(identity) or self.library.anonymous(identity)

    def datatype(self, name: str) -> typed.Datatype | None:
        """The declaration of a datatype, by internal name."""
        return self.program.datatype(name) or self.library.datatype(name)

    @property
    def variables(self) -> dict[str, Type]:
        """The variables of the top level, by internal name."""
        return {e.name: e.scheme.type for e in self.program.entries.values() if e.kind == "variable"}

    def functions(self) -> list[str]:
        """The names of the functions that the program has defined."""
        return [name for name, entry in self.program.entries.items() if entry.kind == "function"]

    def internal_name(self, name: str) -> str:
        """Return an unused internal name for a definition of this name."""
        hidden = not self.in_library and self.builtin(name) is not None
        number = (self.versions.get(name) or int(hidden)) + 1
        self.versions[name] = number
        return name if number == 1 else f"{name}'{number}"

    def names(self) -> list[str]:
        """All names that a program can use."""
        names = {*self.program.names(), *self.library.names(), *PRIMITIVES, *CONSTANTS}
        return sorted(n for n in names if self.in_library or not n.startswith("_"))


def function_scheme(function: typed.Function) -> Scheme:
    identity = Identity(function.name, function.variables)
    return Scheme(function.variables, Fun(pattern_type(function.parameter), function.result, identity))


def constructor_scheme(datatype: typed.Datatype) -> Scheme:
    identity = Identity(datatype.name, datatype.variables)
    return Scheme(datatype.variables, Fun(datatype.content, Data(datatype.name, datatype.variables), identity))


def constant_type(name: str, value: ConstantValue) -> Type:
    """Return the type of a constant, which is written so; tuples of constants are tuples of ints."""
    if isinstance(value, tuple):
        return Pair(constant_type("int", value[0]), constant_type("int", value[1]))
    if name == "[char]":
        return STRING
    return Base(name) if name in ZEROS else Data(name, ())
