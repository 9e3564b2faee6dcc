"""syntax: NESL as written, as plain immutable data.

Names are folded to lower case, as NESL folds them. Operators keep their spelling in Binary and Unary. Tuples are
right-nested Pairs. An expression that turns out to be a pattern (`(a, b) = ...`, `{(i, x) in v}`) has been converted
by syntax.patterns. Every node has the span of its text, except a Binding and a Generator, whose parts have theirs.
"""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import Span


@dataclass(frozen=True)
class Spanned:
    """`span`, given by name: the node's text in the source. Nodes that differ in it alone are equal."""
    span: Span | None = field(default=None, compare=False, kw_only=True)


# Expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Spanned):
    """An int or a float literal, told apart by the value's type."""
    value: int | float


@dataclass(frozen=True)
class Bool(Spanned):
    value: bool


@dataclass(frozen=True)
class Char(Spanned):
    value: str


@dataclass(frozen=True)
class String(Spanned):
    value: str


@dataclass(frozen=True)
class Name(Spanned):
    name: str


@dataclass(frozen=True)
class Unary(Spanned):
    """Prefix # @ -"""
    op: str
    operand: Exp


@dataclass(frozen=True)
class Binary(Spanned):
    """-> <- ^ * / || + - ++ == /= < > <= >= and nand or nor xor"""
    op: str
    left: Exp
    right: Exp


@dataclass(frozen=True)
class Pair(Spanned):
    first: Exp
    second: Exp


@dataclass(frozen=True)
class Apply(Spanned):
    function: Exp
    argument: Exp


@dataclass(frozen=True)
class Index(Spanned):
    """v[i]"""
    sequence: Exp
    index: Exp


@dataclass(frozen=True)
class If(Spanned):
    condition: Exp
    then: Exp
    orelse: Exp


@dataclass(frozen=True)
class Binding:
    pattern: Pattern
    value: Exp


@dataclass(frozen=True)
class Let(Spanned):
    """Bindings in sequence: later ones see earlier ones."""
    bindings: tuple[Binding, ...]
    body: Exp


@dataclass(frozen=True)
class Lambda(Spanned):
    pattern: Pattern
    body: Exp


@dataclass(frozen=True)
class Sequence(Spanned):
    """[e1, ..., ek], k >= 1"""
    elements: tuple[Exp, ...]


@dataclass(frozen=True)
class Empty(Spanned):
    """[] t"""
    element: TypeExp


@dataclass(frozen=True)
class Range(Spanned):
    """[start : end : stride]"""
    start: Exp
    end: Exp
    stride: Exp | None


@dataclass(frozen=True)
class Generator:
    """pattern in source; source is None for the short form NAME, which is NAME in NAME."""
    pattern: Pattern
    source: Exp | None


@dataclass(frozen=True)
class Each(Spanned):
    """{body : generators | filter}; body is None for the short form {p in s; ...}, whose body is the first
    pattern. serial: {* ...}."""
    body: Exp | None
    generators: tuple[Generator, ...]
    filter: Exp | None
    serial: bool = False


@dataclass(frozen=True)
class Time(Spanned):
    """time(e)"""
    body: Exp


@dataclass(frozen=True)
class Closure(Spanned):
    """closure(f, x)"""
    function: Exp
    argument: Exp


@dataclass(frozen=True)
class Default(Spanned):
    """name := value, in an argument list"""
    name: str
    value: Exp


Exp = (Number | Bool | Char | String | Name | Unary | Binary | Pair | Apply | Index | If | Let | Lambda | Sequence
       | Empty | Range | Each | Time | Closure | Default)

# Patterns ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamePattern(Spanned):
    """A name; `_` is a wildcard. `default` only in a function's parameters: NAME := constant."""
    name: str
    default: Exp | None = None


@dataclass(frozen=True)
class PairPattern(Spanned):
    first: Pattern
    second: Pattern


@dataclass(frozen=True)
class DataPattern(Spanned):
    """point(x, y)"""
    constructor: str
    argument: Pattern


Pattern = NamePattern | PairPattern | DataPattern

# Types ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TypeName(Spanned):
    """int float bool char, a type variable, or a datatype with its arguments"""
    name: str
    arguments: tuple[TypeExp, ...] = ()


@dataclass(frozen=True)
class TypeSeq(Spanned):
    """[element], of which may be told, too, how long it is (nessie.lengths):
        [element; length]               so many elements
        [index < length => element]     the same; the lengths of the elements may mention the position
        [uniform [t]]                   the elements are `uniform`: each is as long as the others"""
    element: TypeExp
    length: Exp | None = None
    index: str = ""
    uniform: bool = False


@dataclass(frozen=True)
class TypePair(Spanned):
    first: TypeExp
    second: TypeExp


@dataclass(frozen=True)
class TypeFun(Spanned):
    argument: TypeExp
    result: TypeExp


TypeExp = TypeName | TypeSeq | TypePair | TypeFun


@dataclass(frozen=True)
class Context(Spanned):
    """variable in class"""
    variable: str
    cls: str


@dataclass(frozen=True)
class Signature(Spanned):
    type: TypeExp
    contexts: tuple[Context, ...] = ()

# Top level --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionDef(Spanned):
    """function name pattern : signature "doc" = body; body None: a forward declaration"""
    name: str
    parameter: Pattern
    signature: Signature | None
    doc: str | None
    body: Exp | None


@dataclass(frozen=True)
class DatatypeDef(Spanned):
    name: str
    type: TypeExp
    contexts: tuple[Context, ...]


@dataclass(frozen=True)
class Assign(Spanned):
    """pattern = value"""
    pattern: Pattern
    value: Exp


@dataclass(frozen=True)
class FileVariable(Spanned):
    """pattern |= value"""
    pattern: Pattern
    value: Exp


@dataclass(frozen=True)
class Background(Spanned):
    """name &= value, options"""
    name: str
    value: Exp
    options: tuple[Default, ...]


@dataclass(frozen=True)
class Evaluate(Spanned):
    """A bare expression; binds `it`."""
    value: Exp


@dataclass(frozen=True)
class Command(Spanned):
    """load, describe, set ...: the word and the raw text after it"""
    word: str
    text: str


TopLevel = FunctionDef | DatatypeDef | Assign | FileVariable | Background | Evaluate | Command


@dataclass(frozen=True)
class Program:
    forms: tuple[TopLevel, ...]
