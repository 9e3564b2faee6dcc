"""A `dataclass` like the standard library's that takes a fifth of its time, which dominates Nessie's start-up.

Only `__init__` is compiled per class, for its first object; the methods that compare, hash and show objects are shared.
Fields are compared as tuples in every version of Python. Only the type checker keeps objects of a frozen class from
change: at run time, the standard library's check would make their creation three times as slow.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    def dataclass(cls=None, /, *, frozen=False, eq=True):
        return partial(made, frozen=frozen, eq=eq) if cls is None else made(cls, frozen, eq)


class KeepsHash:
    """A base class whose objects keep their hash, so that trees of them are hashed once. The hash is not passed to
    other processes, where strings have other hashes."""
    __slots__ = ("_hash",)
    _hash: int

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)


def made(cls: type, frozen: bool, eq: bool) -> type:
    """Return the class with the methods that it does not define itself."""
    own = {name for name, value in vars(cls).items() if value is not None}
    if not cls.__doc__:
        cls.__doc__ = cls.__name__          # else the standard library generates a long one
    cls = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {"__init__": initialiser(cls, fields), "__repr__": shown}
    if eq:
        hashing = kept_hash if issubclass(cls, KeepsHash) else new_hash
        methods |= comparison([field.name for field in fields if field.compare], hashing if frozen else None)
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def initialiser(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """Return an `__init__` that takes the fields in order, or by name. It compiles itself when it is first called: of
    most classes, a run makes no objects."""
    def first(self: Any, *given: Any, **named: Any) -> None:
        method = compiled(cls, fields)
        cls.__init__ = method           # type: ignore[misc]
        method(self, *given, **named)
    return first


def compiled(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """Return the `__init__` itself."""
    known: dict[str, Any] = {"_missing": MISSING}
    parameters, lines = ["self"], []
    for field in sorted(fields, key=attrgetter("kw_only")):
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        name, value = field.name, field.name
        if field.default_factory is not MISSING:
            known[f"_new_{name}"] = field.default_factory
            value = f"_new_{name}() if {name} is _missing else {name}"
            parameters.append(f"{name}=_missing")
        elif field.default is not MISSING:
            known[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *(lines or [" pass"])]), known)
    method: Callable[..., None] = known["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    return method


Values = Callable[[Any], tuple[Any, ...]]


def comparison(names: list[str], hashing: Callable[[Values], Callable[[Any], int]] | None) -> dict[str, Any]:
    """Return `__eq__` for objects of one class by the fields of these names, and `__hash__`."""
    values: Values = attrgetter(*names) if len(names) > 1 else lambda it: tuple([getattr(it, name) for name in names])

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": hashing(values) if hashing else None}


def new_hash(values: Values) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def kept_hash(values: Values) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        found: int | None = getattr(self, "_hash", None)        # a default, so that nothing is raised inside a handler
        if found is None:
            self._hash = found = hash(values(self))
        return found
    return hashed


@recursive_repr()
def shown(self: Any) -> str:
    texts = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)
                      if field.repr)
    return f"{self.__class__.__qualname__}({texts})"
