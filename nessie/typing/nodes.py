"""typed: NESL after type inference, as plain immutable data. Still nested, polymorphic and higher order.

    function dotp [a in number] (xs : [a], ys : [a]) : a =
      sum[a]({`*`[a](x, y) : x : a in xs; y : a in ys})

Every use of a global function or primitive states its types; every binder states its type. Sugar is gone: operators,
ranges and indexing are applications of primitives (library.primitives), `{p in s}` has its body, `#v` is length(v).

Invariants (checked by typing.check after every pass):
  - every name is bound, and used at the type of its binder;
  - a Global's type is its scheme at the types given; the types satisfy the scheme's classes;
  - applications, conditionals, sequences and filters are well typed; both types of an `if` are equal.
"""
from __future__ import annotations

from nessie.base.located import Located
from nessie.base.records import dataclass
from nessie.base.types import Scheme, Type, Var


@dataclass(frozen=True)
class Const(Located):
    """A scalar: Python int, float, bool, or a one-character str for char."""
    value: int | float | bool | str
    type: Type


@dataclass(frozen=True)
class String(Located):
    text: str


@dataclass(frozen=True)
class Name(Located):
    """A local variable, or a variable of the top level."""
    name: str
    type: Type


@dataclass(frozen=True)
class Global(Located):
    """A function, primitive or constructor of the program or the library, at types. `type` is a Fun with
    identity Identity(name, types)."""
    name: str
    types: tuple[Type, ...]
    type: Type


@dataclass(frozen=True)
class Let(Located):
    pattern: Pattern
    value: Exp
    body: Exp


@dataclass(frozen=True)
class If(Located):
    condition: Exp
    then: Exp
    orelse: Exp


@dataclass(frozen=True)
class Apply(Located):
    function: Exp
    argument: Exp
    type: Type


@dataclass(frozen=True)
class Pair(Located):
    first: Exp
    second: Exp


@dataclass(frozen=True)
class Sequence(Located):
    """[e1, ..., ek]; k may be 0. `type` is the sequence's type."""
    elements: tuple[Exp, ...]
    type: Type


@dataclass(frozen=True)
class Generator:
    pattern: Pattern
    source: Exp


@dataclass(frozen=True)
class Each(Located):
    body: Exp
    generators: tuple[Generator, ...]
    filter: Exp | None = None
    serial: bool = False


@dataclass(frozen=True)
class Lambda(Located):
    """An anonymous function; its type's identity names it and lists what it captures, in order."""
    pattern: Pattern
    body: Exp
    captured: tuple[Name, ...]
    type: Type


@dataclass(frozen=True)
class Closure(Located):
    """closure(f, x): f with its first argument given"""
    function: Exp
    argument: Exp
    type: Type


@dataclass(frozen=True)
class Time(Located):
    """time(e): the pair of e and the seconds it took"""
    body: Exp


Exp = (Const | String | Name | Global | Let | If | Apply | Pair | Sequence | Each | Lambda | Closure | Time)


@dataclass(frozen=True)
class NamePattern:
    """A name with its type; `_` is a wildcard."""
    name: str
    type: Type


@dataclass(frozen=True)
class PairPattern:
    first: Pattern
    second: Pattern


@dataclass(frozen=True)
class DataPattern:
    constructor: str
    types: tuple[Type, ...]
    argument: Pattern


Pattern = NamePattern | PairPattern | DataPattern


@dataclass(frozen=True)
class Function(Located):
    name: str
    variables: tuple[Var, ...]
    parameter: Pattern
    result: Type
    body: Exp
    doc: str | None = None


@dataclass(frozen=True)
class Datatype(Located):
    """A datatype. The constructor has the datatype's name; its argument has type `content`."""
    name: str
    variables: tuple[Var, ...]
    content: Type


@dataclass(frozen=True)
class Variable(Located):
    """A top-level assignment; bare expressions assign to `it`."""
    pattern: Pattern
    value: Exp


Definition = Function | Datatype | Variable


@dataclass(frozen=True)
class Program:
    """Definitions in order; each sees those before it (functions: those declared before it, and itself)."""
    definitions: tuple[Definition, ...]


__all__ = ["Apply", "Closure", "Const", "DataPattern", "Datatype", "Definition", "Each", "Exp", "Function",
           "Generator", "Global", "If", "Lambda", "Let", "Name", "NamePattern", "Pair", "PairPattern", "Pattern",
           "Program", "Scheme", "Sequence", "String", "Time", "Variable"]
