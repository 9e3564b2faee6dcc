"""Finds a binding's uses of names: an array is read at the own index, at the own segment's number, or elsewhere."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import EXPRESSIONS, children, thunks
from nessie.lambda_cu.text.soacs import upper
from nessie.schedule.graph.nodes import GATHER, OWN, SCALAR, SEG, Use


@dataclass
class Uses:
    """`rank`: some thunk computes with its index; `place`: with the position in the segment."""
    found: dict[Use, None] = field(default_factory=dict)
    rank: bool = False
    place: bool = False

    def add(self, mode: str, name: str) -> None:
        self.found[Use(mode, name)] = None


def op_name(soac: ir.Soac) -> str:
    """The SOAC's name in a graph, with SEG_ if segments make a difference to its results."""
    name = upper(type(soac))
    segmented = not isinstance(soac, ir.Once) and not isinstance(soac.space, ir.Flat)
    return f"SEG_{name}" if segmented and name in ("REDUCE", "SCAN", "FILTER") else name


def serial(soac: ir.Soac) -> bool:
    """Must one thread of the CPU walk the SOAC, because the last write wins, or goes on from those before it?"""
    return scope.writes_in_order(soac)


def operator_of(soac: ir.Soac) -> ir.Operator | None:
    """The thunk that combines elements, if there is one."""
    return soac.operator if isinstance(soac, ir.Reduce | ir.Scan | ir.ReduceByIndex) else None


def total(space: ir.Space) -> ir.Size:
    return space.size if isinstance(space, ir.Flat) else space.total


def uses_of(soac: ir.Soac, types: Mapping[str, ir.Type], made: Collection[ir.Size] = ()) -> Uses:
    """The uses in the thunks, operator and other expressions of the SOAC. `made`: the names that are not complete
    before."""
    uses = Uses()
    for thunk in thunks(soac):
        visit(uses, thunk.body, indices_of(soac, thunk), types, made)
    for exp in EXPRESSIONS.of(soac):
        if isinstance(exp, ir.Var) and isinstance(types.get(exp.name), ir.Array):
            uses.add(GATHER, exp.name)          # what a write goes on from
        else:
            visit(uses, exp, Indices(), types, made)
    return uses


@dataclass(frozen=True)
class Indices:
    """A thunk's parameters, and their ranges: the numbers of elements and of segments."""
    index: str | None = None
    place: str | None = None
    segment: str | None = None
    elements: ir.Size | None = None
    segments: ir.Size | None = None


def indices_of(soac: ir.Soac, thunk: ir.Thunk) -> Indices:
    """The indices of one of the SOAC's thunks; an operator has none."""
    if isinstance(soac, ir.Once) or thunk is operator_of(soac):
        return Indices()
    segment, place = thunk.params[-3:-1] if len(thunk.params) > 1 else (None, None)
    segments = None if isinstance(soac.space, ir.Flat) else soac.space.segments
    return Indices(thunk.params[-1], place, segment, total(soac.space), segments)


def visit(uses: Uses, body: ir.Exp, at: Indices, types: Mapping[str, ir.Type], made: Collection[ir.Size]) -> None:
    """Note the uses in an expression."""
    stack = [body]
    while stack:
        exp = stack.pop()
        match exp:
            case ir.Read(array, index):
                mode = read_mode(index, array, types.get(array), at, made)
                uses.add(mode, array)
                if mode == GATHER:
                    stack.append(index)
                continue
            case ir.CallScalar(arrays=(_, *_)):
                for array in exp.arrays:
                    uses.add(GATHER, array)
            case ir.Var(name) if name == at.index:
                uses.rank = True
            case ir.Var(name) if name == at.place:
                uses.place = True
            case ir.Var(name) if isinstance(types.get(name), str):
                uses.add(SCALAR, name)
        stack.extend(reversed(children(exp)))


def read_mode(index: ir.Exp, array: str, type_: ir.Type | None, at: Indices, made: Collection[ir.Size]) -> str:
    """The mode of a read. A complete array may have another size: it is longer, or the host has checked its length."""
    if isinstance(index, ir.Var) and isinstance(type_, ir.Array):
        for own, size, mode in ((at.index, at.elements, OWN), (at.segment, at.segments, SEG)):
            if index.name == own and (type_.size == size or not (array in made or size in made)):
                return mode
    return GATHER
