"""The plan of an offer: what it asks for all activations, its function does for each, on threads.

    bounds      once: where the results of each chunk of activations begin; how many there can be
    apart       chunked: each activation by the thread that has come to it, in an arena of the thread's own; its results
                go to the chunk's part of the results
    done        once: whether all was done

A sequence in the results has at most as many elements as its activation's sequences together, and ROOM; if there are
more, all is given up.
"""
from __future__ import annotations

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.cudagen.host.device import DEPTH
from nessie.cudagen.kernels.code import RESERVED, identifier, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import WORKERS, ArrayResult, Buffer, Phase, Plan, Result, ScalarResult
from nessie.cudagen.skeletons.apart.code import END, GAVE_UP, LEFT, OWN, TOP, WORDS, Declined, set_state, state
from nessie.cudagen.skeletons.chunks import CHUNK_RANGE_PARAMETERS
from nessie.cudagen.skeletons.kernel import input_of
from nessie.lambda_cu import nodes as ir

CHUNKS = 256                    # at most
ROOM = 4                        # elements
ARENA = 512                     # bytes of an arena for each element of the largest activation; half as many for
MANY = 1 << 17                  # elements beyond these
LEAST = 512                     # elements
CALLS = 1000                    # within calls: each takes some hundred bytes of a thread's stack
TAKEN = frozenset({"starts", "most", "arenas", "states", "taken", "gave", "slot", "searching", "chunk", "low", "high",
                   "i", "old", "all", "elements", "arena_size", "cells", "cells_bool", WORKERS, *OWN,
                   *loops.CHUNK_RANGE})


@dataclass(frozen=True)
class SequenceResult:
    """A sequence: the names of bounds, size and elements, and where these are among the function's results."""
    start: str
    length: str
    size: str
    arrays: tuple[str, ...]
    at: int


def plan_apart(offer: ir.Function, called: ir.Function, function: str) -> Module:
    """`called` is what the offer is about, `function` its thread function."""
    return Offer(offer, called, function).module()


def name(text: str) -> loops.Name:
    return loops.Name(text)


class Offer:
    def __init__(self, offer: ir.Function, called: ir.Function, function: str) -> None:
        self.names = names = Names({*RESERVED, *TAKEN})
        self.given = {p.name: names.fresh(identifier(p.name)) for p in (*offer.params, *offer.results)}
        self.offer, self.called, self.function = offer, called, function
        self.params = [ir.Param(self.given[p.name], self.renamed(p.type)) for p in offer.params]
        self.results = [ir.Param(self.given[p.name], self.renamed(p.type)) for p in offer.results]
        self.title = identifier(offer.name)
        self.count = self.params[0].name
        self.sequences = self.sequence_results()
        self.next = {s.size: names.fresh("next") for s in self.sequences}

    def renamed(self, type_: ir.Type) -> ir.Type:
        if isinstance(type_, ir.Array) and isinstance(type_.size, str):
            return ir.Array(type_.base, self.given[type_.size], type_.plus)
        return type_

    def sequence_results(self) -> list[SequenceResult]:
        """The results' sequences: each has a start and a length for each activation, then a size and arrays."""
        found = []
        for at, result in enumerate(self.results[1:], 1):
            if result.type == "int":
                arrays = [r for r in self.results if isinstance(r.type, ir.Array) and r.type.size == result.name]
                start, length = self.results[at - 2], self.results[at - 1]
                if not arrays or arrays != self.results[at + 1:at + 1 + len(arrays)]:
                    raise Declined("its results are nested")
                found.append(SequenceResult(start.name, length.name, result.name, tuple([a.name for a in arrays]),
                                            at - 3))
        return found

    def module(self) -> Module:
        bounds, apart, done = self.bounds(), self.apart(), self.done()
        chunks = self.chunks()
        phases = (self.phase(bounds, None, (Buffer("starts", "int", op("+", chunks, integer(1))),)),
                  self.phase(apart, chunks, self.buffers()), self.phase(done, None, ()))
        inputs = tuple([input_of(p) for p in self.params])
        results: list[Result] = []
        sizes = {s.size for s in self.sequences}
        for r in self.results:
            if isinstance(r.type, ir.Array):
                results.append(ArrayResult(r.name))
            else:
                results.append(ScalarResult(r.name, 0 if r.name in sizes else 2, str(r.type)))
        plan = Plan(self.offer.name, inputs, phases, tuple(results), 3, loops.Load("cells", integer(0)),
                    origin=self.offer.origin)
        return Module((bounds, apart, done), (plan,))

    def phase(self, function: loops.Function, chunks: loops.Exp | None, buffers: tuple[Buffer, ...]) -> Phase:
        parameters = function.parameters[0 if chunks is None else 2:]
        arguments = tuple([name("cells" if p.name == "cells_bool" else p.name) for p in parameters])
        return Phase(function.name, arguments, chunks, buffers)

    # Sizes ----------------------------------------------------------------------------------

    def chunks(self) -> loops.Exp:
        return op("min", name(self.count), integer(CHUNKS))

    def arenas(self) -> loops.Exp:
        """How many there are: for as many chunks as may run at once."""
        return op("min", name(WORKERS), self.chunks())

    def arena_size(self) -> loops.Exp:
        """Bytes of an arena, as `cells` says how large the largest activation is."""
        most = op("max", loops.Load("cells", integer(1)), integer(LEAST))
        return op("*", op("+", most, op("min", most, integer(MANY))), integer(ARENA // 2))

    def buffers(self) -> tuple[Buffer, ...]:
        found = [Buffer("arenas", "bool", op("*", self.arenas(), self.arena_size())),
                 Buffer("states", "int", op("*", self.arenas(), integer(WORDS))),
                 Buffer("taken", "int", self.arenas(), 0), Buffer("gave", "int", integer(1), 0)]
        for result in self.results:
            if isinstance(result.type, ir.Array):
                over_all = result.type.size == self.count
                size = name(self.count) if over_all else loops.Load("cells", integer(0))
                found.append(Buffer(result.name, result.type.base, size))
        return tuple(found)

    def parameter(self, param: ir.Param, writable: bool = False) -> loops.Parameter:
        if isinstance(param.type, ir.Array):
            return loops.Parameter(param.name, param.type.base, True, writable)
        return loops.Parameter(param.name, param.type)

    # Phases ---------------------------------------------------------------------------------

    def lengths(self) -> list[str]:
        """The parameters that are lengths of the activations' own sequences: one before each size of a payload."""
        sizes = {p.type.size for p in self.params if isinstance(p.type, ir.Array)} - {self.count}
        return [before.name for before, p in zip(self.params, self.params[1:])
                if p.name in sizes and isinstance(before.type, ir.Array) and before.type.size == self.count]

    def activations(self, body: tuple[loops.Stmt, ...]) -> tuple[loops.Stmt, ...]:
        """Do this for each activation of the chunk."""
        chunks = self.chunks()
        low = op("/", op("*", name("chunk"), name(self.count)), chunks)
        high = op("/", op("*", op("+", name("chunk"), integer(1)), name(self.count)), chunks)
        return (loops.Let("low", "int", low), loops.Let("high", "int", high),
                loops.For("i", name("low"), name("high"), body))

    def bounds(self) -> loops.Function:
        lengths = self.lengths()
        total: loops.Exp = integer(0)
        for length in lengths:
            total = op("+", total, loops.Load(length, name("i")))
        each = self.activations((
            loops.Let("elements", "int", total), loops.Set("most", op("max", name("most"), name("elements"))),
            loops.Set("all", op("+", name("all"), op("+", name("elements"), integer(ROOM))))))
        chunks = self.chunks()
        body = (loops.Var("all", "int", integer(0)), loops.Var("most", "int", integer(0)),
                loops.For("chunk", integer(0), chunks, (loops.Store("starts", name("chunk"), name("all")), *each)),
                loops.Store("starts", chunks, name("all")), loops.Store("cells", integer(0), name("all")),
                loops.Store("cells", integer(1), name("most")))
        given = [self.parameter(p) for p in self.params if p.name == self.count or p.name in lengths]
        return loops.Function(f"{self.title}_bounds", "host",
                              (*given, loops.Parameter("starts", "int", True, True),
                               loops.Parameter("cells", "int", True, True)), body, origin=self.offer.origin)

    def done(self) -> loops.Function:
        body = (loops.Store("cells_bool", integer(2 * 8), op("==", loops.Load("gave", integer(0)), integer(0))),)
        return loops.Function(f"{self.title}_done", "host",
                              (loops.Parameter("gave", "int", True), loops.Parameter("cells_bool", "bool", True, True)),
                              body, origin=self.offer.origin)

    def apart(self) -> loops.Function:
        search = loops.While(name("searching"), (
            loops.Atomic("exchange", "taken", name("slot"), integer(1), "old"),
            loops.If(op("==", name("old"), integer(0)), (loops.Set("searching", loops.Const(False, "bool")),),
                     (loops.Set("slot", op("rem", op("+", name("slot"), integer(1)), self.arenas())),))))
        chunk = (*[loops.Var(self.next[s.size], "int", loops.Load("starts", name("chunk"))) for s in self.sequences],
                 *self.activations((loops.If(op("==", loops.Load("gave", integer(0), "volatile"), integer(0)),
                                             tuple(self.activation())),)))
        body = (loops.Var("slot", "int", integer(0)), loops.Var("searching", "bool", loops.Const(True, "bool")), search,
                loops.Let("arena_size", "int", self.arena_size()),
                loops.Part("arena", "bool", "arenas", op("*", name("slot"), name("arena_size"))),
                loops.Part("state", "int", "states", op("*", name("slot"), integer(8 * WORDS))),
                loops.For("chunk", name(loops.CHUNK_RANGE[0]), name(loops.CHUNK_RANGE[1]), chunk),
                loops.Atomic("exchange", "taken", name("slot"), integer(0)))
        results = [self.parameter(r, True) for r in self.results if isinstance(r.type, ir.Array)]
        parameters = (*CHUNK_RANGE_PARAMETERS, *[self.parameter(p) for p in self.params], *results,
                      loops.Parameter("starts", "int", True), loops.Parameter("arenas", "bool", True, True),
                      loops.Parameter("states", "int", True, True), loops.Parameter("taken", "int", True, True),
                      loops.Parameter("gave", "int", True, True), loops.Parameter("cells", "int", True),
                      loops.Parameter("errors", "int", True), loops.Parameter("interrupt", "int", True),
                      loops.Parameter(WORKERS, "int"))
        return loops.Function(f"{self.title}_apart", "host", parameters, body, origin=self.offer.origin)

    def activation(self) -> list[loops.Stmt]:
        """Call the function for activation i, and keep its results."""
        arguments: list[loops.Exp] = []
        for mine, its in zip(self.params[1:], self.called.params, strict=True):
            if not isinstance(mine.type, ir.Array):
                arguments.append(name(mine.name))
            elif isinstance(its.type, ir.Array):
                arguments.append(loops.Distance(mine.name, "arena"))
            else:
                arguments.append(loops.Load(mine.name, name("i")))
        given = tuple([self.names.fresh("given") for _ in self.called.results])
        calls = op("min", integer(CALLS), loops.Load("errors", integer(DEPTH)))
        begin: list[loops.Stmt] = [set_state(word, value) for word, value in (
            (TOP, integer(0)), (END, name("arena_size")), (GAVE_UP, integer(0)), (LEFT, calls))]
        passed = (*arguments, name("state"), name("arena"), name("interrupt"))
        fits: loops.Exp = op("==", state(GAVE_UP), integer(0))
        for s in self.sequences:
            end = loops.Load("starts", op("+", name("chunk"), integer(1)))
            beyond = op("+", name(self.next[s.size]), name(given[s.at + 1]))
            fits = op("and", fits, op("<=", beyond, end))
        kept = [statement for s in self.sequences for statement in self.kept(s, given)]
        within = {at for s in self.sequences for at in range(s.at, s.at + 3 + len(s.arrays))}
        kept += [loops.Store(r.name, name("i"), name(given[at])) for at, r in enumerate(self.results[1:])
                 if at not in within]
        return [*begin, loops.Call(given, self.function, passed),
                loops.If(fits, tuple(kept), (loops.Store("gave", integer(0), integer(1)),))]

    def kept(self, s: SequenceResult, given: tuple[str, ...]) -> list[loops.Stmt]:
        """Copy a sequence to the chunk's part of the results."""
        following = name(self.next[s.size])
        found: list[loops.Stmt] = []
        for number, array in enumerate(s.arrays, s.at + 3):
            type_ = next(r.type for r in self.results if r.name == array)
            assert isinstance(type_, ir.Array)
            part, at = self.names.fresh("part"), self.names.fresh("at")
            found.append(loops.Part(part, type_.base, "arena", name(given[number])))
            found.append(loops.For(at, integer(0), name(given[s.at + 1]), (
                loops.Store(array, op("+", following, name(at)),
                            loops.Load(part, op("+", name(given[s.at]), name(at)))),)))
        length = name(given[s.at + 1])
        return [*found, loops.Store(s.start, name("i"), following), loops.Store(s.length, name("i"), length),
                loops.Set(following.name, op("+", following, length))]
