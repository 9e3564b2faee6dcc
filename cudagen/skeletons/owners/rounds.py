"""A loop of the host over rows (lambda_cu.offers.rounds), which the lanes of one owner go through together.

    scalars         each lane computes them, all the same
    kernels         walked like a segment (skeletons.owners.walk), on rows in shared memory (local); then the lanes meet
    calls           become part of the function; one by itself, as the last step, is another round
    giving up       where a check fails, an array has no room, or the rounds are too many: nothing more is done

What is behind a statement that may give up stands under a condition. A lane that finds a check failing says so in a
flag; then the lanes meet and look at it. Three flags are used in turn, since others may look at the one before while a
lane is at the next: of the third the first lane sets it back. So all flags are as they were when the next row comes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.base.widths import wide
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.code import Value, identifier, integer, op, zero
from nessie.cudagen.kernels.thunks import Tables, apply, evaluate
from nessie.cudagen.kernels.walk import walk_at
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import states_of
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.owners.local import Declined, LocalCode, Slot
from nessie.cudagen.skeletons.owners.teams import Team, meet
from nessie.cudagen.skeletons.owners.walk import Segment, places_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings import owners
from nessie.lambda_cu.mappings.own_row import indices
from nessie.lambda_cu.offers.rounds import Known, Same, ends_of, last_branch, tail_call, why_no_loop
from nessie.lambda_cu.parts import BLOCKS, INDEX_THUNKS, subexpressions
from nessie.lambda_cu.rename import all_names
from nessie.lambda_cu.scope import atom_names, soac_expressions, soac_names, used_names

ROUNDS = 1 << 14                # of an activation; more are left to the host, which asks for its limits in each
FLAGS = 3                       # of an owner
FALSE, TRUE = loops.Const(False, "bool"), loops.Const(True, "bool")
Held = Value | Slot


@dataclass
class Needs:
    """What lanes need: flags, since checks may fail; meetings, since they read what others have left."""
    flags: bool = True
    meetings: bool = True


class Row(Segment):
    """Writes a kernel's walk of one row, from 0 on: sums are of the lanes, and nowhere else."""

    def __init__(self, kernel: Kernel, found: owners.Owned, code: LocalCode, team: Team, size: loops.Exp) -> None:
        super().__init__(kernel, found, code, team, integer(0), (integer(0), size))

    def walk(self) -> None:
        self.sweep.divide(self.segment)
        for number in range(self.found.many):
            self.elements(number)

    def store(self, step: object) -> None:
        pass


class Rounds:
    """Writes the loop. `fine`: a variable that says that nobody has given up; `later`: the names that are used behind
    what is being written, block by block of the function; `around`: the slots that are wanted behind its call;
    `bounded`: what is known to have room; `depth`: of calls; `needs`: what is known to be needed; `found`: what is.
    Since the lanes have met they have looked in the slots `read` for what others have left, so that nobody writes
    there, and have left their own in those `written`. `apart`: may they give up before they have met then?"""

    def __init__(self, code: LocalCode, team: Team, tables: Tables, program: ir.Program, by: maps.Mapping,
                 called: str, needs: Needs) -> None:
        self.code, self.team, self.tables, self.program, self.by = code, team, tables, program, by
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.functions = {function.name: function for function in program.functions}
        if why := why_no_loop(self.functions, self.kernels, called):
            raise Declined(why)
        self.same = Same(self.functions, called)
        self.fine = code.var("fine", "bool", TRUE)
        self.left = code.var("left", "int", integer(ROUNDS))
        self.turn, self.flags = "", ""
        self.needs, self.found = needs, Needs(False, False)
        if needs.flags and team.lanes > 1:
            self.turn = code.var("turn", "int", integer(0))
            self.flags = code.fresh("gives_up")
            code.statements += team.first([loops.Store(self.flags, self.flag(integer(at)), integer(0))
                                           for at in range(FLAGS)])
            meet(code, team)
        self.later: list[set[str]] = []
        self.around: list[Slot] = []
        self.bounded: set[loops.Exp] = set()
        self.read: list[Slot] = []
        self.written: list[Slot] = []
        self.depth = 0
        self.apart = False

    # Giving up ------------------------------------------------------------------------------

    def begin(self, fits: loops.Exp) -> None:
        """A row comes next: nobody has given up, if it has room."""
        code = self.code
        code.add(loops.Set(self.fine, fits))
        code.add(loops.Set(self.left, integer(ROUNDS)))
        code.add(loops.Set("failed", integer(NO_FAILURE)))

    def flag(self, turn: loops.Exp) -> loops.Exp:
        return op("+", op("*", self.code.own, integer(FLAGS)), turn)

    def shared_memory(self) -> tuple[loops.Shared, ...]:
        own = [loops.Shared(self.flags, "int", FLAGS * self.code.room.owners)] if self.flags else []
        return (*self.code.shared_memory(), *own)

    def look_at_checks(self, together: bool) -> None:
        """Give up if a check of this lane has failed, or of any that come together here."""
        code, failed = self.code, op("<", loops.Name("failed"), integer(NO_FAILURE))
        if not together or self.team.lanes == 1:
            self.unless(op("not", failed))
            return
        turn, self.found.flags = loops.Name(self.turn), True
        code.add(loops.If(failed, (loops.Atomic("exchange", self.flags, self.flag(turn), integer(1)),)))
        self.meet()
        code.add(loops.Set(self.fine, op("==", loops.Load(self.flags, self.flag(turn)), integer(0))))
        before = op("select", op("<", integer(0), turn), op("-", turn, integer(1)), integer(FLAGS - 1))
        code.statements += self.team.first([loops.Store(self.flags, self.flag(before), integer(0))])
        code.add(loops.Set(self.turn, op("select", op("<", turn, integer(FLAGS - 1)), op("+", turn, integer(1)),
                                         integer(0))))

    def unless(self, holds: loops.Exp) -> None:
        """Give up, unless this holds for all lanes."""
        self.apart |= bool(self.read)
        self.code.add(loops.Set(self.fine, holds))

    def end(self, gave: loops.Stmt) -> None:
        """Say it if the owner has given up. Lanes may still look at the elements of this row then."""
        code = self.code
        with code.block() as told:
            code.statements += self.team.first([gave])
            if self.apart:
                code.note("lanes may look at each other's elements still")
                self.meet()
        code.add(loops.If(op("not", loops.Name(self.fine)), tuple(told)))

    # Meeting --------------------------------------------------------------------------------

    def meet(self) -> None:
        meet(self.code, self.team)
        self.read, self.written = [], []

    def meet_for_rows(self) -> None:
        """Meet, since lanes read what others have left, if any do."""
        if self.needs.meetings:
            self.meet()
        self.read, self.written = [], []

    def settle(self) -> None:
        """Meet where nobody knows what lanes have done: at the end of a block, and before a loop."""
        if self.read or self.written:
            self.meet_for_rows()

    def look_elsewhere(self, arrays: Iterable[str]) -> None:
        """Lanes read elements of these arrays that may be others'."""
        slots = [self.code.slots[array] for array in arrays if array in self.code.slots]
        self.found.meetings |= bool(slots)
        if any([slot in self.written for slot in slots]):
            self.code.note("lanes read what others have left")
            self.meet_for_rows()
        self.read += slots

    # Statements -----------------------------------------------------------------------------

    def steps(self, statements: Sequence[ir.Statement], behind: Iterable[str], done: Callable[[], None]) -> None:
        """The statements, and then what `done` writes, which uses the names `behind`."""
        code, behind = self.code, set(behind)
        for at, statement in enumerate(statements):
            rest = statements[at + 1:]
            self.later.append(behind.union(*map(mentioned, rest)))
            size = self.unbounded(statement)
            if size is not None:
                self.unless(op("<=", size, integer(code.room.each)))
                self.later.pop()
                bounded, self.bounded = self.bounded, self.bounded | {size}
                self.if_fine(partial(self.steps, statements[at:], behind, done))
                self.bounded = bounded
                return
            may_give_up = self.statement(statement)
            self.later.pop()
            if may_give_up:
                self.if_fine(partial(self.steps, rest, behind, done))
                return
        done()

    def if_fine(self, write: Callable[[], None]) -> None:
        with self.code.block() as inside:
            write()
        if inside:
            self.code.add(loops.If(loops.Name(self.fine), tuple(inside)))

    def statement(self, statement: ir.Statement) -> bool:
        """Write the statement. May it give up?"""
        match statement:
            case ir.HostLet(result, value):
                return self.let(result, value)
            case ir.Run():
                return self.run(statement)
            case ir.Call(results, function, arguments):
                found = self.call(self.functions[function], [self.atom(a) for a in arguments])
                self.bind(results, found)
                return True
            case ir.Data(result, ()):
                assert isinstance(result.type, ir.Array)
                self.bind((result,), [self.code.free_slot(result.type.base, self.wanted())])
                return False
            case ir.Branch(results, condition, then, orelse):
                self.either(results, (then, orelse), condition)
                return True
            case ir.Choose(results, cases):                 # there is little data where owners have it
                self.either(results, (cases[-1].block,), None)
                return True
        raise Declined("it has effects, or long literals")

    def let(self, result: ir.Param, value: ir.Exp) -> bool:
        code = self.code
        self.decline([value])
        self.look_elsewhere([part.array for part in subexpressions(value) if isinstance(part, ir.Read)])
        (found,) = evaluate(code, self.tables, value)
        if result.name != "_":
            code.values[result.name] = code.let(result.name, found)
        fails, code.fails = code.fails, False
        if fails:
            self.look_at_checks(together=False)
        return fails

    def decline(self, expressions: Iterable[ir.Exp]) -> None:
        called = [self.tables.scalar_functions[part.function] for exp in expressions for part in subexpressions(exp)
                  if isinstance(part, ir.CallScalar)]
        if any([function.polls or function.nests for function in called]):
            raise Declined("it calls a function that loops or recurs at each element")

    def either(self, results: tuple[ir.Param, ...], blocks: tuple[ir.Block, ...], condition: ir.Atom | None) -> None:
        """One of the blocks, and its results."""
        code, chosen = self.code, self.variables(results)
        written = self.alternatives([
            partial(self.steps, block.statements, atom_names(block.results), partial(self.become, chosen, block))
            for block in blocks])
        if condition is None:
            code.statements += written[0]
        else:
            code.add(loops.If(self.scalar(condition), *written))
        self.bind(results, [held_in(variable, result) for variable, result in zip(chosen, results, strict=True)])

    def alternatives(self, writes: Iterable[Callable[[], None]]) -> list[tuple[loops.Stmt, ...]]:
        """What each of these writes, from where lanes are now: one of them is done."""
        before, written = (self.read, self.written), []
        for write in writes:
            self.read, self.written = map(list, before)
            with self.code.block() as inside:
                write()
            written.append(tuple(inside))
        return written

    def become(self, variables: Sequence[str], block: ir.Block) -> None:
        for variable, atom in zip(variables, block.results, strict=True):
            self.code.add(loops.Set(variable, number_of(self.atom(atom))))
        self.settle()

    # Names ----------------------------------------------------------------------------------

    def variables(self, results: tuple[ir.Param, ...]) -> list[str]:
        return [self.code.var(identifier(r.name), type_, zero(type_)) for r in results
                for type_ in ["int" if isinstance(r.type, ir.Array) else r.type]]

    def atom(self, atom: ir.Atom) -> Held:
        if isinstance(atom, ir.Const):
            return Value(loops.Const(atom.value, atom.type), atom.type)
        return self.code.slots.get(atom.name) or self.code.values[atom.name]

    def scalar(self, atom: ir.Atom) -> loops.Exp:
        return number_of(self.atom(atom))

    def bind(self, params: Iterable[ir.Param], values: Iterable[Held]) -> None:
        for param, value in zip(params, values, strict=True):
            if isinstance(value, Slot):
                assert isinstance(param.type, ir.Array)
                self.code.slots[param.name], self.code.arrays[param.name] = value, param.type
            else:
                self.code.values[param.name] = value

    def wanted(self, *names: str) -> list[Slot]:
        """The slots with arrays that are used behind what is being written, or have these names."""
        used = {*names}.union(*self.later)
        return [*self.around, *self.read, *[slot for name, slot in self.code.slots.items() if name in used]]

    # Functions ------------------------------------------------------------------------------

    def call(self, function: ir.Function, arguments: list[Held]) -> list[Held]:
        code, held = self.code, (self.later, self.around)
        self.later, self.around = [], self.wanted()
        given = [arguments[key] if isinstance(key, int) else
                 Value(integer(key.value), "int") if isinstance(key, Known) else None
                 for key in self.same.given[function.name]]
        self.depth += 1
        with code.names():
            found = {at: self.variables((result,))[0] for at, result in enumerate(function.results)
                     if given[at] is None}
            Body(self, function, found).write(arguments)
        self.depth -= 1
        self.later, self.around = held
        return [value or held_in(found[at], function.results[at]) for at, value in enumerate(given)]

    # Kernels --------------------------------------------------------------------------------

    def unbounded(self, statement: ir.Statement) -> loops.Exp | None:
        """The number of elements that the kernel walks, if they may have no room."""
        if not isinstance(statement, ir.Run):
            return None
        kernel = self.kernels[statement.kernel]
        sizes = {bind.soac.space.size for bind in kernel.binds
                 if not isinstance(bind.soac, ir.Once) and isinstance(bind.soac.space, ir.Flat)}
        for param, atom in zip(kernel.params, statement.arguments, strict=True):
            if param.name in sizes:
                sizes.remove(param.name)
                size = self.scalar(atom)
                known = isinstance(size, loops.Const) and int(size.value) <= self.code.room.each
                if not known and size not in self.bounded:
                    return size
        return next((integer(size) for size in sizes
                     if isinstance(size, int) and size > self.code.room.each
                     and integer(size) not in self.bounded), None)

    def run(self, statement: ir.Run) -> bool:
        code, kernel = self.code, self.kernels[statement.kernel]
        arguments = [self.atom(a) for a in statement.arguments]
        wanted = self.wanted(*atom_names(statement.arguments))
        for bind in kernel.binds:
            self.decline(soac_expressions(bind.soac))
        with code.names():
            self.bind(kernel.params, arguments)
            parked = self.kernel(kernel, wanted)
            found = [code.slots.get(name) or code.values[name] for name in kernel.returns]
        self.bind(statement.results, found)
        fails, code.fails = code.fails, False
        if fails:
            self.look_at_checks(together=True)
        elif parked:
            code.note("the next sums go where these are, which all have read then")
            self.meet()
        return fails

    def kernel(self, kernel: ir.Kernel, wanted: list[Slot]) -> bool:
        """The kernel, where its parameters are known. Are sums in shared memory then?"""
        elements = [bind for bind in kernel.binds if not isinstance(bind.soac, ir.Once)]
        late = {name for bind in elements for name in bind.names}
        once = [bind for bind in kernel.binds if isinstance(bind.soac, ir.Once)]
        known = list(kernel.params)
        for bind in once:
            if late.isdisjoint(soac_names(bind.soac)):
                known += self.once(bind)
            else:
                late.update(bind.names)
        parked = self.elements(kernel, elements, known, wanted) if elements else False
        for bind in once:
            if not late.isdisjoint(bind.names):
                self.once(bind)
        return parked

    def once(self, bind: ir.Bind) -> list[ir.Param]:
        assert isinstance(bind.soac, ir.Once)
        values = apply(self.code, self.tables, bind.soac.thunk, ())
        found = [ir.Param(name, value.type) for name, value in zip(bind.names, values, strict=True)]
        self.bind(found, [self.code.let(p.name, value) for p, value in zip(found, values, strict=True)])
        return found

    def elements(self, kernel: ir.Kernel, binds: list[ir.Bind], known: Sequence[ir.Param],
                 wanted: list[Slot]) -> bool:
        code = self.code
        made = {name for bind in binds for name in bind.names}
        try:
            of_row = replace(kernel, params=tuple(known), binds=tuple(map(on_segment, binds)), by=self.by,
                             returns=tuple([name for name in kernel.returns if name in made]))
            found = owners.owned(of_row)
            walk = walk_at(of_row, self.program, found.root, places_of(of_row, found), found.kept)
        except IllFormed as error:
            raise Declined(str(error)) from error
        states = {name: state for name, state in states_of(walk).items() if name in {s.name for s in walk.steps}}
        self.look_elsewhere(dict.fromkeys([index.array for bind in binds for thunk in INDEX_THUNKS.of(bind.soac)
                                           for index in indices(thunk.body)
                                           if not self.is_own(index.exp, thunk.params[-1])]))
        new: list[Slot] = []
        for step in walk.steps:
            for name, base in zip(step.bind.names, walk.bases[step.name], strict=True):
                if name in walk.stored and not isinstance(step.bind.soac, ir.Reduce):
                    new.append(code.free_slot(base, [*wanted, *new]))
                    code.slots[name], code.arrays[name] = new[-1], ir.Array(base, found.root.total)
        code.left = frozenset(found.kept)
        row = Row(Kernel(walk, self.tables, None, states), found, code, self.team, code.size(found.root.total))
        row.walk()
        for step in walk.steps:
            if isinstance(step.bind.soac, ir.Reduce):
                code.values.update({name: code.known[name, row.segment] for name in step.bind.names if name != "_"})
        self.written += new
        return row.parked

    def is_own(self, index: ir.Exp, own: str) -> bool:
        """Is it an element of the lane's own?"""
        match index:
            case ir.Op("+", (ir.Var(start), ir.Var(position))):
                return position == own and self.code.values[start].exp == integer(0)
        return index == ir.Var(own)


class Body:
    """Writes a function in the place of a call; `found`: variables for its results, by number, but for those that are
    known. Where it calls itself it is a loop: `params` are variables of what changes from round to round, `kept` say
    of results that an earlier round has found them."""

    def __init__(self, rounds: Rounds, function: ir.Function, found: Mapping[int, str]) -> None:
        self.rounds, self.code, self.function, self.found = rounds, rounds.code, function, found
        self.ends = list(ends_of(function.body, function.name))
        self.params: dict[int, str] = {}
        self.kept: dict[int, str] = {}
        self.again = ""

    def write(self, arguments: Sequence[Held]) -> None:
        code, params, name, same = self.code, self.function.params, self.function.name, self.rounds.same
        values = [Value(integer(key.value), "int") if isinstance(key, Known) else value
                  for key, value in zip(same.params[name], arguments, strict=True)]
        if not self.ends:
            self.rounds.bind(params, values)
            self.block(self.function.body)
            return
        self.rounds.settle()
        self.again = code.var("again", "bool", TRUE)
        for at, param in enumerate(params):
            if not isinstance(same.params[name][at], Known) and not same.stays(at, name, self.ends):
                type_ = "int" if isinstance(param.type, ir.Array) else param.type
                self.params[at] = code.var(identifier(param.name), type_, number_of(arguments[at]))
                values[at] = held_in(self.params[at], param)
        for at in sorted(self.known_before(self.function.body) & self.found.keys()):
            self.kept[at] = code.var("kept", "bool", FALSE)
        left = loops.Name(self.rounds.left)
        with code.block() as body:
            self.rounds.bind(params, values)
            code.add(loops.Set(self.again, FALSE))
            code.add(loops.Set(self.rounds.left, op("-", left, integer(1))))
            code.add(loops.Set(self.rounds.fine, op("<=", integer(0), left)))
            self.rounds.if_fine(lambda: self.block(self.function.body))
        code.add(loops.While(op("and", loops.Name(self.again), loops.Name(self.rounds.fine)), tuple(body)))

    def known_before(self, block: ir.Block) -> set[int]:
        """The results that are known before a call by itself, as last step."""
        call, branch = tail_call(block, self.function.name), last_branch(block)
        if call is not None:
            return {at for at, (atom, r) in enumerate(zip(block.results, call.results, strict=True))
                    if atom != ir.Var(r.name)}
        return set() if branch is None else self.known_before(branch.then) | self.known_before(branch.orelse)

    def block(self, block: ir.Block) -> None:
        """A block at the function's end."""
        call, branch = tail_call(block, self.function.name), last_branch(block)
        before, names = block.statements[:-1], atom_names(block.results)
        if call is not None:
            self.rounds.steps(before, {*names, *used_names(call)}, lambda: self.go_round(call, block))
        elif branch is not None:
            self.rounds.steps(before, mentioned(branch), lambda: self.either(branch))
        else:
            self.rounds.steps(block.statements, names, lambda: self.give(block.results))

    def either(self, branch: ir.Branch) -> None:
        blocks = self.rounds.alternatives([partial(self.block, block) for block in (branch.then, branch.orelse)])
        self.code.add(loops.If(self.rounds.scalar(branch.condition), *blocks))

    def give(self, atoms: Sequence[ir.Atom]) -> None:
        for at, atom in enumerate(atoms):
            self.result(at, self.rounds.scalar(atom))
        if self.rounds.depth > 1 or self.rounds.read:           # at the very end lanes read their own elements
            self.rounds.settle()

    def result(self, at: int, value: loops.Exp) -> None:
        if at not in self.found:
            return
        if at in self.kept:
            value = op("select", loops.Name(self.kept[at]), loops.Name(self.found[at]), value)
        self.code.add(loops.Set(self.found[at], value))

    def go_round(self, call: ir.Call, block: ir.Block) -> None:
        code = self.code
        for at, (atom, result) in enumerate(zip(block.results, call.results, strict=True)):
            if at in self.kept and atom != ir.Var(result.name):
                self.result(at, self.rounds.scalar(atom))
                code.add(loops.Set(self.kept[at], TRUE))
        following = []
        for at, variable in self.params.items():
            type_ = self.function.params[at].type
            name = code.fresh("following")
            code.add(loops.Let(name, "int" if isinstance(type_, ir.Array) else type_,
                               self.rounds.scalar(call.arguments[at])))
            following.append(loops.Set(variable, loops.Name(name)))
        self.rounds.settle()
        code.statements += following
        code.add(loops.Set(self.again, TRUE))


def number_of(held: Held) -> loops.Exp:
    """The value, or the number of the slot."""
    return held.number if isinstance(held, Slot) else held.exp


def held_in(variable: str, param: ir.Param) -> Held:
    """What the variable says, of the parameter's type."""
    if isinstance(param.type, ir.Array):
        return Slot(wide(param.type.base), loops.Name(variable))
    return Value(loops.Name(variable), param.type)


def mentioned(statement: ir.Statement) -> set[str]:
    """The names that the statement uses, blocks in it included."""
    found = set(used_names(statement))
    for block in BLOCKS.of(statement):
        found |= {*atom_names(block.results)}.union(*map(mentioned, block.statements))
    return found


def on_segment(bind: ir.Bind) -> ir.Bind:
    """The binding over one segment instead of a flat space."""
    match bind.soac:
        case ir.Map(thunk, ir.Flat(size)):
            return replace(bind, soac=ir.Map(segmented(thunk), ir.Uniform(1, size, size)))
        case ir.Reduce(thunk, identity, operator, ir.Flat(size)):
            return replace(bind, soac=ir.Reduce(segmented(thunk), identity, operator, ir.Uniform(1, size, size)))
        case ir.Scan(thunk, identity, operator, ir.Flat(size), False):
            return replace(bind, soac=ir.Scan(segmented(thunk), identity, operator, ir.Uniform(1, size, size)))
    raise Declined(f"{', '.join(bind.names)} is of other operations than owners do")


def segmented(thunk: ir.Thunk) -> ir.Thunk:
    names = Names({*all_names(thunk.body), *thunk.params, *thunk.using})
    return replace(thunk, params=(names.fresh("s"), names.fresh("j"), *thunk.params))
