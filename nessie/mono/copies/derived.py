"""Functions for every type, made for the type at hand: equality, text, zeros, hashing, labels, numbers.

derive(name, types) returns the function that a primitive of kind "derived" stands for at concrete types, as a typed
function that monomorphisation treats like any other. Each maker below builds a body from its parameters; for a pair or
a sequence the body applies the same primitive to the parts, at their types.
"""
from __future__ import annotations

from collections.abc import Callable
from math import inf

from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    REAL,
    STRING,
    WORD,
    Base,
    Data,
    Fun,
    Identity,
    Pair,
    Seq,
    Type,
    instantiate,
    nest_right,
)
from nessie.base.types import zero_of as base_zero
from nessie.library.primitives import PRIMITIVES
from nessie.mono.copies.erase import content
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment
from nessie.typing.nodes import Apply, Const, Each, Exp, Generator, Global, If, Let, Name, NamePattern, String

SHOWN_ELEMENTS = 5              # of a sequence, in a limited text


def derive(name: str, types: tuple[Type, ...], environment: Environment) -> typed.Function:
    """Return the derived primitive at these types."""
    scheme = primitive_scheme(name, PRIMITIVES[name].type)
    type_ = instantiate(scheme, types)
    assert isinstance(type_, Fun)
    parts: list[Type] = []
    rest = type_.argument
    while isinstance(rest, Pair) and len(parts) < ARITY.get(name, 1) - 1:
        parts.append(rest.first)
        rest = rest.second
    parts.append(rest)
    names = [Name(f"x{n}", part) for n, part in enumerate(parts, 1)]
    parameters: list[typed.Pattern] = [NamePattern(variable.name, variable.type) for variable in names]
    parameter = nest_right(parameters, typed.PairPattern)
    body = MAKERS[name](Maker(environment), types[0], *names)
    return typed.Function(name, scheme.variables, parameter, type_.result, body, PRIMITIVES[name].doc)


class Maker:
    """Builds typed expressions; `call` finds functions in the library."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def call(self, name: str, types: tuple[Type, ...], *arguments: Exp) -> Apply:
        """Apply the function at these types."""
        scheme = self.environment.global_scheme(name)
        assert scheme is not None, name
        type_ = instantiate(scheme, types)
        assert isinstance(type_, Fun)
        return Apply(Global(name, types, type_), nest_right(arguments, typed.Pair), type_.result)

    def content(self, type_: Data) -> Type:
        """Return the datatype's content type."""
        return content(type_, self.environment)

    def opened(self, name: str, type_: Data, value: Exp, body: Callable[[Name], Exp]) -> Exp:
        """Return the body with the name bound to the content of the value, which is of a datatype."""
        inner = Name(name, self.content(type_))
        pattern = typed.DataPattern(type_.name, type_.arguments, NamePattern(inner.name, inner.type))
        return Let(pattern, value, body(inner))

    def first(self, pair: Name | Apply) -> Apply:
        assert isinstance(pair.type, Pair)
        return self.call("first", (pair.type.first, pair.type.second), pair)

    def rest(self, pair: Name | Apply) -> Apply:
        assert isinstance(pair.type, Pair)
        return self.call("rest", (pair.type.first, pair.type.second), pair)


def integer(value: int) -> Exp:
    return Const(value, INT)


def each(body: Exp, *generators: tuple[Name, Exp]) -> Exp:
    return Each(body, tuple(Generator(NamePattern(n.name, n.type), source) for n, source in generators))

# Equality -------------------------------------------------------------------------------------------


def eql(make: Maker, type_: Type, a: Name, b: Name) -> Exp:
    match type_:
        case Base("bool"):
            return make.call("not", (BOOL,), make.call("xor", (BOOL,), a, b))
        case Base():
            return make.call("==", (type_,), a, b)
        case Pair(first, second):
            return make.call("and", (BOOL,), make.call("eql", (first,), make.first(a), make.first(b)),
                             make.call("eql", (second,), make.rest(a), make.rest(b)))
        case Seq(element):
            x, y = Name("x", element), Name("y", element)
            same = each(make.call("eql", (element,), x, y), (x, a), (y, b))
            lengths = make.call("==", (INT,), make.call("length", (element,), a), make.call("length", (element,), b))
            return If(lengths, make.call("all", (BOOL,), same), Const(False, BOOL))
        case Data():
            content = make.content(type_)
            return make.opened("x", type_, a, lambda x: make.opened(
                "y", type_, b, lambda y: make.call("eql", (content,), x, y)))
    return Const(True, BOOL)            # function types are nominal: two values of one are the same function

# Text -----------------------------------------------------------------------------------------------


STRINGS = {"int": "int_string", "float": "float_string", "bool": "bool_string", "char": "char_string"}


def string(make: Maker, type_: Type, x: Name) -> Exp:
    return text(make, type_, x, lambda t, part: make.call("string", (t,), part))


def text(make: Maker, type_: Type, x: Exp, part: Callable[[Type, Exp], Exp]) -> Exp:
    """Return the text of x, from the texts of its parts, which `part` makes."""
    match type_:
        case Base(name):
            return make.call(STRINGS[name], (), x)
        case Pair():
            return pair_text(make, type_, x, part)
        case Seq(element):
            item = Name("x", element)
            return make.call("_sequence_string", (), each(part(element, item), (item, x)))
        case Data():
            return make.opened("x", type_, x, lambda inner: part(inner.type, inner))
    return String("function")


def pair_text(make: Maker, type_: Pair, x: Exp, part: Callable[[Type, Exp], Exp]) -> Exp:
    """Return the text of a pair: three components stand side by side, and a tail beyond them has its own
    parentheses."""
    whole = Name("p", type_)
    texts = [part(type_.first, make.first(whole))]
    bound: list[tuple[Name, Exp]] = [(whole, x)]
    if isinstance(type_.second, Pair):
        tail = Name("q", type_.second)
        bound.append((tail, make.rest(whole)))
        texts += [part(type_.second.first, make.first(tail)), part(type_.second.second, make.rest(tail))]
    else:
        texts.append(part(type_.second, make.rest(whole)))
    result: Exp = make.call("_tuple_string", (), typed.Sequence(tuple(texts), Seq(STRING)))
    for name, value in reversed(bound):
        result = Let(NamePattern(name.name, name.type), value, result)
    return result


def string_limited(make: Maker, type_: Type, x: Name, levels: Name) -> Exp:
    """Return the text of at most so many levels of sequences, with the first elements of each; the rest shows as three
    dots."""
    if not isinstance(type_, Seq):
        return text(make, type_, x, lambda t, part: make.call("_string_limited", (t,), part, levels))
    element = type_.element
    item = Name("x", element)
    count = make.call("length", (element,), x)
    shown = make.call("take", (element,), x, make.call("min", (INT,), integer(SHOWN_ELEMENTS), count))
    inner = make.call("-", (INT,), levels, integer(1))
    texts = each(make.call("_string_limited", (element,), item, inner), (item, shown))
    dots = typed.Sequence((String("..."),), Seq(STRING))
    longer = make.call(">", (INT,), count, integer(SHOWN_ELEMENTS))
    parts = If(longer, make.call("append", (STRING,), texts, dots), texts)
    return If(make.call("<=", (INT,), levels, integer(0)), String("..."), make.call("_sequence_string", (), parts))

# Zeros and numbers ----------------------------------------------------------------------------------




def zero_of_type(make: Maker, type_: Type) -> Exp:
    """Return the zero of the type, without a value of it."""
    match type_:
        case Base(name):
            return Const(base_zero(name), type_)
        case Pair(first, second):
            return typed.Pair(zero_of_type(make, first), zero_of_type(make, second))
        case Seq():
            return typed.Sequence((), type_)
        case Data(name, arguments):
            return make.call(name, arguments, zero_of_type(make, make.content(type_)))
        case Fun(_, _, Identity(name, types, ())) if name in PRIMITIVES or "'fn" not in name:
            return Global(name, types, type_)
    raise TypeError(type_)


def identity(make: Maker, type_: Type, x: Name | Apply) -> Exp:
    """Return the zero of the type; functions, which have none, stay as they are in x."""
    match type_:
        case Fun():
            return x
        case Pair(first, second):
            return typed.Pair(identity(make, first, make.first(x)), identity(make, second, make.rest(x)))
        case Data(name, arguments):
            return make.opened("content", type_, x,
                               lambda inner: make.call(name, arguments, identity(make, inner.type, inner)))
    return zero_of_type(make, type_)


def zero_of(make: Maker, type_: Type, v: Name) -> Exp:
    return zero_of_type(make, type_)


def least(make: Maker, type_: Type, v: Name) -> Exp:
    return Const(-inf if type_ == FLOAT else make.environment.widths.min_int if type_ == INT else "\0", type_)


def greatest(make: Maker, type_: Type, v: Name) -> Exp:
    return Const(inf if type_ == FLOAT else make.environment.widths.max_int if type_ == INT else "\U0010ffff", type_)


def one(make: Maker, type_: Type, x: Name) -> Exp:
    return Const(1.0 if type_ in (FLOAT, REAL) else 1, type_)


def zero(make: Maker, type_: Type, x: Name) -> Exp:
    return Const(0.0 if type_ in (FLOAT, REAL) else 0, type_)


def float_num(make: Maker, type_: Type, x: Name) -> Exp:
    return x if type_ == FLOAT else make.call("float", (), x)


def rand(make: Maker, type_: Type, v: Name) -> Exp:
    return make.call("_rand_float" if type_ == FLOAT else "_rand_int", (), v)


def precision(make: Maker, type_: Type, x: Name) -> Exp:
    return integer(make.environment.widths.precision)


def bits(make: Maker, type_: Type, x: Name) -> Exp:
    return integer(make.environment.widths.ints)


def steps(make: Maker, type_: Type, x: Name) -> Exp:
    return Const(2.0 ** make.environment.widths.precision, REAL)


def digits(make: Maker, type_: Type, x: Name) -> Exp:
    return integer(make.environment.widths.digits)


def int_to_any(make: Maker, type_: Type, i: Name, x: Name) -> Exp:
    return make.call("float", (), i) if type_ == FLOAT else i


def float_to_any(make: Maker, type_: Type, r: Name, x: Name) -> Exp:
    return r if type_ == FLOAT else make.call("round", (), r)

# Hashing and labels ---------------------------------------------------------------------------------


def code(make: Maker, type_: Type, x: Name) -> Exp:
    match type_:
        case Base("float"):
            return make.call("_code_of_float", (), x)
        case Base("_word"):
            return x
        case Base("int"):
            return make.call("_word", (), x)
        case Base(name):
            return make.call("_word", (), make.call({"bool": "btoi", "char": "char_code"}[name], (), x))
        case Pair(first, second):
            return make.call("_codes_of_two", (), make.call("_code", (first,), make.first(x)),
                             make.call("_code", (second,), make.rest(x)))
        case Seq(element):
            item = Name("x", element)
            return make.call("_code_of_sequence", (), each(make.call("_code", (element,), item), (item, x)))
        case Data():
            return make.opened("y", type_, x, lambda y: make.call("_code", (y.type,), y))
    return Const(0, WORD)


def label(make: Maker, type_: Type, v: Name) -> Exp:
    """Return for each element the position of the first that equals it."""
    x = Name("x", type_)
    match type_:
        case Base("float"):
            return make.call("_firsts", (type_,), v)
        case Base():
            return make.call("_label_words", (), codes(make, type_, v))
        case Pair(first, second):
            return make.call("_label_pairs", (), codes(make, first, each(make.first(x), (x, v))),
                             codes(make, second, each(make.rest(x), (x, v))))
        case Seq(element) if element in (INT, CHAR, WORD):
            return make.call("_label_sequences", (element,), v)
        case Seq(element):
            lengths = each(make.call("length", (element,), x), (x, v))
            elements = codes(make, element, make.call("flatten", (element,), v))
            return make.call("_label_sequences", (WORD,), make.call("partition", (WORD,), elements, lengths))
        case Data():
            content = make.content(type_)
            return make.call("_label", (content,), each(make.opened("y", type_, x, lambda y: y), (x, v)))
    return make.call("dist", (INT,), integer(0), make.call("length", (type_,), v))


def codes(make: Maker, type_: Type, v: Exp) -> Exp:
    """Return a word for each element, the same for equal ones and only for them."""
    if type_ in (INT, BOOL, CHAR, WORD):
        x = Name("x", type_)
        return each(make.call("_code", (type_,), x), (x, v))
    return codes(make, INT, make.call("_label", (type_,), v))


def place(make: Maker, type_: Type, v: Name) -> Exp:
    """Return for each element how many different ones are less."""
    x = Name("x", type_)
    match type_:
        case Base("bool"):
            return make.call("_places", (INT,), each(make.call("btoi", (), x), (x, v)))
        case Base():
            return make.call("_places", (type_,), v)
        case Pair(first, second):
            firsts = make.call("_place", (first,), each(make.first(x), (x, v)))
            seconds = make.call("_place", (second,), each(make.rest(x), (x, v)))
            return make.call("_place_pairs", (), firsts, seconds)
        case Seq(element):
            lengths = each(make.call("length", (element,), x), (x, v))
            elements = make.call("_place", (element,), make.call("flatten", (element,), v))
            return make.call("_place_sequences", (), make.call("partition", (INT,), elements, lengths))
        case Data():
            content = make.content(type_)
            return make.call("_place", (content,), each(make.opened("y", type_, x, lambda y: y), (x, v)))
    return make.call("dist", (INT,), integer(0), make.call("length", (type_,), v))


def ordered(make: Maker, type_: Type, v: Name) -> Exp:
    """Return the positions in ascending order."""
    x = Name("x", type_)
    match type_:
        case Base():
            return make.call("_order", (keyed(type_),), keys(make, type_, v))
        case Pair(first, second):
            by_rest = make.call("_ordered", (second,), each(make.rest(x), (x, v)))
            firsts = each(make.first(x), (x, v))
            exact = isinstance(first, Base) and first != FLOAT
            known = keys(make, first, firsts) if exact else make.call("_place", (first,), firsts)
            return make.call("_order_by", (keyed(first) if exact else INT,), known, by_rest)
        case Seq(Base("char")):
            return make.call("_order_sequences", (type_.element,), v)
        case Seq(element):
            lengths = each(make.call("length", (element,), x), (x, v))
            whole = make.call("flatten", (element,), v)
            exact = element in (INT, BOOL)
            known = codes(make, element, whole) if exact else codes(make, INT, make.call("_place", (element,), whole))
            elements = make.call("_near", (), known) if element == INT else known
            return make.call("_order_sequences", (WORD,), make.call("partition", (WORD,), elements, lengths))
        case Data():
            content = make.content(type_)
            return make.call("_ordered", (content,), each(make.opened("y", type_, x, lambda y: y), (x, v)))
    return make.call("index", (), make.call("length", (type_,), v))


def keyed(type_: Type) -> Type:
    """Return the type of what values of this scalar type are sorted by."""
    return INT if type_ == BOOL else type_


def keys(make: Maker, type_: Type, v: Exp) -> Exp:
    x = Name("x", type_)
    return each(make.call("btoi", (), x), (x, v)) if type_ == BOOL else v


MAKERS: dict[str, Callable[..., Exp]] = {
    "eql": eql, "string": string, "_string_limited": string_limited, "identity": identity, "_zero_of": zero_of,
    "_least": least, "_greatest": greatest, "one": one, "zero": zero, "float_num": float_num,
    "int_to_any": int_to_any, "float_to_any": float_to_any, "_code": code, "rand": rand, "_label": label,
    "_place": place, "_ordered": ordered,
    "_precision": precision, "_bits": bits, "_steps": steps, "_digits": digits,
}
ARITY = {"eql": 2, "_string_limited": 2, "int_to_any": 2, "float_to_any": 2}
