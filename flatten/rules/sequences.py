"""The rules of the sequence primitives, by name: (translator, primitive, argument values, domain, hint) -> value."""
from __future__ import annotations

from collections.abc import Callable

from nessie.flatten.rules.building import append, dist, iseq
from nessie.flatten.rules.folding import firsts, order, reduce, scan, sort
from nessie.flatten.rules.gather_scatter import WRITTEN, get, write
from nessie.flatten.rules.nesting import flatten, partition
from nessie.flatten.translator import Translator
from nessie.flatten.values.domains import Domain
from nessie.flatten.values.values import Value
from nessie.mono import nodes as mono

Rule = Callable[[Translator, mono.Prim, "list[Value]", Domain, str], Value]
OPERATORS = ("+", "*", "max", "min", "and", "or", "xor")

RULES: dict[str, Rule] = {
    "dist": dist, "iseq": iseq, "append": append, "get": get, "flatten": flatten,
    "partition": partition, "order": order, "order_down": order, "sort": sort, "firsts": firsts,
    **{f"reduce_{operator}": reduce for operator in OPERATORS},
    **{f"scan_{operator}": scan for operator in OPERATORS},
    **dict.fromkeys(WRITTEN, write),
}
