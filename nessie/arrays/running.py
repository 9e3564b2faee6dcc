"""Compiles expressions of arrays and runs them. What is compiled is kept by the structure of the expression: its nodes,
the code of its bodies, and kinds; neither lengths nor values from outside are part of it."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from threading import RLock
from typing import Any

from nessie.api.options import Options
from nessie.api.program import Program
from nessie.arrays import nodes
from nessie.arrays.devices import HOST, left_on, target_of
from nessie.arrays.errors import told
from nessie.arrays.values import narrowed, result
from nessie.arrays.writing import ENTRY, Written, write
from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.system.deep import run_deep
from nessie.syntax import nodes as syntax

MOST = 1000                     # expressions that are kept
DEEP = 200                      # nodes for which any thread's stack has room


@dataclass(frozen=True)
class Compiled:
    """An expression's program, and what it takes."""
    program: Program
    written: Written


@dataclass
class Counts:
    """What has been compiled, and what was there already."""
    compiled: int = 0
    kept: int = 0


COUNTS = Counts()
_kept: dict[Hashable, Compiled] = {}
_lock = RLock()


def evaluate(results: Sequence[nodes.Node], target: str | None = None, stay: bool = False, floats: int = 64) -> None:
    """Compute the values of these nodes, in one pass, on the device where they lie, or on a target. Results stay on a
    device where an argument lies, or if they are to `stay`. `floats`: their bits."""
    asked = dict.fromkeys(results)
    order = nodes.in_order(tuple(asked))
    wanted = [step.node for step in order if step.operation is not None and step.node in asked]
    if not wanted:
        return
    if settle(order, target, floats):
        evaluate(results, target, stay, floats)
        return
    target, stays = (target, True) if stay and target else target_of(order, target)

    def computed() -> Any:
        found = compiled(order, wanted, floats)
        with told({span: partial(place_of, order[n]) for span, n in found.written.places.items()}):
            return found.program._call(ENTRY, arguments(order, found.written), {}, target, stay=stays)
    value = computed() if len(order) < DEEP else run_deep(computed)
    for node, one in zip(wanted, value if len(wanted) > 1 else (value,), strict=True):
        found = result(one, node.shape, node.kind)
        node.became(found, left_on(found, node.shape, target if stays else HOST))


def settle(order: Sequence[nodes.Step], target: str | None = None, floats: int = 64) -> bool:
    """Compute what is narrowed, each before what is made of it, in the computer's memory. Return whether there is
    any."""
    narrow = [(step.node, step.operation) for step in order if isinstance(step.operation, nodes.Narrowed)]
    for node, operation in narrow:
        evaluate([operation.of], target, floats=floats)
        node.became(narrowed(operation), HOST if node.shape else "")
    return bool(narrow)


def place_of(step: nodes.Step) -> Span | None:
    """Return where an operator stands."""
    body = None if step.operation is None else step.operation.seen
    return None if body is None or body.caller is None else body.caller.span


def function_of(results: Sequence[nodes.Node], floats: int = 64) -> tuple[Any, list[Any]]:
    """Return the function of NESL that computes these nodes with floats of so many bits, and what it takes."""
    order = nodes.in_order(results)
    found = compiled(order, results, floats)
    return found.program[ENTRY], arguments(order, found.written)


def compiled(order: Sequence[nodes.Step], results: Sequence[nodes.Node], floats: int = 64) -> Compiled:
    """Return the program of the expression, with floats of so many bits, made now or kept."""
    key = structure(order, results), floats
    with _lock:
        found = _kept.get(key)
        if found is not None:
            COUNTS.kept += 1
            return found
        written = run_deep(lambda: write(order, results))
        program = program_of(lambda: written.forms, floats)
        COUNTS.compiled += 1
        while len(_kept) >= MOST:
            del _kept[next(iter(_kept))]
        found = _kept[key] = Compiled(program, written)
        return found


def program_of(forms: Callable[[], Sequence[syntax.TopLevel]], floats: int = 64) -> Program:
    """Return the program of these forms, which may use all names of the library, with floats of so many bits."""
    program = Program(None, Options(floats=floats))
    program._session.environment.sees_library = True
    program._take(forms)
    return program


def structure(order: Sequence[nodes.Step], results: Sequence[nodes.Node]) -> Hashable:
    """Return what the program of an expression depends on. Of shapes, it is which are the same, not what they are."""
    number = {step.node: n for n, step in enumerate(order)}
    shapes: dict[nodes.Shape, int] = {}
    rows = [(len(step.node.shape), step.node.kind, step.operation and step.operation.key(),
             shapes.setdefault(step.node.shape, len(shapes)),
             *[number[part] for part in step.parts]) for step in order]
    return tuple(rows), tuple([number[node] for node in results])


def arguments(order: Sequence[nodes.Step], written: Written) -> list[Any]:
    """Return what the program takes of the nodes and of what their bodies see."""
    captured: dict[int, list[Any]] = {}

    def argument(takes: tuple[Any, ...]) -> Any:
        match takes:
            case "leaf", number:
                return order[number].node.value
            case "length", number, dimension:
                return order[number].node.shape[dimension]
            case "seen", number, at:
                if number not in captured:
                    body = order[number].operation.seen
                    captured[number] = [value for _, _, value in body.captured]
                return captured[number][at]
        raise TypeError(takes)
    return [argument(takes) for takes in written.takes]
