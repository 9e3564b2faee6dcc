"""Pass: make one copy of each function per use at different types; drop type variables, function values and datatypes.

  in    an environment of typed definitions; the entry, a function at argument types or an expression
  out   mono.Program, with the meanings of the entry's parameters
  how   on demand from the entry: a function at types is an instance, translated once (mono.copies.specialise).
        Functions are nominal, so a function value's type names the function: calls through it call that function's
        instance, and an argument of function type is only its captured values. Top-level variables become parameters
        of all functions that need them; the entry's callers pass their values.
  ends  because functions are used at finitely many types. If the types grow without end (recursion at ever larger
        types, which forward declarations allow: mono.copies.ever_larger), an error says so. Finitely many types may
        still be more than anybody can compile.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.names import Names, shown_name
from nessie.base.records import dataclass
from nessie.base.source import NOWHERE, NessieError, Origin, Span, user_span
from nessie.base.text.types_text import show_scheme
from nessie.base.types import (
    INT,
    Fun,
    Identity,
    Pair,
    Type,
    free_variables,
    match_types,
    nest_right,
    show_type,
    substitute,
)
from nessie.library.primitives import IN_MONO, PRIMITIVES
from nessie.mono import nodes as mono
from nessie.mono.copies.erase import erase
from nessie.mono.copies.ever_larger import ever_larger
from nessie.mono.copies.specialise import Instance, Specialiser, Supply
from nessie.mono.walk import called, map_parts
from nessie.typing import nodes as typed
from nessie.typing import walk as typed_walk
from nessie.typing.environment import Anonymous, Environment, pattern_type
from nessie.typing.node_types import leaves
from nessie.typing.unify import LARGEST, is_too_large

FOLDS = {"reduce": ("reduce", False), "scan": ("scan", False), "_reduce_neutral": ("reduce", True)}     # the library's
OPERATOR = "_combine"           # the library's function that combines two elements by the function it is given
MOST_COPIES = 5_000             # of functions, at different types
MANY = 100                      # of one function: do its types grow without end?
SHOWN = 60                      # characters of a type
SMALLER = "a function is compiled for each type that it is called at; sequences of any length have one type"


@dataclass(frozen=True)
class Monomorphised:
    """The program and its entry's parameters: first the parts of the argument, of these types, then the values of the
    variables. The types are those of the source, as is the result's."""
    program: mono.Program
    parameters: tuple[Type, ...]
    variables: tuple[typed.Name, ...]
    result: Type


def monomorphic(environment: Environment, entry: str, argument: Type | None = None) -> Monomorphised:
    """Return the program that calls the function `entry` (an internal name) on an argument of this type; None if the
    function's type determines it."""
    function = environment.function(entry)
    parameter = pattern_type(function.parameter)
    types = match_types(parameter, parameter if argument is None else argument)
    if types is None or any(v.name not in types for v in function.variables):
        takes = f"{shown_name(entry)} takes {show_scheme(parameter)}"
        if types is None and argument is not None:
            message, hint = f"{takes}, not {show_scheme(argument)}", ""
        else:
            message = f"{takes}: the type of the argument must be given"
            hint = "-t TYPE gives it: -t int, -t '[float]', -t '([int], float)'"
        raise NessieError(message, *[(span, "") for span in function.origin[:1]], hint=hint)
    instances = Instances(environment)
    made = instances.function(entry, tuple(types[v.name] for v in function.variables), function.origin)
    return instances.finish(made)


def monomorphic_expression(environment: Environment, exp: typed.Exp, type_: Type) -> Monomorphised:
    """Return the program whose entry computes the expression, of this type."""
    instances = Instances(environment)
    nothing = typed.NamePattern("_", Fun(type_, type_, Identity("it")))         # erased: the entry has no argument
    return instances.finish(instances.add(Instance(instances.names.fresh("it"), nothing, type_, exp, {},
                                                   getattr(exp, "origin", NOWHERE))))


class Instances:
    """The requested instances, and those whose bodies are still to be made."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.names = Names(IN_MONO)
        self.made: dict[tuple[str, tuple[Type, ...]], Instance] = {}
        self.copies: dict[str, int] = {}
        self.lambdas: dict[str, Anonymous] = {}
        self.pending: list[Instance] = []
        self.supply = Supply(environment, Names(), self.function, self.anonymous, self.register)

    def add(self, instance: Instance) -> Instance:
        self.pending.append(instance)
        return instance

    def function(self, name: str, types: tuple[Type, ...], origin: Origin) -> Instance:
        if is_too_large(types):
            self.refuse_endless()
            raise NessieError(f"{shown_name(name)} is called at types with more than {LARGEST:,} parts",
                              *at(origin), hint=SMALLER)
        types = tuple([ground(type_) for type_ in types])
        key = name, types
        if key not in self.made:
            if self.copies.get(name, 0) == MANY:
                self.refuse_endless()
            if len(self.made) >= MOST_COPIES:
                raise self.too_many(origin)
            definition = derive(name, types, self.environment) if name in PRIMITIVES \
                else self.environment.function(name)
            made = self.instance(definition, types)
            if name in FOLDS and all([span.source.library for span in definition.origin]):
                made = replace(made, fold=self.fold(made, *FOLDS[name]))
            self.made[key] = self.add(made)
            self.copies[name] = self.copies.get(name, 0) + 1
        return self.made[key]

    def fold(self, made: Instance, form: str, neutral: bool) -> mono.Fold | None:
        """Return what this function of the library does, which combines elements by its first argument."""
        function, element = [leaf.type for leaf in leaves(made.parameter)][:2]
        if erase(element, self.environment) is None:
            return None
        definition = self.environment.function(OPERATOR)
        found = match_types(pattern_type(definition.parameter), nest_right([function, element, element], Pair))
        assert found is not None
        operator = self.function(OPERATOR, tuple([found[v.name] for v in definition.variables]), made.origin)
        return mono.Fold(form, operator.name, neutral)

    def refuse_endless(self) -> None:
        """Report calls that lead from a function to the same one at a larger type."""
        if circle := ever_larger(self.environment, dict.fromkeys(name for name, _ in self.made)):
            places = [place for number, edge in enumerate(circle)
                      for place in at(edge.call.origin, "" if number else "the type grows here")]
            raise NessieError(f"{shown_name(circle[0].target[0])} is called at ever larger types, without end",
                              *dict.fromkeys(places), hint="let the depth be data: a sequence, a number")

    def too_many(self, origin: Origin) -> NessieError:
        """Return the error that names the function with the most copies, and their types."""
        most = max(self.copies, key=self.copies.__getitem__)
        last = [types for name, types in self.made if name == most][-1]
        shown = show_type(nest_right(last, Pair)) if last else ""
        if len(shown) > SHOWN:
            shown = shown[:SHOWN] + "..."
        return NessieError(f"the program needs more than {MOST_COPIES:,} functions at different types: "
                           f"{self.copies[most]:,} of them are {shown_name(most)}, the last at {shown}",
                           *at(origin), hint=SMALLER)

    def instance(self, function: typed.Function, types: tuple[Type, ...]) -> Instance:
        by = dict(zip((v.name for v in function.variables), types, strict=True))
        return Instance(self.names.fresh(shown_name(function.name)), close(function.parameter, by),
                        substitute(function.result, by), function.body, by, function.origin)

    def register(self, function: typed.Lambda, variables: tuple[str, ...]) -> None:
        """Remember a lambda; its identity is at types for these variables."""
        self.lambdas[typed_walk.identity(function).name] = function, variables

    def anonymous(self, kind: Fun) -> Instance:
        """Return the instance of a lambda: its captured variables come before its own parameters."""
        grounded, identity = ground(kind), ground(kind.identity)
        assert isinstance(grounded, Fun) and isinstance(identity, Identity)
        key = identity.name, (*identity.types, *identity.captured, grounded)
        if key not in self.made:
            found = self.lambdas.get(identity.name) or self.environment.anonymous(identity.name)
            assert found is not None, identity.name
            function, variables = found
            by = dict(zip(variables, identity.types, strict=True))
            name = self.names.fresh(identity.name.replace("'", "_"))
            parameter = close(with_captured(function), by)
            self.made[key] = self.add(Instance(name, parameter, grounded.result, function.body, by, function.origin))
        return self.made[key]

    def finish(self, entry: Instance) -> Monomorphised:
        """Make all bodies that are still to be made, and those that they need."""
        functions: list[mono.Function] = []
        wanted: dict[str, dict[str, tuple[typed.Name, mono.Var]]] = {}
        while self.pending:
            specialiser = Specialiser(self.supply, self.pending.pop())
            functions.append(specialiser.function())
            wanted[functions[-1].name] = specialiser.variables
        functions.reverse()                                     # callees before their callers, mostly
        variables = pass_variables(functions, wanted, self.supply.binders)
        parameters = tuple(leaf.type for leaf in leaves(entry.parameter) if erase(leaf.type, self.environment))
        return Monomorphised(mono.Program(tuple(functions), entry.name), parameters, variables[entry.name],
                             entry.result)


def at(origin: Origin, label: str = "here") -> list[tuple[Span, str]]:
    place = user_span(origin)
    return [(place, label)] if place else []


def ground(type_: Type) -> Type:
    """Return the type without variables: nothing depends on those left open, and int is in every class."""
    open_: dict[str, Type] = {variable.name: INT for variable in free_variables(type_)}
    return substitute(type_, open_) if open_ else type_


def with_captured(function: typed.Lambda) -> typed.Pattern:
    """Return a lambda's parameter: the tuple of its captured values, and its argument."""
    if not function.captured:
        return function.pattern
    captures: list[typed.Pattern] = [typed.NamePattern(name.name, name.type) for name in function.captured]
    return typed.PairPattern(nest_right(captures, typed.PairPattern), function.pattern)


def derive(name: str, types: tuple[Type, ...], environment: Environment) -> typed.Function:
    """Return the function of a derived primitive at these types."""
    from nessie.mono.copies.derived import derive as derive_at
    return derive_at(name, types, environment)


def close(pattern: typed.Pattern, by: dict[str, Type]) -> typed.Pattern:
    """Return the pattern at these types."""
    match pattern:
        case typed.NamePattern(name, type_):
            return typed.NamePattern(name, substitute(type_, by))
        case typed.PairPattern(first, second):
            return typed.PairPattern(close(first, by), close(second, by))
        case typed.DataPattern(constructor, types, argument):
            return typed.DataPattern(constructor, tuple(substitute(t, by) for t in types), close(argument, by))
    raise TypeError(pattern)


def pass_variables(functions: list[mono.Function], wanted: dict[str, dict[str, tuple[typed.Name, mono.Var]]],
                   binders: Names) -> dict[str, tuple[typed.Name, ...]]:
    """Add to every function the top-level variables that it or a callee needs, as further parameters, and to every call
    the arguments. Return these variables for each function."""
    calls = {f.name: set(called(f.body)) for f in functions}
    spread_over(wanted, calls, binders)
    if any(wanted.values()):
        for position, function in enumerate(functions):
            own = wanted[function.name]
            more = tuple(mono.Parameter(own[n][1].name, own[n][1].type) for n in sorted(own))
            functions[position] = replace(function, parameters=function.parameters + more,
                                          body=with_variables(function.body, own, wanted))
    return {name: tuple(own[n][0] for n in sorted(own)) for name, own in wanted.items()}


def spread_over(wanted: dict[str, dict[str, tuple[typed.Name, mono.Var]]], calls: dict[str, set[str]],
                binders: Names) -> None:
    """Add to the callers the variables that their callees need."""
    callers: dict[str, list[str]] = {name: [] for name in calls}
    for caller, callees in calls.items():
        for callee in callees:
            callers[callee].append(caller)
    pending = [name for name in calls if wanted[name]]
    while pending:
        callee = pending.pop()
        for caller in callers[callee]:
            missing = wanted[callee].keys() - wanted[caller].keys()
            for variable in sorted(missing):
                source, there = wanted[callee][variable]
                wanted[caller][variable] = source, mono.Var(binders.fresh(variable), there.type)
            if missing:
                pending.append(caller)


def with_variables(exp: mono.Exp, own: dict[str, tuple[typed.Name, mono.Var]],
                   wanted: dict[str, dict[str, tuple[typed.Name, mono.Var]]]) -> mono.Exp:
    """Return the expression with its calls passing the variables that the callees need."""
    exp = map_parts(exp, lambda part: with_variables(part, own, wanted))
    if isinstance(exp, mono.Call) and wanted[exp.function]:
        more = tuple(own[name][1] for name in sorted(wanted[exp.function]))
        return replace(exp, arguments=exp.arguments + more)
    return exp
