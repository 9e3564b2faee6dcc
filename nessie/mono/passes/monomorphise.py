"""Pass: make the mono program that begins with a function.

  in    typed programs: a library's and a session's definitions, and the program
  out   mono: one copy of each function per use at other types, without function values and datatypes
  how   The entry is found by the name that the user wrote; mono.copies makes the copies that it needs.
"""
from __future__ import annotations

from nessie.base.names import shown_name
from nessie.base.source import UsageError
from nessie.mono import nodes as mono
from nessie.mono.copies.copies import monomorphic
from nessie.syntax import nodes as syntax
from nessie.typing import nodes as typed
from nessie.typing.advice.messages import no_function
from nessie.typing.environment import Entry, Environment, constructor_scheme
from nessie.typing.signatures import concrete_type


def monomorphise(program: typed.Program, environment: Environment, entry: str,
                       argument: syntax.TypeExp | None) -> mono.Program:
    """Return the mono program that calls this function; `argument` is its argument's type if the function's own type is
    open. The program may use the definitions of the environment."""
    environment = with_definitions(environment, program)
    name = function_named(entry, program)
    type_ = None if argument is None else concrete_type(argument, environment)
    return monomorphic(environment, name, type_).program


def with_definitions(environment: Environment, program: typed.Program) -> Environment:
    """Return the environment with the program's definitions, because a type may name the program's datatypes."""
    environment = environment.copy()
    for definition in program.definitions:
        environment.program.add(definition)
        if isinstance(definition, typed.Datatype):
            made = Entry("constructor", definition.name, constructor_scheme(definition))
            environment.program.entries[shown_name(definition.name)] = made
    return environment


def function_named(name: str, program: typed.Program) -> str:
    """Return the internal name of the last function to which the user gave this name."""
    if not name:
        raise UsageError("which function is to be compiled? Name it with -e")
    functions = {shown_name(d.name): d.name for d in program.definitions if isinstance(d, typed.Function)}
    if name.lower() not in functions:
        raise no_function(name, functions)
    return functions[name.lower()]
