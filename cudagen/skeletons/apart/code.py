"""A function that one thread runs, while it is being written.

    apart f(int n, int xs, writable int[] state, writable bool[] arena, int[] interrupt) -> int, int {
      ...
      if (state[1] < beyond) { state[2] = 1; return 0, 0; }

Arrays lie in the thread's arena, or outside of it; each is known by its distance from the arena's beginning, in bytes.
What a function makes it puts at `state[TOP]`; its results lie where that was when it was called, so that the arena is a
stack: they move down there, or a kernel puts them there, from `low` on, where they end before `roof`, the first array
that it reads. Where the arena or the depth ends, a check fails or the run is interrupted, `state[GAVE_UP]` is set,
and all that runs returns zeros.
"""
from __future__ import annotations

from nessie.base.source import Origin
from nessie.base.values import DTYPES
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.code import Code, Value, identifier, integer, op, zero
from nessie.cudagen.loops import nodes as loops
from nessie.lambda_cu import nodes as ir

TOP, END, GAVE_UP, LEFT = STATE = range(4)      # words of `state`: the first free byte, the arena's size; calls left
WORDS = 8                                       # that a thread's state takes: a line of the cache
ARRAYS = (loops.Parameter("state", "int", True, True), loops.Parameter("arena", "bool", True, True),
          loops.Parameter("interrupt", "int", True))
GOAL = (loops.Parameter("low", "int"), loops.Parameter("roof", "int"))      # where a kernel's results had best lie
OWN = frozenset({"state", "arena", "interrupt", "failed", "low", "roof"})
ALIGNED = 8


class Declined(Exception):
    """A thread cannot do this."""


def state(word: int) -> loops.Load:
    return loops.Load("state", integer(word))


def set_state(word: int, value: loops.Exp) -> loops.Store:
    return loops.Store("state", integer(word), value)


def loops_type(type_: ir.Type) -> str:
    """The type of what stands for a value of this type: of an array its distance."""
    return "int" if isinstance(type_, ir.Array) else type_


class ThreadCode(Code):
    """`places` are the distances of the arrays, `parts` the names under which their elements are read."""

    def __init__(self, scalars: dict[str, str], arrays: dict[str, ir.Array],
                 taken: frozenset[str] = frozenset()) -> None:
        super().__init__(scalars, arrays, {*taken, *OWN})
        self.places: dict[str, loops.Exp] = {}
        self.parts: dict[str, str] = {}
        self.gives: tuple[str, ...] = ()

    def array(self, name: str, base: str, writable: bool = False) -> str:
        return self.parts[name]

    def place(self, name: str, type_: ir.Array, at: loops.Exp) -> None:
        """The array is there."""
        self.arrays[name], self.places[name] = type_, at
        self.parts[name] = self.fresh(f"{name}_part")
        self.add(loops.Part(self.parts[name], type_.base, "arena", at))

    def take(self, arrays: list[tuple[str, ir.Array, loops.Exp]], aims: bool = False) -> None:
        """Take memory for arrays of so many elements. `aims`: from `low` on, if they fit in before `roof`."""
        if not arrays:
            return
        lengths = [self.let_int("bytes", rounded(op("*", size, integer(width(type_.base)))))
                   for _, type_, size in arrays]
        top = at = self.let_int("free", state(TOP))
        if aims:
            low, roof = [loops.Name(p.name) for p in GOAL]
            beyond: loops.Exp = low
            for length in lengths:
                beyond = op("+", beyond, length)
            at = self.let_int("free", op("select", op("<=", beyond, roof), low, top))
        places = []
        for length in lengths:
            places.append(at)
            at = self.let_int("free", op("+", at, length))
        self.add(loops.If(op("<", state(END), at), self.give_up()))
        self.add(set_state(TOP, op("max", top, at) if aims else at))
        for (name, type_, _), place in zip(arrays, places):
            self.place(name, type_, place)

    # Giving up ------------------------------------------------------------------------------

    def give_up(self) -> tuple[loops.Stmt, ...]:
        return set_state(GAVE_UP, integer(1)), self.zeros()

    def zeros(self) -> loops.Return:
        return loops.Return(tuple([zero(type_) for type_ in self.gives]))

    def look(self) -> None:
        """Return if what was called has given up."""
        self.add(loops.If(op("/=", state(GAVE_UP), integer(0)), (self.zeros(),)))

    def look_at_checks(self) -> None:
        """Give up if a check has failed so far."""
        if self.fails:
            self.add(loops.If(op("<", loops.Name("failed"), integer(NO_FAILURE)), self.give_up()))

    # The whole ------------------------------------------------------------------------------

    def thread(self, name: str, parameters: list[loops.Parameter], origin: Origin) -> loops.Function:
        shared = [s for s in self.statements if isinstance(s, loops.Shared)]
        rest = [s for s in self.statements if not isinstance(s, loops.Shared)]
        failed = loops.Var("failed", "int", integer(NO_FAILURE))
        body = (*shared, failed, *rest)
        return loops.Function(name, "apart", (*parameters, *ARRAYS), body, self.gives, origin=origin)


def width(base: str) -> int:
    return DTYPES[base].itemsize


def rounded(size: loops.Exp) -> loops.Exp:
    """So many bytes, or a few more."""
    return op("and", op("+", size, integer(ALIGNED - 1)), integer(-ALIGNED))


def parameters_of(code: ThreadCode, params: tuple[ir.Param, ...]) -> list[loops.Parameter]:
    """The parameters of a function; the code knows what they are called in it."""
    found = []
    for p in params:
        name = code.fresh(identifier(p.name))
        found.append(loops.Parameter(name, loops_type(p.type)))
        if isinstance(p.type, ir.Array):
            code.place(p.name, p.type, loops.Name(name))
        else:
            code.values[p.name] = Value(loops.Name(name), p.type)
    return found
