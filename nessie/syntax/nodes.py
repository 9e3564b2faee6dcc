"""syntax: NESL as written, as plain immutable data.

Names are folded to lower case, as NESL folds them. Operators keep their spelling in Binary and Unary. Tuples are
right-nested Pairs. An expression that turns out to be a pattern (`(a, b) = ...`, `{(i, x) in v}`) has been converted
by syntax.patterns. Every node has the span of its text, save for a
Binding and a Generator, whose parts have theirs.
"""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import Span

# Expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    """An int or a float literal, told apart by the value's type."""
    value: int | float
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Bool:
    value: bool
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Char:
    value: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class String:
    value: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Name:
    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Unary:
    """Prefix # @ -"""
    op: str
    operand: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Binary:
    """-> <- ^ * / || + - ++ == /= < > <= >= and nand or nor xor"""
    op: str
    left: Exp
    right: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Pair:
    first: Exp
    second: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Apply:
    function: Exp
    argument: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Index:
    """v[i]"""
    sequence: Exp
    index: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class If:
    condition: Exp
    then: Exp
    orelse: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Binding:
    pattern: Pattern
    value: Exp


@dataclass(frozen=True)
class Let:
    """Bindings in sequence: later ones see earlier ones."""
    bindings: tuple[Binding, ...]
    body: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Lambda:
    pattern: Pattern
    body: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Sequence:
    """[e1, ..., ek], k >= 1"""
    elements: tuple[Exp, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Empty:
    """[] t"""
    element: TypeExp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Range:
    """[start : end : stride]"""
    start: Exp
    end: Exp
    stride: Exp | None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Generator:
    """pattern in source; source is None for the short form NAME, which is NAME in NAME."""
    pattern: Pattern
    source: Exp | None


@dataclass(frozen=True)
class Each:
    """{body : generators | filter}; body is None for the short form {p in s; ...}, whose body is the first
    pattern. serial: {* ...}."""
    body: Exp | None
    generators: tuple[Generator, ...]
    filter: Exp | None
    serial: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Time:
    """time(e)"""
    body: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Closure:
    """closure(f, x)"""
    function: Exp
    argument: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Default:
    """name := value, in an argument list"""
    name: str
    value: Exp
    span: Span | None = field(default=None, compare=False)


Exp = (Number | Bool | Char | String | Name | Unary | Binary | Pair | Apply | Index | If | Let | Lambda | Sequence
       | Empty | Range | Each | Time | Closure | Default)

# Patterns ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamePattern:
    """A name; `_` is a wildcard. `default` only in a function's parameters: NAME := constant."""
    name: str
    default: Exp | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PairPattern:
    first: Pattern
    second: Pattern
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DataPattern:
    """point(x, y)"""
    constructor: str
    argument: Pattern
    span: Span | None = field(default=None, compare=False)


Pattern = NamePattern | PairPattern | DataPattern

# Types ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TypeName:
    """int float bool char, a type variable, or a datatype with its arguments"""
    name: str
    arguments: tuple[TypeExp, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TypeSeq:
    element: TypeExp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TypePair:
    first: TypeExp
    second: TypeExp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TypeFun:
    argument: TypeExp
    result: TypeExp
    span: Span | None = field(default=None, compare=False)


TypeExp = TypeName | TypeSeq | TypePair | TypeFun


@dataclass(frozen=True)
class Context:
    """variable in class"""
    variable: str
    cls: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Signature:
    type: TypeExp
    contexts: tuple[Context, ...] = ()
    span: Span | None = field(default=None, compare=False)

# Top level --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionDef:
    """function name pattern : signature "doc" = body; body None: a forward declaration"""
    name: str
    parameter: Pattern
    signature: Signature | None
    doc: str | None
    body: Exp | None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DatatypeDef:
    name: str
    type: TypeExp
    contexts: tuple[Context, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Assign:
    """pattern = value"""
    pattern: Pattern
    value: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class FileVariable:
    """pattern |= value"""
    pattern: Pattern
    value: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Background:
    """name &= value, options"""
    name: str
    value: Exp
    options: tuple[Default, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Evaluate:
    """A bare expression; binds `it`."""
    value: Exp
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Command:
    """load, describe, set ...: the word and the raw text after it"""
    word: str
    text: str
    span: Span | None = field(default=None, compare=False)


TopLevel = FunctionDef | DatatypeDef | Assign | FileVariable | Background | Evaluate | Command


@dataclass(frozen=True)
class Program:
    forms: tuple[TopLevel, ...]
