"""The base of nodes that know where they come from."""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import NOWHERE, Origin


@dataclass(frozen=True)
class Located:
    """`origin`, given by name: the places in the source, innermost first. Nodes that differ in it alone are equal."""
    origin: Origin = field(default=NOWHERE, compare=False, kw_only=True)
