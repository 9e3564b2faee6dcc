"""The parts of syntax trees."""
from __future__ import annotations

from nessie.base.parts import Parts
from nessie.syntax.nodes import Exp

EXPRESSIONS = Parts[Exp]("Exp", through=("Generator", "Binding"))
