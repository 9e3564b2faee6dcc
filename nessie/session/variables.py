"""Converts a session's variables to the interpreter's plain values."""
from __future__ import annotations

from typing import Any

from nessie.base.source import Unsupported
from nessie.base.types import Type, expand, holds_function
from nessie.base.values import plain_value
from nessie.interpreter.effects import dressed
from nessie.mono.copies.erase import content
from nessie.running.results import restore
from nessie.typing.environment import Environment


class Variables(dict[str, Any]):
    """The session's variables as plain values, each made at its first use."""

    def __init__(self, values: dict[str, Any], environment: Environment) -> None:
        super().__init__()
        self.values_of_session, self.environment = values, environment

    def __missing__(self, name: str) -> Any:
        self[name] = plain(self.values_of_session[name], self.environment.variables[name], self.environment)
        return self[name]


def plain(value: Any, type_: Type, environment: Environment) -> Any:
    """The plain value of a run-time value. Unsupported if it holds a function."""
    whole, bare = restore(value, type_, environment), expand(type_, lambda data: content(data, environment))
    if holds_function(bare):
        raise Unsupported("a variable holds a function")
    return dressed(plain_value(whole, bare), type_, lambda data: content(data, environment))
