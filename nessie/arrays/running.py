"""Compiles expressions of arrays and runs them. What is compiled is kept by the structure of the expression: its nodes,
the code of its bodies, and kinds; neither lengths nor values from outside are part of it."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any

from nessie.api.options import Options
from nessie.api.program import Program
from nessie.arrays import nodes
from nessie.arrays.bodies.kinds import Rows
from nessie.arrays.devices import HOST, device_of, left_on, target_of
from nessie.arrays.errors import UNEQUAL, told
from nessie.arrays.values import fetched, narrowed, result
from nessie.arrays.writing import ENTRY, Written, write
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.system.deep import run_deep
from nessie.syntax import nodes as syntax

MOST = 1000                     # expressions that are kept
DEEP = 200                      # nodes for which any thread's stack has room

Take = Callable[[Sequence[nodes.Step]], Any]        # what a program takes of an expression's nodes


@dataclass(frozen=True)
class Compiled:
    """An expression's program, what it takes, and the `device` where its arrays lie, '' if it is of numbers alone."""
    program: Program
    written: Written
    takes: list[Take]
    device: str

    def arguments(self, order: Sequence[nodes.Step]) -> list[Any]:
        return [take(order) for take in self.takes]


@dataclass
class Counts:
    """How much has been compiled."""
    compiled: int = 0


COUNTS = Counts()
_kept: dict[Hashable, Compiled] = {}
_lock = RLock()


def evaluate(results: Sequence[nodes.Node], target: str | None = None, stay: bool = False, floats: int = 64) -> None:
    """Compute the values of these nodes, in one pass, on the device where they lie, or on a target. Results stay on a
    device where an argument lies, or if they are to `stay`. `floats`: their bits."""
    asked = dict.fromkeys([node for node in results if node.operation is not None])
    if not asked:
        return
    order = nodes.in_order(list(asked))
    wanted = [node for node, operation, _ in order if operation is not None and node in asked]
    if not wanted:                              # somebody else has computed them meanwhile
        return
    found = _kept.get((structure(order, wanted), floats))
    if found is None:
        if settle(order, target, floats):
            evaluate(wanted, target, stay, floats)
            return
        found = compiled(order, wanted, floats)
    target, stays = (target, True) if stay and target else target_of(found.device, target)
    value = computed(found, order, target, stays, floats) if len(order) < DEEP else \
        run_deep(partial(computed, found, order, target, stays, floats))
    for node, one in zip(wanted, value if len(wanted) > 1 else (value,)):
        held = result(one, node.shape, node.kind)
        node.became(held, left_on(held, node.shape, target if stays else HOST))


def computed(found: Compiled, order: Sequence[nodes.Step], target: str, stays: bool, floats: int) -> Any:
    """Return what the program gives."""
    places = found.written.places
    with told(partial(place_of, places, order)):
        try:
            return found.program._call(ENTRY, found.arguments(order), {}, target, stay=stays)
        except NessieError as error:
            failed = order[places[error.span]].operation if error.span in places else None
            if error.message == UNEQUAL and \
                    isinstance(failed, nodes.Mapped | nodes.Zipped | nodes.Joined) and failed.met:
                tell_lengths(error, failed, target, floats)
            raise


def settle(order: Sequence[nodes.Step], target: str | None = None, floats: int = 64) -> bool:
    """Compute what is narrowed, each before what is made of it, in the computer's memory. Return whether there is
    any."""
    narrow = [(step.node, step.operation) for step in order if isinstance(step.operation, nodes.Narrowed)]
    for node, operation in narrow:
        evaluate([operation.of], target, floats=floats)
        node.became(narrowed(operation), HOST if node.shape else "")
    return bool(narrow)


def place_of(places: Mapping[Span, int], order: Sequence[nodes.Step], span: Span) -> Span | None:
    """Return where an operator stands here, or where arrays meet, that stood there when the expression was written."""
    if span not in places:
        return span
    operation = order[places[span]].operation
    return operation.caller.span if operation is not None and operation.caller is not None else None


def tell_lengths(error: NessieError, operation: nodes.Operation, target: str, floats: int) -> None:
    """Let the error say the lengths of the arrays that meet here. They are computed again for it."""
    evaluate(operation.inputs, target, floats=floats)
    shapes = [node.shape for node in operation.inputs if node.shape]
    what = "lengths" if {len(shape) for shape in shapes} == {1} else "shapes"
    told = f"the {what} are {' and '.join(map(nodes.shown_shape, shapes))}"
    if isinstance(operation, nodes.Mapped) and operation.inside and len(set(shapes)) == 1:
        rows = [fetched(node) for node in operation.inputs if isinstance(node.kind, Rows)]
        at, lengths = next((k, found) for k, each in enumerate(zip(*rows))
                           if len(set(found := list(map(len, each)))) > 1)
        told = f"at element {at}: the lengths are {' and '.join(map(str, lengths))}"
    (place, _), *others = error.places
    error.places = (place, told), *others


def function_of(results: Sequence[nodes.Node], floats: int = 64) -> tuple[Any, list[Any]]:
    """Return the function of NESL that computes these nodes with floats of so many bits, and what it takes."""
    order = nodes.in_order(results)
    found = compiled(order, results, floats)
    return found.program[ENTRY], found.arguments(order)


def compiled(order: Sequence[nodes.Step], results: Sequence[nodes.Node], floats: int = 64) -> Compiled:
    """Return the program of the expression, with floats of so many bits, made now or kept."""
    key = structure(order, results), floats
    with _lock:
        found = _kept.get(key)
        if found is not None:
            return found
        device = device_of(order)
        written = run_deep(lambda: write(order, results))
        program = program_of(lambda: written.forms, floats)
        COUNTS.compiled += 1
        while len(_kept) >= MOST:
            del _kept[next(iter(_kept))]
        found = _kept[key] = Compiled(program, written, [taking(*takes) for takes in written.takes], device)
        return found


def program_of(forms: Callable[[], Sequence[syntax.TopLevel]], floats: int = 64) -> Program:
    """Return the program of these forms, which may use all names of the library, with floats of so many bits."""
    program = Program(None, Options(floats=floats))
    program._session.environment.sees_library = True
    program._take(forms)
    return program


def structure(order: Sequence[nodes.Step], results: Sequence[nodes.Node]) -> Hashable:
    """Return what the computation of an expression depends on. Of shapes, it is which are the same, not what they
    are."""
    number: dict[nodes.Node, int] = {}
    shapes: dict[nodes.Shape, int] = {}
    rows: list[Hashable] = []
    for node, operation, parts in order:
        number[node] = len(number)
        shape = shapes.setdefault(node.shape, len(shapes))
        rows.append((shape, node.kind, node.device) if operation is None else
                    (shape, node.kind, operation.key(), *[number[part] for part in parts]))
    return tuple(rows), tuple(map(len, shapes)), tuple([number[node] for node in results])


def taking(what: str, number: int, at: int = 0) -> Take:
    """Return what gets this of an expression's nodes (Written.takes)."""
    match what:
        case "leaf":
            return lambda order: order[number].node.value
        case "length":
            return lambda order: order[number].node.shape[at]
        case "seen":
            return lambda order: order[number].operation.seen.captured[at][2]       # type: ignore[union-attr]
    raise TypeError(what)
