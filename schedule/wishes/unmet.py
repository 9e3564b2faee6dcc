"""Tells users which of their wishes the forms of a program have not met, from what these have noted (Met)."""
from __future__ import annotations

from collections.abc import Container, Iterable

from nessie.base.source import NessieError, user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.offers.rounds import shown
from nessie.lambda_cu.scope import statements
from nessie.schedule.wishes.wishes import FUSE, MAPPINGS, Met, Wish


def unmet(wanted: Iterable[Wish], met: Met) -> list[str]:
    """The warnings about options that have changed nothing in any form of a program that has run."""
    told = []
    for wish in wanted:
        option = f"{wish.option} changes nothing"
        if any([name not in met.names for name in wish.names]):
            told.append(nothing_has(wish, met, "changes nothing"))
        elif wish.kind == FUSE and wish not in met.wishes:
            told.append(f"{option}: no form that ran computes both without a condition, a call or an effect between")
    return told


def not_owned(program: ir.Program, met: Met, offer: ir.Function, why: str) -> None:
    """Note the warning that nobody goes through the rounds of a loop over rows for which a level was asked."""
    calls = [s for f in program.functions for s in statements(f.body) if isinstance(s, ir.Call)]
    span = user_span(next((call.origin for call in calls if call.function == offer.name), offer.origin))
    places = [(span, "each round is of all rows")] if span is not None else []
    message = f"no owner can go through all of {shown(offer.apart)}: {why}"
    met.told.setdefault((f"{span.source.name} {span.start}" if span is not None else "", message),
                        NessieError(message, *places).told())


def unmet_so_far(wanted: Iterable[Wish], met: Met, bound: Container[str]) -> dict[Wish, str]:
    """The warnings about wishes for names that no form has: neither one that ran, nor one that has yet to run, as far
    as `bound` are the names of all."""
    return {wish: nothing_has(wish, met, "changes nothing so far") for wish in wanted
            if met.nodes and any([name not in met.names and (name in met.bound or name not in bound)
                                  for name in wish.names])}


def nothing_has(wish: Wish, met: Met, does: str) -> str:
    """The warning about a wish for names that no node has had so far."""
    missing = " or ".join([name for name in wish.names if name not in met.names])
    known = [name for name, launched in met.nodes.items() if launched or wish.kind not in MAPPINGS]
    return (f"{wish.option} {does}: no form that ran has a kernel that computes {missing}\n"
            f"hint: there are {listed(known)}")


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "no kernels"
