"""A function of the host level that one thread runs.

    at the beginning    give up where no call is left; return at once where nothing is to do but give what was given;
                        count the call, look whether the run was interrupted, note where the arena is free
    statements          scalars are computed, kernels and functions called (skeletons.apart.kernels)
    at the end          results that lie in the arena move down to where it was free
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.base.widths import wide
from nessie.cudagen.kernels.code import Value, identifier, integer, op, zero
from nessie.cudagen.kernels.thunks import Tables, evaluate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.apart.code import (
    ARRAYS,
    END,
    LEFT,
    TOP,
    Declined,
    ThreadCode,
    loops_type,
    parameters_of,
    rounded,
    set_state,
    state,
    width,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions

Names = Mapping[str, str]               # of kernels and functions: what they are called in loops
LITERAL = 64                            # elements at most: each is a store, in every activation
NO_GOAL = (integer(0), integer(-1))
PASSED = tuple([loops.Name(p.name) for p in ARRAYS])


def thread_function(function: ir.Function, tables: Tables, kernels: Names, functions: Names) -> loops.Function:
    """The function that does what this one does. Declined if it has effects, or computes by functions that loop."""
    return Writer(function, tables, kernels, functions).written()


class Writer:
    def __init__(self, function: ir.Function, tables: Tables, kernels: Names, functions: Names) -> None:
        self.function, self.tables, self.kernels, self.functions = function, tables, kernels, functions
        self.code = ThreadCode({}, {})

    def written(self) -> loops.Function:
        function, code = self.function, self.code
        code.gives = tuple([loops_type(r.type) for r in function.results])
        parameters = parameters_of(code, function.params)
        left = code.let_int("left", state(LEFT))
        stopped = op("/=", loops.Load("interrupt", integer(0), "volatile"), integer(0))
        code.add(loops.If(op("<", left, integer(1)), code.give_up()))
        body = self.return_at_once(function.body)
        code.add(loops.If(stopped, code.give_up()))
        code.add(set_state(LEFT, op("-", left, integer(1))))
        free = code.let_int("free", state(TOP))
        self.free = free
        self.block(body, function.results)
        results = self.moved_down(body.results, free)
        code.add(set_state(LEFT, left))
        code.add(loops.Return(tuple(results)))
        return code.thread(self.functions[function.name], parameters, function.origin)

    def return_at_once(self, block: ir.Block) -> ir.Block:
        """Where the function is an `if`, one side of which gives what is there already, write that side. Return what
        remains. Most calls of a recursion are its leaves, which so take little more than the call itself."""
        *before, last = block.statements or (None,)
        if not isinstance(last, ir.Branch) or not all([isinstance(s, ir.HostLet) for s in before]):
            return block
        there = {r.name for r in self.function.params} | {s.result.name for s in before if isinstance(s, ir.HostLet)}
        sides = (last.then, last.orelse)
        leaf = next((side for side in sides if not side.statements and names_in(side.results) <= there), None)
        if leaf is None:
            return block
        for statement in before:
            self.statement(statement)
        condition = self.atom(last.condition)
        ends = loops.Return(tuple([self.atom(atom) for atom in self.results_of(block, last, leaf)]))
        self.code.add(loops.If(condition if leaf is last.then else op("not", condition), (ends,)))
        rest = last.orelse if leaf is last.then else last.then
        return ir.Block(rest.statements, self.results_of(block, last, rest))

    def results_of(self, block: ir.Block, branch: ir.Branch, side: ir.Block) -> tuple[ir.Atom, ...]:
        """The block's results, if the branch at its end takes this side."""
        given = dict(zip([r.name for r in branch.results], side.results, strict=True))
        return tuple([given.get(a.name, a) if isinstance(a, ir.Var) else a for a in block.results])

    # Statements -----------------------------------------------------------------------------

    def block(self, block: ir.Block, ends: tuple[ir.Param, ...]) -> None:
        """`ends`: where this is the end of the function, what its results become."""
        given = {atom.name for p, atom in zip(ends, block.results) if isinstance(p.type, ir.Array)
                 and isinstance(atom, ir.Var)}
        for statement in block.statements:
            last = statement is block.statements[-1]
            self.statement(statement, last and bool(given) and given <= arrays_made(statement))

    def statement(self, statement: ir.Statement, ends: bool = False) -> None:
        """`ends`: the function's arrays are made here, and nothing comes after."""
        match statement:
            case ir.HostLet(result, value):
                self.let(result, value)
            case ir.Run(results, kernel, arguments):
                goal = self.goal(arguments) if ends else NO_GOAL
                self.call(results, self.kernels[kernel], arguments, goal)
            case ir.Call(results, function, arguments):
                self.call(results, self.functions[function], arguments)
            case ir.Data(result, values):
                self.data(result, values)
            case ir.Branch():
                self.branch(statement, ends)
            case ir.Choose(results, cases):                 # there is little data where functions run apart
                self.block(cases[-1].block, results if ends else ())
                for result, atom in zip(results, cases[-1].block.results, strict=True):
                    self.bind(result, self.atom(atom))
            case _:
                raise Declined("it has effects")

    def let(self, result: ir.Param, value: ir.Exp) -> None:
        called = [self.tables.scalar_functions[e.function] for e in subexpressions(value)
                  if isinstance(e, ir.CallScalar)]
        if any([d.polls or d.nests for d in called]):
            raise Declined("it calls a function that loops or recurs")
        code = self.code
        fails, code.fails = code.fails, False
        (found,) = evaluate(code, self.tables, value)
        if result.name != "_":
            code.values[result.name] = code.let(result.name, found)
        code.look_at_checks()
        code.fails = fails

    def goal(self, arguments: tuple[ir.Atom, ...]) -> tuple[loops.Exp, ...]:
        """Where results had best lie: where the function's shall, if they end before all that is read."""
        roof: loops.Exp = state(END)
        for argument in arguments:
            if isinstance(argument, ir.Var) and argument.name in self.code.places:
                place = self.code.places[argument.name]
                roof = op("min", roof, op("select", op("<", place, self.free), state(END), place))
        return self.free, self.code.let_int("roof", roof)

    def call(self, results: tuple[ir.Param, ...], function: str, arguments: tuple[ir.Atom, ...],
             goal: tuple[loops.Exp, ...] = ()) -> None:
        code = self.code
        names = [code.fresh(identifier(r.name)) for r in results]
        code.add(loops.Call(tuple(names), function, (*[self.atom(a) for a in arguments], *goal, *PASSED)))
        code.look()
        for result, name in zip(results, names, strict=True):
            self.bind(result, loops.Name(name))

    def data(self, result: ir.Param, values: tuple[int | float | bool | str, ...]) -> None:
        assert isinstance(result.type, ir.Array)
        if len(values) > LITERAL:
            raise Declined("it has a long literal")
        self.code.take([(result.name, result.type, integer(len(values)))])
        base = wide(result.type.base)
        for at, value in enumerate(values):
            self.code.store(result.name, integer(at), Value(loops.Const(value, base), base))

    def branch(self, branch: ir.Branch, ends: bool) -> None:
        code = self.code
        chosen = [code.var(identifier(r.name), loops_type(r.type), zero(loops_type(r.type))) for r in branch.results]
        blocks = []
        for block in (branch.then, branch.orelse):
            with code.block() as statements:
                self.block(block, branch.results if ends else ())
                for name, atom in zip(chosen, block.results, strict=True):
                    code.add(loops.Set(name, self.atom(atom)))
            blocks.append(tuple(statements))
        code.add(loops.If(self.atom(branch.condition), blocks[0], blocks[1]))
        for result, name in zip(branch.results, chosen, strict=True):
            self.bind(result, code.let_int(result.name, loops.Name(name)) if isinstance(result.type, ir.Array)
                      else loops.Name(name))

    # Names ----------------------------------------------------------------------------------

    def atom(self, atom: ir.Atom) -> loops.Exp:
        if isinstance(atom, ir.Const):
            return loops.Const(atom.value, atom.type)
        return self.code.places.get(atom.name) or self.code.values[atom.name].exp

    def bind(self, result: ir.Param, exp: loops.Exp) -> None:
        if result.name == "_":
            return
        if isinstance(result.type, ir.Array):
            self.code.place(result.name, result.type, exp)
        else:
            self.code.values[result.name] = Value(exp, result.type)

    # The end --------------------------------------------------------------------------------

    def moved_down(self, given: tuple[ir.Atom, ...], free: loops.Exp) -> list[loops.Exp]:
        """The results; arrays that this call has made lie where the arena was free, one after another. If there are
        several, they are first copied to behind all others, since nobody knows in which order they lie."""
        code = self.code
        found = [(r, self.atom(a)) for r, a in zip(self.function.results, given, strict=True)]
        arrays = [(r, at) for r, at in found if isinstance(r.type, ir.Array)]
        sizes = {r.name: at for r, at in found if not isinstance(r.type, ir.Array)}
        places = {r.name: code.var("place", "int", at) for r, at in arrays}
        length = {r.name: code.let_int("length", self.bytes_of(r, sizes)) for r, _ in arrays}
        with code.block() as moving:
            if len(arrays) > 1:
                self.move(arrays, places, length, free, code.let_int("top", state(TOP)))
            self.move(arrays, places, length, free, free)
        self.unless_there([(loops.Name(places[r.name]), length[r.name]) for r, _ in arrays], free, tuple(moving))
        return [loops.Name(places[r.name]) if r.name in places else at for r, at in found]

    def unless_there(self, arrays: list[tuple[loops.Exp, loops.Exp]], free: loops.Exp,
                     moving: tuple[loops.Stmt, ...]) -> None:
        """Do this unless the arrays, places and lengths, lie one after another from `free` on already."""
        code, there = self.code, free
        missed: loops.Exp = loops.Const(not arrays, "bool")
        for place, length in arrays:
            missed = op("or", missed, op("/=", place, there))
            there = code.let_int("beyond", op("+", there, length))
        code.add(loops.If(missed, moving, (set_state(TOP, there),)))

    def bytes_of(self, result: ir.Param, sizes: Mapping[str, loops.Exp]) -> loops.Exp:
        type_ = result.type
        assert isinstance(type_, ir.Array)
        if isinstance(type_.size, str) and type_.size not in sizes:
            raise Declined("a result's size is a parameter")
        size = integer(type_.size) if isinstance(type_.size, int) else sizes[type_.size]
        return rounded(op("*", op("+", size, integer(type_.plus)), integer(width(type_.base))))

    def move(self, arrays: list[tuple[ir.Param, loops.Exp]], places: Mapping[str, str], length: Mapping[str, loops.Exp],
             free: loops.Exp, to: loops.Exp) -> None:
        """Copy what lies from `free` on to `to`, one after another; there the arena is free then."""
        code = self.code
        goal = code.var("goal", "int", to)
        target = loops.Name(goal)
        for result, _ in arrays:
            place = loops.Name(places[result.name])
            with code.block() as moving:
                beyond = code.let_int("beyond", op("+", target, length[result.name]))
                code.add(loops.If(op("<", state(END), beyond), code.give_up()))
                source, there = code.fresh("source"), code.fresh("there")
                code.add(loops.Part(source, "int", "arena", place))
                code.add(loops.Part(there, "int", "arena", target))
                at = loops.Name(code.fresh("moved"))
                code.add(loops.For(at.name, integer(0), op("rshift", length[result.name], integer(3)),
                                   (loops.Store(there, at, loops.Load(source, at)),)))
                code.add(loops.Set(place.name, target))
                code.add(loops.Set(goal, beyond))
            own = op("and", op("<=", free, place), op("<", place, state(END)))
            code.add(loops.If(own, tuple(moving)))
        code.add(set_state(TOP, target))


def names_in(atoms: tuple[ir.Atom, ...]) -> set[str]:
    return {atom.name for atom in atoms if isinstance(atom, ir.Var)}


def arrays_made(statement: ir.Statement) -> set[str]:
    """The arrays among the results of a launch, a branch or a choice."""
    if not isinstance(statement, ir.Run | ir.Branch | ir.Choose):
        return set()
    return {p.name for p in statement.results if isinstance(p.type, ir.Array)}
