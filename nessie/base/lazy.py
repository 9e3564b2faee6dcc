"""Lazy modules: they are imported when something in them is first used.

    if TYPE_CHECKING:
        from nessie.mono import check as mono_check
        from nessie.typing import infer
    else:
        infer = lazy("nessie.typing.infer")
        mono_check = lazy("nessie.mono.check")

    check = mono_check.check            nothing is imported; a type checker and an editor see the function itself
    check(program)                      the first call imports the module

tests/pipeline/test_stages.py checks that the late imports agree with those that a type checker sees.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A module whose attributes are functions that import it when they are called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> LazyFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        return LazyFunction(self._name, name)


class LazyFunction:
    """A function of a module that may not be imported yet."""
    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return getattr(import_module(self.module), self.name)(*arguments, **named)


def lazy(module: str) -> LazyModule:
    """Return the module of this full name, lazily."""
    return LazyModule(module)
