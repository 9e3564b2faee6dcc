"""`dataclass`, as that of the standard library, but in a fifth of the time, of which Nessie's start-up is made.

Of a class only `__init__` is compiled; what compares, hashes and shows its objects is shared. Fields are compared as
tuples in every version of Python. A frozen class keeps its objects from change by the type checker alone: at run time
the standard library's would make them three times as slowly.
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
    """An object keeps its hash, so that trees of such are hashed once. Not for other processes: texts have other hashes
    there."""
    __slots__ = ("_hash",)
    _hash: int

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)


def made(cls: type, frozen: bool, eq: bool) -> type:
    """The class, with the methods that it does not define itself."""
    own = {name for name, value in vars(cls).items() if value is not None}
    if not cls.__doc__:
        cls.__doc__ = cls.__name__          # else the standard library writes one, at length
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
    """Takes the fields in order, or by name; those of keywords only by name."""
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
    """`__eq__` of objects of one class by the fields of these names, and `__hash__`."""
    values: Values = attrgetter(*names) if len(names) > 1 else lambda it: tuple([getattr(it, name) for name in names])

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": hashing(values) if hashing else None}


def new_hash(values: Values) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def kept_hash(values: Values) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        found: int | None = getattr(self, "_hash", None)        # no exception, in whose handler others would be raised
        if found is None:
            self._hash = found = hash(values(self))
        return found
    return hashed


@recursive_repr()
def shown(self: Any) -> str:
    texts = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)
                      if field.repr)
    return f"{self.__class__.__qualname__}({texts})"
