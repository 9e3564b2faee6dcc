"""The parts that nodes of lambda_cu have, by kind: what a new SOAC, space or expression says by its fields."""
from __future__ import annotations

from nessie.base.parts import Parts
from nessie.lambda_cu import nodes as ir

EXPRESSIONS = Parts[ir.Exp]("Exp")              # of expressions; of SOACs: identities, what is there before
THUNKS = Parts[ir.Thunk]("Thunk", "Operator", through=("Interior", "Part"))    # of SOACs
OWN_THUNKS = Parts[ir.Thunk]("Thunk", "Operator")      # of SOACs, interiors and parts left out: all elements once
INDEX_THUNKS = Parts[ir.Thunk]("Thunk")         # of SOACs, operators, interiors and parts left out
NAMES = Parts[ir.Size]("Size", "Offsets", through=("Space", "Term"))   # of SOACs, spaces and types: sizes and offsets
BLOCKS = Parts[ir.Block]("Block", through=("Case",))   # of statements
CONDITIONS = Parts[ir.Exp]("Exp", through=("Case",))   # of choices
SETTINGS = Parts[object]("bool", "str", "int")     # of SOACs, terms of lengths: what else tells them apart

children, map_children, subexpressions = EXPRESSIONS.of, EXPRESSIONS.map, EXPRESSIONS.inside
thunks, map_thunks = THUNKS.of, THUNKS.map
