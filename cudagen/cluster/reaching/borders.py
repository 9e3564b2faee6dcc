"""Where chunks of segments begin is told to a phase's code, which would search all offsets for it (skeletons.chunks).

    s0, i0 = call K1_border(low, 32768, 0, n, m_offsets);           int place = (low + 32767) / 32768 * 2;
                                                          ->        int s0 = K1_borders[place];
                                                                    int i0 = K1_borders[place + 1];

No machine has all offsets. `tell` is a host function that computes the borders of some chunks, by the kernel's own
function: of closed spaces the driver's, of irregular ones that of each machine for the segments which it has.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import CHUNK_RANGE, Call, Exp, For, Function, Let, Load, Name, Parameter, Stmt, Store
from nessie.cudagen.loops.plan import Phase
from nessie.cudagen.loops.walk import statements, with_blocks

ITEM, BLOCK, LEAST, MOST = "item", "block", "least", "most"         # a border function's first parameters


@dataclass(frozen=True)
class Borders:
    """Of one kernel: `array` has two ints a chunk, the segment and the element where it begins, and two for the end;
    `tell` computes those of some chunks, of `width` items each."""
    array: str
    tell: Function
    width: int


def with_told_borders(module: Module) -> tuple[Module, dict[str, Borders]]:
    """The module, whose phases are told borders; and those borders, by the names of the phases' functions."""
    functions = {f.name: f for f in module.functions}
    told: dict[str, Borders] = {}
    for function in module.functions:
        for call in statements(function.body):
            if isinstance(call, Call) and is_border(functions[call.function]):
                told[function.name] = borders_of(functions[call.function], call)
    changed = [with_told(f, told[f.name]) if f.name in told else f for f in module.functions]
    tells = {borders.tell.name: borders.tell for borders in told.values()}
    plans = [replace(plan, phases=tuple([with_argument(phase, told) for phase in plan.phases]))
             for plan in module.plans]
    return replace(module, functions=(*changed, *tells.values()), plans=tuple(plans)), told


def is_border(function: Function) -> bool:
    return function.kind == "device" and [p.name for p in function.parameters[:4]] == [ITEM, BLOCK, LEAST, MOST]


def borders_of(border: Function, call: Call) -> Borders:
    width = call.arguments[1]
    array = f"{border.name}s"
    chunk, begin = Name("chunk_of_border"), ("segment_there", "element_there")
    given = border.parameters[4:]
    place = op("*", chunk, integer(2))
    arguments: tuple[Exp, ...] = (op("*", chunk, width), width, Name(LEAST), Name(MOST),
                                  *[Name(p.name) for p in given])
    body = (Call(begin, border.name, arguments), Store(array, place, Name(begin[0])),
            Store(array, op("+", place, integer(1)), Name(begin[1])))
    first, last = CHUNK_RANGE
    parameters = (*[Parameter(name, "int") for name in (first, last, LEAST, MOST)], *given,
                  Parameter(array, "int", array=True, writable=True))
    tell = Function(f"{border.name}s_tell", "host", parameters, (For(chunk.name, Name(first), Name(last), body),))
    return Borders(array, tell, int(width.value))  # type: ignore[union-attr]


def with_told(function: Function, borders: Borders) -> Function:
    parameters = (*function.parameters, Parameter(borders.array, "int", array=True))
    border, numbers = borders.array.removesuffix("s"), iter(range(10**6))

    def changed(statement: Stmt) -> list[Stmt]:
        match statement:
            case Call((segment, element), name, (item, width, *_)) if name == border:
                place = Name(f"{borders.array}_place{next(numbers)}")
                chunk = op("/", op("+", item, integer(borders.width - 1)), width)
                return [Let(place.name, "int", op("*", chunk, integer(2))),
                        Let(segment, "int", Load(borders.array, place)),
                        Let(element, "int", Load(borders.array, op("+", place, integer(1))))]
        return [with_blocks(statement, changed)]

    return updated(function, parameters=parameters, body=tuple([new for s in function.body for new in changed(s)]))


def with_argument(phase: Phase, told: Mapping[str, Borders]) -> Phase:
    if phase.function not in told:
        return phase
    return replace(phase, arguments=(*phase.arguments, Name(told[phase.function].array)))
