"""The validator of mono: raises IllFormed naming the invariant (nessie.mono.nodes) that a program breaks."""
from __future__ import annotations

from nessie.base.source import IllFormed
from nessie.base.types import BOOL, CHAR, FLOAT, FLOAT32, INT, INT32, STRING, Pair, Seq, Type, show_type
from nessie.base.widths import FULL, Widths
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.node_types import element_place, fits
from nessie.mono.nodes import Exp
from nessie.mono.text import show_exp
from nessie.typing.unify import parts

NARROW = Widths(32, 32)
MOST_SHOWN = 400        # characters of a failing expression


def check(program: mono.Program) -> None:
    functions: dict[str, mono.Function] = {}
    for function in program.functions:
        define(function, functions)
    require(program.entry in functions, f"the entry is a function of the program: {program.entry}")
    checker = Checker(functions)
    for function in program.functions:
        checker.function(function)


def define(function: mono.Function, functions: dict[str, mono.Function]) -> None:
    require(function.name not in functions, f"a function is defined once: {function.name}")
    require(function.name not in IN_MONO, f"no function has the name of a primitive: {function.name}")
    functions[function.name] = function


def require(holds: bool, invariant: str, exp: Exp | None = None) -> None:
    if not holds:
        shown = "" if exp is None else ":\n" + show_exp(exp)[:MOST_SHOWN]
        raise IllFormed(invariant + shown)


def same(type_: Type, expected: Type, what: str, exp: Exp) -> None:
    if type_ is not expected and type_ != expected:
        require(False, f"{what} is {show_type(type_)}, where {show_type(expected)} is due", exp)


class Checker:
    """Checks the functions, with the types of the names in scope and the names bound so far anywhere."""

    def __init__(self, functions: dict[str, mono.Function]) -> None:
        self.functions = functions
        self.bound: set[str] = set()
        self.scope: dict[str, Type] = {}
        self.first_order: set[Type] = {INT, FLOAT, BOOL, CHAR, INT32, FLOAT32}      # types known to be first order

    def is_first_order(self, type_: Type) -> bool:
        """Is the type made of scalars, sequences and pairs?"""
        if type_ in self.first_order:
            return True
        if isinstance(type_, Seq | Pair) and all([self.is_first_order(part) for part in parts(type_)]):
            self.first_order.add(type_)
            return True
        return False

    def function(self, function: mono.Function) -> None:
        require(self.is_first_order(function.result),
                f"types are monomorphic and first order: result of {function.name}")
        for parameter in function.parameters:
            self.bind(parameter, parameter.type)
        same(self.exp(function.body), function.result, f"the body of {function.name}", function.body)
        self.scope.clear()
        if function.fold is not None:
            require(element_place(function, self.functions.get(function.fold.operator)) is not None,
                    f"the operator of {function.name} takes two elements where it takes an identity and a sequence")
        if function.row_of:
            require(self.is_of_row(function, self.functions.get(function.row_of)),
                    f"{function.name} takes and gives one row where {function.row_of} takes and gives all")

    def is_of_row(self, function: mono.Function, whole: mono.Function | None) -> bool:
        if whole is None or len(whole.parameters) != len(function.parameters) or whole.result != Seq(function.result):
            return False
        types = [(p.type, q.type) for p, q in zip(function.parameters, whole.parameters, strict=True)]
        return [pair for pair in types if pair[0] != pair[1]] == [(function.result, whole.result)]

    def bind(self, binder: mono.Parameter | mono.Generator | mono.Let, type_: Type) -> None:
        name = binder.name
        require(self.is_first_order(type_), f"types are monomorphic and first order: {name}")
        require(name not in self.bound, f"every binder is bound once in the program: {name}")
        self.bound.add(name)
        self.scope[name] = type_

    def exp(self, exp: Exp) -> Type:
        """Check the expression and return its type."""
        match exp:
            case mono.Let():
                return self.let(exp)
            case mono.If(condition, then, orelse):
                same(self.exp(condition), BOOL, "a condition", condition)
                type_ = self.exp(then)
                same(self.exp(orelse), type_, "the other branch of a conditional", orelse)
                return type_
            case mono.Pair(first, second):
                return Pair(self.exp(first), self.exp(second))
            case mono.First(pair):
                return self.pair(pair, exp).first
            case mono.Second(pair):
                return self.pair(pair, exp).second
            case mono.Each():
                return self.each(exp)
        return self.typed(exp)

    def typed(self, exp: mono.Const | mono.String | mono.Var | mono.Prim | mono.Call | mono.Literal) -> Type:
        """Check an expression that states its type."""
        match exp:
            case mono.String():
                return STRING
            case mono.Const(value, type_):
                require(is_constant(value, type_), f"a constant is a value of its type: {value!r}, {type_}")
            case mono.Var(name, type_):
                require(name in self.scope, f"every variable is in scope: {name}")
                same(type_, self.scope[name], "a variable is used at the type of its binder: it", exp)
                return self.scope[name]
            case mono.Prim():
                self.primitive(exp)
            case mono.Call():
                self.call(exp)
            case mono.Literal():
                self.literal(exp)
        return exp.type

    def let(self, exp: mono.Let) -> Type:
        """Check a chain of lets, of any length."""
        names: list[str] = []
        rest: Exp = exp
        while isinstance(rest, mono.Let):
            self.bind(rest, self.exp(rest.value))
            names.append(rest.name)
            rest = rest.body
        type_ = self.exp(rest)
        for name in names:
            del self.scope[name]
        return type_

    def pair(self, pair: Exp, projection: Exp) -> Pair:
        type_ = self.exp(pair)
        require(isinstance(type_, Pair), "a projection is of a pair", projection)
        assert isinstance(type_, Pair)
        return type_

    def each(self, exp: mono.Each) -> Type:
        require(len(exp.generators) >= 1, "an apply-to-each has a generator")
        elements: list[tuple[mono.Generator, Type]] = []
        for generator in exp.generators:
            source = self.exp(generator.source)
            require(isinstance(source, Seq), "the source of a generator is a sequence", generator.source)
            assert isinstance(source, Seq)
            elements.append((generator, source.element))
        for generator, element in elements:         # after the sources, which do not see these names
            self.bind(generator, element)
        if exp.filter is not None:
            same(self.exp(exp.filter), BOOL, "a filter", exp.filter)
        body = self.exp(exp.body)
        for generator, _ in elements:
            del self.scope[generator.name]
        return Seq(body)

    def primitive(self, exp: mono.Prim) -> None:
        require(exp.name in IN_MONO, f"primitives are rows of their table: {exp.name}")
        arguments = tuple([self.exp(a) for a in exp.arguments])
        require(self.is_first_order(exp.type), "types are monomorphic and first order", exp)
        if not fits(exp.name, arguments, exp.type):
            shown = ", ".join(show_type(type_, False) for type_ in arguments)
            require(False, f"a primitive is used at types it has: {exp.name} of ({shown}) "
                           f"giving {show_type(exp.type)}", exp)
        if exp.name == "check":
            require(isinstance(exp.arguments[1], mono.String), "the message of a check is a literal", exp)

    def call(self, exp: mono.Call) -> None:
        require(exp.function in self.functions, f"calls name functions of the program: {exp.function}")
        function = self.functions[exp.function]
        require(len(exp.arguments) == len(function.parameters),
                f"a call has one argument per parameter: {exp.function}", exp)
        for argument, parameter in zip(exp.arguments, function.parameters, strict=True):
            same(self.exp(argument), parameter.type, f"argument {parameter.name} of {exp.function}", exp)
        same(exp.type, function.result, f"a call of {exp.function}", exp)

    def literal(self, exp: mono.Literal) -> None:
        require(isinstance(exp.type, Seq) and self.is_first_order(exp.type), "a literal has a sequence type", exp)
        assert isinstance(exp.type, Seq)
        for element in exp.elements:
            same(self.exp(element), exp.type.element, "an element of a literal", exp)


def is_constant(value: int | float | bool | str, type_: Type) -> bool:
    match value:
        case bool():
            return type_ == BOOL
        case int():
            return type_ in (INT, INT32) and (NARROW if type_ == INT32 else FULL).fits(value)
        case float():
            return type_ == FLOAT or (type_ == FLOAT32 and repr(NARROW.constant(value)) == repr(value))
    return type_ == CHAR and len(value) == 1
