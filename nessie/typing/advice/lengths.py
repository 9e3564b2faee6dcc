"""Names of lengths in a function's type that are names of its ints, too: a warning, as nothing compares the two."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.source import NessieError
from nessie.syntax import nodes as syntax
from nessie.syntax.types import names_in, sequences, tells_lengths


def lengths_named_as_ints(form: syntax.FunctionDef) -> list[NessieError]:
    """Return a warning for each name that is a length in the signature and an int among the parameters."""
    if form.signature is None or not tells_lengths(form.signature.type):
        return []
    assert isinstance(form.signature.type, syntax.TypeFun)
    ints = {name.name: name for name in ints_of(form.parameter, form.signature.type.argument)}
    written = list(sequences(form.signature.type.argument))
    positions = {one.index for one in written}
    first: dict[str, syntax.Name] = {}
    for one in written:
        for name in names_in(one.length) if one.length is not None else ():
            if name.name in ints and name.name not in positions:
                first.setdefault(name.name, name)
    return [NessieError(f"the length {name} has the name of the int {name}",
                        *[(place.span, label) for place, label in ((use, "this is the length of a sequence"),
                                                                   (ints[name], "this int is another number"))
                          if place.span],
                        hint="choose another name for the length, and compare the two in the body")
            for name, use in first.items()]


def ints_of(pattern: syntax.Pattern, written: syntax.TypeExp) -> Iterator[syntax.NamePattern]:
    """Yield the names in the pattern that stand for ints."""
    match pattern, written:
        case syntax.NamePattern(), syntax.TypeName("int"):
            yield pattern
        case syntax.PairPattern(), syntax.TypePair():
            yield from ints_of(pattern.first, written.first)
            yield from ints_of(pattern.second, written.second)
