"""Pass: the mono program that begins with a function.

  in    typed programs: a library's and a session's definitions, and the program
  out   mono: one copy of each function per use at other types, without function values and datatypes
  how   The entry is found by the name that the user wrote; mono.copies makes what it needs.
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
from nessie.typing.signatures import to_type


def monomorphise(program: typed.Program, environment: Environment, entry: str,
                       argument: syntax.TypeExp | None) -> mono.Program:
    """The mono program that calls this function; its argument's type where its own leaves that open. The program may
    use what is in the environment."""
    environment = with_definitions(environment, program)
    name = function_named(entry, program)
    type_ = None if argument is None else to_type(argument, {}, environment, None)
    return monomorphic(environment, name, type_).program


def with_definitions(environment: Environment, program: typed.Program) -> Environment:
    """The environment with the program's definitions. A type may be written with the program's datatypes."""
    environment = environment.copy()
    for definition in program.definitions:
        environment.program.add(definition)
        if isinstance(definition, typed.Datatype):
            made = Entry("constructor", definition.name, constructor_scheme(definition))
            environment.program.entries[shown_name(definition.name)] = made
    return environment


def function_named(name: str, program: typed.Program) -> str:
    """The internal name of the last function that the user called so."""
    if not name:
        raise UsageError("which function is to be compiled? Name it with -e")
    functions = {shown_name(d.name): d.name for d in program.definitions if isinstance(d, typed.Function)}
    if name.lower() not in functions:
        raise no_function(name, functions)
    return functions[name.lower()]
