"""Finds the sizes that users give by name, per function.

    xs=1e7              the number of elements of the array xs, or of rows of a nested sequence xs
    flatten(xs)=1e8     the number of elements of all its rows together
    n=1000              the number n, or a size that lambda_cu calls n

The user's own numbers come before sizes to which lambda_cu gives the same name. If nothing has exactly the name, it
stands for all that differ from it only by a number.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from nessie.base.names import stem
from nessie.base.source import NessieError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope


def hints(program: ir.Program, sizes: Mapping[str, float], strict: bool) -> dict[str, dict[str, float]]:
    """Per function, the sizes that are given. `strict`: a name that no function has is an error."""
    known = {of.name: sizes_of(of) for of in program.functions}
    result: dict[str, dict[str, float]] = {name: {} for name in known}
    for wish, number in sizes.items():
        meant = meant_by(wish, known)
        if strict and not meant:
            there = dict.fromkeys(other for names in known.values() for other in names)
            raise NessieError(f"nothing is called {wish} that has a size", hint=f"there are {', '.join(there)}")
        for function, size in meant:
            result[function][size] = number
    return result


def named(program: ir.Program, sizes: Mapping[str, float]) -> dict[str, float]:
    """Those of the sizes that the program has names for."""
    known = {of.name: sizes_of(of) for of in program.functions}
    return {name: number for name, number in sizes.items() if meant_by(name, known)}


def meant_by(wish: str, known: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The functions with the sizes that the name stands for. `known`: the names of each function."""
    name = wish.lstrip("#").lower()
    return [(function, found) for function, names in known.items()
            for found in ([names[name]] if name in names else
                          dict.fromkeys(size for other, size in names.items() if stem(other) == name))]


def sizes_of(function: ir.Function) -> dict[str, str]:
    """The names by which the sizes of a function may be given, with the sizes."""
    found: dict[str, str] = {}
    for name, size in named_sizes(function):
        found.setdefault(name, size)
    return found


def named_sizes(function: ir.Function) -> Iterator[tuple[str, str]]:
    """Yield those names with their sizes; of equal names, the first counts."""
    params = [param for param in scope.bound(function) if param.name != "_"]
    arrays = {param.name: param.type for param in params if isinstance(param.type, ir.Array)}
    counts = {type_.size for param in function.params if isinstance(type_ := param.type, ir.Array)}
    for param in function.params:
        if param.type == "int" and param.name not in counts:
            yield stem(param.name), param.name
    for name, type_ in arrays.items():
        if isinstance(type_.size, str):
            if type_.plus:
                yield name.removesuffix("_offsets"), type_.size
            elif f"{name}_offsets" in arrays:
                yield f"flatten({name})", type_.size
            else:
                yield name, type_.size
    for param in params:
        if param.type == "int":
            yield param.name, param.name
