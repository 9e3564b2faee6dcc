"""Modules that are imported when something in them is first used.

    if TYPE_CHECKING:
        from nessie.frontend import infer, mono_check
    else:
        infer, mono_check = lazy("nessie.frontend", "infer", "mono_check")

    check = mono_check.check            nothing is imported; a type checker and an editor see the function itself
    check(program)                      now it is, the first time

tests/test_stages.py checks that what is imported late is what a type checker sees.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Its attributes are functions that import it when they are called."""

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


def lazy(package: str, *names: str) -> list[LazyModule]:
    """The modules of these names in the package."""
    return [LazyModule(f"{package}.{name}") for name in names]
