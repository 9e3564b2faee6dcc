"""The validator of typed programs: check(program, environment) raises IllFormed, naming the broken invariant.

The invariants are those of typing.nodes. The environment knows what the program uses but does not define; by default it
is the library.
"""
from __future__ import annotations

from typing import NoReturn

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.source import IllFormed
from nessie.base.types import (
    BOOL,
    CLASSES,
    FLOAT,
    STRING,
    Base,
    Fun,
    Identity,
    Pair,
    Seq,
    Type,
    Var,
    free_variables,
    instantiate,
    is_member,
    show_type,
)
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment, constructor_scheme, function_scheme
from nessie.typing.node_types import pattern_names, pattern_type

Scope = dict[str, Type]
CONSTANTS = {bool: "bool", int: "int", float: "float", str: "char"}


def check(program: typed.Program, environment: Environment) -> None:
    Checker(environment, program).program(program)


def broken(invariant: str, where: str) -> NoReturn:
    raise IllFormed(f"{invariant}: {where}")


class Checker:
    def __init__(self, environment: Environment, program: typed.Program) -> None:
        self.environment = environment
        self.schemes = {d.name: function_scheme(d) if isinstance(d, typed.Function) else constructor_scheme(d)
                        for d in program.definitions if not isinstance(d, typed.Variable)}
        self.globals: Scope = dict(environment.variables)       # top-level variables seen so far
        self.variables: tuple[Var, ...] | None = None           # type variables of the function being checked
        self.definition = ""

    def program(self, program: typed.Program) -> None:
        for definition in program.definitions:
            match definition:
                case typed.Function():
                    self.function(definition)
                case typed.Datatype():
                    self.datatype(definition)
                case typed.Variable(pattern, value):
                    self.variable(pattern, value, definition)

    def datatype(self, datatype: typed.Datatype) -> None:
        if not set(free_variables(datatype.content)) <= set(datatype.variables):
            broken("a type variable is declared by its definition", f"datatype {datatype.name}")

    def function(self, function: typed.Function) -> None:
        self.definition, self.variables = f"function {function.name}", function.variables
        scope = self.pattern(function.parameter)
        self.declared(function.result)
        result = self.exp(function.body, scope)
        self.same(result, function.result, "a function's result has the type of its body")

    def variable(self, pattern: typed.Pattern, value: typed.Exp, definition: typed.Variable) -> None:
        names = [p.name for p in pattern_names(pattern)]
        self.definition, self.variables = f"variable {', '.join(names)}", None
        scope = self.pattern(pattern)
        self.same(self.exp(value, {}), pattern_type(pattern), "a pattern has the type of its value")
        self.globals.update(scope)

    def same(self, one: Type, other: Type, invariant: str) -> None:
        if one != other:
            broken(invariant, f"{show_type(one)} and {show_type(other)} in {self.definition}")

    def declared(self, type_: Type) -> None:
        """Check that a function uses only the type variables that it declares; a value at the top level may have
        any."""
        if self.variables is not None:
            for variable in free_variables(type_):
                if variable not in self.variables:
                    broken("a type variable is declared by its definition", f"{variable.name} in {self.definition}")

    def pattern(self, pattern: typed.Pattern) -> Scope:
        """Check the pattern and return the names that it binds."""
        scope: Scope = {}
        for found in pattern_names(pattern):
            if found.name in scope:
                broken("a pattern binds a name once", f"{found.name} in {self.definition}")
            scope[found.name] = found.type
            self.declared(found.type)
        self.constructors(pattern)
        return scope

    def constructors(self, pattern: typed.Pattern) -> None:
        """Check that datatype patterns agree with their datatypes."""
        match pattern:
            case typed.PairPattern(first, second):
                self.constructors(first)
                self.constructors(second)
            case typed.DataPattern(constructor, types, argument):
                type_ = self.instance(constructor, types)
                assert isinstance(type_, Fun)
                self.same(pattern_type(argument), type_.argument, "a datatype's pattern has the type of its content")
                self.constructors(argument)

    def instance(self, name: str, types: tuple[Type, ...]) -> Type:
        """Return the type of a global name at these types."""
        scheme = self.schemes.get(name) or self.environment.global_scheme(name)
        if scheme is None:
            broken("every name is bound", f"{name} in {self.definition}")
        if len(types) != len(scheme.variables):
            broken("a Global is at one type for each variable of its scheme", f"{name} in {self.definition}")
        for variable, type_ in zip(scheme.variables, types, strict=True):
            self.declared(type_)
            if not in_class(type_, variable.cls):
                broken("the types of a Global are in the classes of its scheme",
                       f"{name} at {show_type(type_)} in {self.definition}")
        return instantiate(scheme, types)

    def exp(self, e: typed.Exp, scope: Scope) -> Type:
        """Check the expression and all in it; return its type."""
        match e:
            case typed.Const(value, type_):
                if type_ != Base(CONSTANTS[type(value)]) or (type(value) is int and not MIN_INT <= value <= MAX_INT):
                    broken("a constant has the type of its value", f"{value!r} in {self.definition}")
                return type_
            case typed.String():
                return STRING
            case typed.Name():
                return self.name(e, scope)
            case typed.Global(name, types, type_):
                self.same(type_, self.instance(name, types), "a Global has its scheme's type at its types")
                return type_
            case typed.Let():
                return self.lets(e, dict(scope))
            case typed.If(condition, then, orelse):
                self.same(self.exp(condition, scope), BOOL, "a condition is a bool")
                type_ = self.exp(then, scope)
                self.same(type_, self.exp(orelse, scope), "both branches of an if have one type")
                return type_
            case typed.Pair(first, second):
                return Pair(self.exp(first, scope), self.exp(second, scope))
            case typed.Sequence(elements, type_):
                for element in elements:
                    self.same(Seq(self.exp(element, scope)), type_, "the elements of a sequence have its element type")
                self.declared(type_)
                return type_
            case typed.Time(body):
                return Pair(self.exp(body, scope), FLOAT)
        return self.function_exp(e, scope)

    def lets(self, e: typed.Exp, scope: Scope) -> Type:
        """Check a chain of lets, which extends its own scope."""
        while isinstance(e, typed.Let):
            self.same(self.exp(e.value, scope), pattern_type(e.pattern), "a pattern has the type of its value")
            scope.update(self.pattern(e.pattern))
            e = e.body
        return self.exp(e, scope)

    def function_exp(self, e: typed.Exp, scope: Scope) -> Type:
        """Check applications and expressions that have bodies."""
        match e:
            case typed.Apply(function, argument, type_):
                applied = self.exp(function, scope)
                if not isinstance(applied, Fun):
                    broken("what is applied is a function", f"{show_type(applied)} in {self.definition}")
                self.same(self.exp(argument, scope), applied.argument, "an argument has its parameter's type")
                self.same(type_, applied.result, "an application has its function's result type")
                return type_
            case typed.Each():
                return self.each(e, scope)
            case typed.Lambda():
                return self.lambda_(e, scope)
            case typed.Closure(function, argument, type_):
                closed, given = self.exp(function, scope), self.exp(argument, scope)
                if not isinstance(closed, Fun) or not isinstance(closed.argument, Pair):
                    broken("a closure is of a function of two arguments", f"{show_type(closed)} in {self.definition}")
                self.same(given, closed.argument.first, "an argument has its parameter's type")
                identity = Identity("closure", (), (closed, given))
                self.same(type_, Fun(closed.argument.second, closed.result, identity), "a closure's type says of what")
                return type_
        raise TypeError(e)

    def name(self, e: typed.Name, scope: Scope) -> Type:
        bound = scope.get(e.name)
        if bound is not None:
            self.same(e.type, bound, "a name has the type of its binder")
        elif e.name not in self.globals:
            broken("every name is bound", f"{e.name} in {self.definition}")
        elif not any(free_variables(self.globals[e.name])):
            self.same(e.type, self.globals[e.name], "a name has the type of its binder")
        return e.type

    def each(self, e: typed.Each, scope: Scope) -> Type:
        inner = dict(scope)
        names: set[str] = set()
        for generator in e.generators:
            source = self.exp(generator.source, scope)
            self.same(source, Seq(pattern_type(generator.pattern)), "a generator's pattern has its element's type")
            bound = self.pattern(generator.pattern)
            if names & set(bound):
                broken("a pattern binds a name once", f"{(names & set(bound)).pop()} in {self.definition}")
            names |= set(bound)
            inner.update(bound)
        if e.filter is not None:
            self.same(self.exp(e.filter, inner), BOOL, "a filter is a bool")
        return Seq(self.exp(e.body, inner))

    def lambda_(self, e: typed.Lambda, scope: Scope) -> Type:
        for variable in e.captured:
            self.name(variable, scope)
        inner = {v.name: v.type for v in e.captured}
        visible = self.globals
        self.globals = {}                               # a lambda sees what it captures, and nothing else
        result = self.exp(e.body, {**inner, **self.pattern(e.pattern)})
        self.globals = visible
        if not isinstance(e.type, Fun) or not isinstance(e.type.identity, Identity):
            broken("a lambda has a function type", self.definition)
        self.same(e.type.argument, pattern_type(e.pattern), "a lambda's argument has its pattern's type")
        self.same(e.type.result, result, "a lambda's result has the type of its body")
        if e.type.identity.captured != tuple(v.type for v in e.captured):
            broken("a lambda's identity lists the types of what it captures", self.definition)
        return e.type


def in_class(type_: Type, cls: str) -> bool:
    match type_:
        case _ if cls == "any":
            return True
        case Base(name):
            return is_member(name, cls)
        case Var(_, own):
            return own != "any" and set(CLASSES[own]) <= set(CLASSES[cls])
    return False
