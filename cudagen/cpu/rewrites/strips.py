"""Goes round a scalar function's loop with eight elements at a time, which LLVM makes vectors of.

    for (i = low; i < high; i += 1) {               for (strip = low; strip < whole; strip += 8) {
      float x = xs[i];                                for (lane = 0; lane < 8; lane += 1) {
      r = call f(x, errors, interrupt);      ->         int i = strip + lane;  float x = xs[i];  given[lane] = x;
      out[i] = r;                                     }
    }                                                 call f.strip(given, errors, interrupt, results);
                                                      for (lane = 0; lane < 8; lane += 1) {
                                                        int i = strip + lane;  float x = xs[i];  out[i] = results[lane];
                                                      }
                                                    }
                                                    and what is left of the loop, as it was

A tail-recursive function is a loop (cudagen.kernels.scalar_functions): variables, a round, results. f.strip has eight
of each variable, and does rounds as long as one of the eight is running:

    while (live /= 0) {
      live = 0;
      for (lane = 0; lane < 8; lane += 1) {
        bool on = running[lane] /= 0;  the round, on the variables that are in the lane
        result[lane] = on ? result : result[lane];  running[lane] = on and running;  live = live or running[lane];
      }
    }

Each lane computes what the loop alone would: the same bits, the same failure. One that has ended goes on, since
operators are total, but its results stay. At worst one of eight is running, and a round of eight takes some more time
than one of a single element; where neighbours run about equally long it is several times faster. So only rounds are
taken that are operators which vectors have, on all processors: none multiplies two ints, or divides them but by a power
of two. They may read arrays, as a binary search does, where the processor loads a vector from eight places. What has
ended changes no variable any more, so it reads again what its last round has read.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

from nessie.base.records import dataclass
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.rewrites.held import FAILED
from nessie.cudagen.cpu.row_loops import ROUND, depends, names_of_read
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.marks import all_marked, with_marks
from nessie.cudagen.loops.nodes import (
    Atomic,
    Call,
    Const,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    Name,
    Op,
    Parameter,
    Return,
    Set,
    Shared,
    Stmt,
    Store,
    Var,
    While,
)
from nessie.cudagen.loops.typing import Scope, type_of
from nessie.cudagen.loops.walk import BODIES, bound_names, expressions, parts, read_names, statements, with_blocks
from nessie.cudagen.skeletons.cpu.lanes import LANES
from nessie.lambda_cu.ops import OPERATION, ROWS

WORDS = ("errors", "interrupt")
FREE = frozenset(row.name for row in ROWS if row.cost == OPERATION) - {"trunc", "floor", "ceil", "round", "mul_high",
                                                                       "mix"} | {"select", "sqrt"}
LARGEST = 100                   # operators of a round
ROUNDS, RUNNING = "rounds", "running.lanes"
LIVE = Name("live.")            # no name of the text has a point
STOP = Set("running", Const(False, "bool"))


# The function --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """A scalar function that is a loop: its variables, what a round does, what it does now and then, its results."""
    function: Function
    variables: tuple[Var, ...]
    round: tuple[Stmt, ...]
    poll: If
    results: tuple[str, ...]


def loop_of(function: Function) -> Loop | None:
    """The loop, if a strip of elements can go round it together."""
    match function.body:
        case (*variables, While(Name("running"), (*round_, Set("rounds"), If() as poll)), Return(results)):
            found = Loop(function, tuple([v for v in variables if isinstance(v, Var)]), tuple(round_), poll,
                         tuple([r.name for r in results if isinstance(r, Name)]))
            whole = len(found.variables) == len(variables) and len(found.results) == len(results)
            only_read = all(p.name in WORDS or not p.writable for p in function.parameters)
            if function.kind == "device" and whole and only_read and is_light(found):
                return found
    return None


def reads(loop: Loop) -> bool:
    """Do its rounds read arrays?"""
    return any(p.array and p.name not in WORDS for p in loop.function.parameters)


def is_light(loop: Loop) -> bool:
    """Are its rounds operators that vectors have, and not many?"""
    given = loop.function.parameters
    types = {p.name: p.type for p in given if not p.array} | {v.name: v.type for v in loop.variables}
    scope = Scope("device", types, {p.name: p.type for p in given if p.array})
    count = 0
    for statement in statements(loop.round):
        if not isinstance(statement, Let | Var | Set | If | Return):
            return False
        if isinstance(statement, Let | Var):
            scope.scalars[statement.name] = statement.type
        for exp in expressions(statement):
            for part in parts(exp):
                count += isinstance(part, Op)
                if isinstance(part, Load) and (part.order or "avx512f" not in features()):
                    return False
                if isinstance(part, Op) and not in_vectors(part, scope):
                    return False
    return count <= LARGEST


def in_vectors(exp: Op, scope: Scope) -> bool:
    if exp.op == "*" and type_of(exp, scope) == "int":
        return any(isinstance(a, Const) for a in exp.arguments)
    if exp.op == "/" and type_of(exp, scope) == "int":
        by = exp.arguments[1]
        return isinstance(by, Const) and int(by.value) > 0 and int(by.value).bit_count() == 1
    return exp.op in FREE or exp.op == "/"


def strip_of(loop: Loop) -> Function:
    """The function for eight elements: parameters are arrays of their values, and so are results, which come last."""
    of = loop.function
    lasting = [v for v in loop.variables if v.name not in ("running", ROUNDS)]
    results = [Parameter(f"result.{number}", type_, True, True) for number, type_ in enumerate(of.results)]
    given = [p if p.array else Parameter(given_of(p.name), p.type, True) for p in of.parameters]
    begin = [Store(lanes_of(v.name), lane, initial(v, lane)) for lane in [Name("lane.begin")] for v in lasting]
    end = [Store(p.name, lane, Load(lanes_of(r), lane)) for lane in [Name("lane.end")]
           for p, r in zip(results, loop.results, strict=True)]
    body: tuple[Stmt, ...] = (
        *[Shared(lanes_of(v.name), v.type, LANES) for v in lasting], Shared(RUNNING, "int", LANES),
        Var(ROUNDS, "int", integer(0)), Var(LIVE.name, "int", integer(1)),
        lanes("lane.begin", *begin, Store(RUNNING, Name("lane.begin"), integer(1))),
        While(op("/=", LIVE, integer(0)), (
            Set(LIVE.name, integer(0)), one_round(loop, lasting), Set(ROUNDS, op("+", Name(ROUNDS), integer(1))),
            stopping(loop.poll))),
        lanes("lane.end", *end))
    return Function(f"{of.name}.strip", "device", (*given, *results), body, origin=of.origin)


def one_round(loop: Loop, lasting: list[Var]) -> For:
    """A round of each of the eight. What has ended keeps its results."""
    lane, on, goes = Name(ROUND), Name("on."), Name("goes.")
    used = read_names(loop.round)
    return lanes(
        lane.name,
        *[Let(p.name, p.type, Load(given_of(p.name), lane)) for p in loop.function.parameters
          if p.name in used and not p.array],
        *[Var(v.name, v.type, Load(lanes_of(v.name), lane)) for v in lasting],
        Let(on.name, "bool", op("/=", Load(RUNNING, lane), integer(0))), Var("running", "bool", Const(True, "bool")),
        *ending(loop.round),
        *[Store(lanes_of(v.name), lane, op("select", on, Name(v.name), Load(lanes_of(v.name), lane))
                if v.name in loop.results else Name(v.name)) for v in lasting],
        Let(goes.name, "int", op("select", op("and", on, Name("running")), integer(1), integer(0))),
        Store(RUNNING, lane, goes), Set(LIVE.name, op("or", LIVE, goes)))


def ending(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements, which end the loop instead of returning: a failed check is the last that a round does."""
    for at, statement in enumerate(body):
        match statement:
            case If(condition, (Return(),), ()):
                return (*body[:at], If(condition, (STOP,), ending(body[at + 1:])))
            case If(condition, then, orelse):
                body = (*body[:at], If(condition, ending(then), ending(orelse)), *body[at + 1:])
    return body


def stopping(poll: Stmt) -> Stmt:
    """What is done now and then, which ends all eight."""
    return Set(LIVE.name, integer(0)) if poll == STOP else BODIES.map(poll, stopping)


def initial(variable: Var, lane: Name) -> Exp:
    """What the variable begins as: a constant or a parameter."""
    return Load(given_of(variable.initial.name), lane) if isinstance(variable.initial, Name) else variable.initial


def lanes(index: str, *body: Stmt) -> For:
    return For(index, integer(0), integer(LANES), body)


def lanes_of(variable: str) -> str:
    return f"{variable}.lanes"


def given_of(parameter: str) -> str:
    return f"{parameter}.given"


# Its calls -----------------------------------------------------------------------------------------


def in_strips(function: Function, functions: Mapping[str, Function]) -> tuple[Function, tuple[Function, ...]]:
    """The function, which calls others for eight elements where it can; and these others."""
    if function.kind != "host" or all(p.name != "interrupt" for p in function.parameters):
        return function, ()
    rewriter = Rewriter(functions, names_of_read(function))
    body = tuple([new for s in function.body for new in rewriter.changed(s)])
    if not rewriter.strips:
        return function, ()
    return replace(function, body=(*rewriter.arrays, *body)), tuple(rewriter.strips.values())


class Rewriter:
    """Rewrites loops that call. `strips`: the functions for eight elements that they call; `arrays`: what they pass.
    `read`: the names that hold what the function has read."""

    def __init__(self, functions: Mapping[str, Function], read: frozenset[str]) -> None:
        self.functions, self.read = functions, read
        self.strips: dict[str, Function] = {}
        self.arrays: list[Shared] = []
        self.numbers = count()

    def changed(self, statement: Stmt) -> list[Stmt]:
        if isinstance(statement, For) and (at := self.call_in(statement)) is not None:
            return self.by_strips(statement, at)
        return [with_blocks(statement, self.changed)]

    def call_in(self, loop: For) -> int | None:
        """Where in the loop's body is a call that a strip of elements can do together? What is computed before it is
        computed twice, and must not depend on what comes after it."""
        whole = loop.step == integer(1) and not any(isinstance(s, For | While | Return) for s in statements(loop.body))
        for at, statement in enumerate(loop.body):
            if not isinstance(statement, Let | Var | Set | If | Call):
                return None
            if isinstance(statement, Call):
                of = loop_of(self.functions[statement.function])
                if not whole or of is None or not independent(loop.body[:at], loop.body[at:]):
                    return None
                if reads(of) and depends(loop.high, self.read):         # an irregular row, which is short perhaps
                    return None
                self.strips.setdefault(statement.function, strip_of(of))
                return at
        return None

    def by_strips(self, loop: For, at: int) -> list[Stmt]:
        mark = f".s{next(self.numbers)}"
        strip, low, high, whole = [Name(f"{name}{mark}") for name in ("strip", "low", "high", "whole")]
        if (loop.low, loop.high) == (integer(0), integer(LANES)):
            return self.one_strip(loop, at, mark, lambda lane: lane)
        several = self.one_strip(loop, at, mark, lambda lane: op("+", strip, lane))
        rest = with_marks(replace(loop, low=whole, high=high), f"{mark}.rest")
        return [
            Let(low.name, "int", loop.low), Let(high.name, "int", op("max", low, loop.high)),
            Let(whole.name, "int", op("+", low, op("and", op("-", high, low), integer(-LANES)))),
            For(strip.name, low, whole, tuple(several), integer(LANES)), rest]

    def one_strip(self, loop: For, at: int, mark: str, index: Callable[[Name], Exp]) -> list[Stmt]:
        """The call for eight elements; before it what it is given, and after it what is done with the results."""
        call = loop.body[at]
        assert isinstance(call, Call)
        strip, of = self.strips[call.function], self.functions[call.function]
        first, last = Name(f"lane{mark}.first"), Name(f"lane{mark}.last")
        passed = [(Name(f"{given_of(p.name)}{mark}"), a) for p, a in zip(of.parameters, call.arguments, strict=True)
                  if not p.array]
        results = [Name(f"{p.name}{mark}") for p in strip.parameters[len(of.parameters):]]
        types = [p.type for p in of.parameters if not p.array]
        self.arrays += [Shared(name.name, type_, LANES) for (name, _), type_ in
                        zip([*passed, *[(r, r) for r in results]], [*types, *of.results], strict=True)]
        before = all_marked((
            Let(loop.index, "int", index(first)), *loop.body[:at],
            *[Store(name.name, first, a) for name, a in passed]), f"{mark}.first")
        arguments = iter(passed)
        given = tuple([a if p.array else next(arguments)[0]
                       for p, a in zip(of.parameters, call.arguments, strict=True)])
        return [
            lanes(first.name, *before), Call((), strip.name, (*given, *results)),
            lanes(last.name, Let(loop.index, "int", index(last)), *loop.body[:at],
                  *[Let(name, type_, Load(r.name, last))
                    for name, type_, r in zip(call.names, of.results, results, strict=True)], *loop.body[at + 1:])]


def independent(before: tuple[Stmt, ...], after: tuple[Stmt, ...]) -> bool:
    """May it all be done for other elements, too, before what comes after it? A check that fails twice fails once."""
    changed = {s.name for s in statements(after) if isinstance(s, Set)} - {FAILED.name}
    changed |= {s.name for s in statements(before) if isinstance(s, Set)} - {FAILED.name, *bound_names(before)}
    stored = {s.array for s in statements(after) if isinstance(s, Store | Atomic)}
    return all(isinstance(s, Let | Var | Set | If) for s in statements(before)) and (
        (changed | stored).isdisjoint(read_names(before) | {s.name for s in statements(before) if isinstance(s, Set)}))
