"""Mappings that no space has, of however many axes: what is wrong with them can be told without a program."""
from __future__ import annotations

from dataclasses import fields

from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import flat
from nessie.lambda_cu.mappings.combinators import TooLarge, Unmappable, WrongRank, chain
from nessie.lambda_cu.mappings.mapped import launchable, mapped
from nessie.lambda_cu.mappings.owners import is_of_owners

MOST_AXES = 16                  # of a nest that somebody may write


def broken(mapping: maps.Mapping) -> Unmappable | None:
    """Return why no space has the mapping; None if one has."""
    match mapping:
        case maps.Cases(of):
            return next((found for _, walk in of if (found := broken(walk)) is not None), None)
        case maps.Levels(("grid", "lane")):
            return Unmappable(mapping, "a grid holds no segment: its blocks meet only where a launch ends")
        case maps.Strategy():
            return None
    if is_of_owners(mapping):
        return None
    refused: list[Unmappable] = []
    for rank in range(1, MOST_AXES + 1):
        try:
            launchable(mapped(mapping, flat([f"n{axis}" for axis in range(rank)])))
        except Unmappable as wrong:
            refused.append(wrong)
        else:
            return None
    parts = [*chain(mapping), mapping]
    last = max([place(wrong, parts) for wrong in refused])
    telling = [wrong for wrong in refused if place(wrong, parts) == last]
    return next((wrong for wrong in telling if not isinstance(wrong, WrongRank)), telling[0])


def place(wrong: Unmappable, parts: list[maps.Combinator | maps.Top]) -> int:
    """How far a mapping of a space has come."""
    if isinstance(wrong, TooLarge):
        return len(parts)
    return next((at for at, part in enumerate(parts)
                 if any([one is wrong.part for one in (part, *[getattr(part, of.name) for of in fields(part)])])),
                len(parts))
