"""The rules of the sequence primitives, by name: (translator, primitive, argument values, domain, hint) -> value."""
from __future__ import annotations

from collections.abc import Callable

from nessie.flatten.building import append, dist, iseq
from nessie.flatten.domains import Domain
from nessie.flatten.folding import order, reduce, scan
from nessie.flatten.moving import get, write
from nessie.flatten.nesting import flatten, partition
from nessie.flatten.translator import Translator
from nessie.flatten.values import Value
from nessie.frontend import mono

Rule = Callable[[Translator, mono.Prim, "list[Value]", Domain, str], Value]
OPERATORS = ("+", "*", "max", "min", "and", "or", "xor")

RULES: dict[str, Rule] = {
    "dist": dist, "iseq": iseq, "append": append, "get": get, "write": write, "flatten": flatten,
    "partition": partition, "order": order, "order_down": order,
    **{f"reduce_{operator}": reduce for operator in OPERATORS},
    **{f"scan_{operator}": scan for operator in OPERATORS},
}
