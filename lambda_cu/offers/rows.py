"""What an offer over a space takes and gives (lambda_cu.nodes, Function), beside what it calls.

    called for one activation               offered for all
                                            how many activations there are; what the space mentions
    a scalar                                an array over the activations, or a scalar: it is the same for all
    start, length, size, the elements       the elements, over the space
                                            gives first whether it is done
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from nessie.base.records import dataclass
from nessie.base.widths import wide
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import space_names
from nessie.lambda_cu.typing import require


@dataclass(frozen=True)
class Item:
    """A scalar, or a sequence, among the parameters or results of what is called; `at`: the place of its first."""
    at: int
    params: tuple[ir.Param, ...]

    @property
    def arrays(self) -> tuple[ir.Param, ...]:
        """Those with the elements of a sequence."""
        return self.params[3:]


def items(params: Sequence[ir.Param]) -> Iterator[Item]:
    at = 0
    while at < len(params):
        behind = at + 3
        while behind < len(params) and is_over(params[behind], params[at + 2].name):
            behind += 1
        behind = at + 1 if behind == at + 3 else min(behind, len(params))
        yield Item(at, tuple(params[at:behind]))
        at = behind


def is_over(param: ir.Param, size: ir.Size) -> bool:
    return isinstance(param.type, ir.Array) and param.type.size == size and not param.type.plus


def space_params(offer: ir.Function) -> int:
    """The number of parameters that say what the space mentions, behind the first."""
    return len(set(space_names(offer.over)) - {offer.params[0].name})


def paired(params: Sequence[ir.Param], called: Sequence[ir.Param]) -> list[tuple[Item, tuple[ir.Param, ...]]]:
    """What is offered for each scalar and each sequence of what is called."""
    found, at = [], 0
    for item in items(called):
        many = len(item.arrays) or 1
        found.append((item, tuple(params[at:at + many])))
        at += many
    require(at == len(params), "an offer over a space has other sequences than what it calls")
    return found


def taken(offer: ir.Function, called: ir.Function) -> list[tuple[Item, tuple[ir.Param, ...]]]:
    return paired(offer.params[1 + space_params(offer):], called.params)


def given(offer: ir.Function, called: ir.Function) -> list[tuple[Item, tuple[ir.Param, ...]]]:
    return paired(offer.results[1:], called.results)


def check_over(offer: ir.Function, called: ir.Function) -> None:
    """Require that what is offered is what the function does for one activation."""
    over, size = offer.over, offer.params[0].name
    assert over is not None
    named = [p.name for p in offer.params[1:1 + space_params(offer)]]
    require(set(named) == set(space_names(over)) - {size}, "an offer takes what its space mentions behind its size")
    require(over.segments == size, "an offer is over as many segments as there are activations")
    for what, pairs in (("takes", taken(offer, called)), ("gives", given(offer, called))):
        for item, found in pairs:
            agree = [is_over(mine, over.total) and base(mine) == base(its)
                     for mine, its in zip(found, item.arrays, strict=True)] if item.arrays else [
                scalar_agrees(found[0], item.params[0], size, what == "gives")]
            require(all(agree), f"{offer.apart} {what} other than what is offered")


def scalar_agrees(mine: ir.Param, its: ir.Param, size: str, given: bool) -> bool:
    return (is_over(mine, size) and wide(base(mine)) == its.type) or (mine.type == its.type and not given)


def base(param: ir.Param) -> str:
    return param.type.base if isinstance(param.type, ir.Array) else param.type
