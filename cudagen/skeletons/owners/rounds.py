"""A loop of the host over rows (lambda_cu.offers.rounds), which the lanes of one owner go through together.

    scalars         each lane computes them, all the same
    kernels         walked by all lanes (row_kernels)
    calls           become part of the function; one by itself, as the last step, is another round
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from nessie.cudagen.kernels.code import Value, identifier, integer, op, zero
from nessie.cudagen.kernels.thunks import Tables, evaluate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.owners.lanes import TRUE, Needs
from nessie.cudagen.skeletons.owners.local import Declined, Held, LocalCode, held_in, number_of
from nessie.cudagen.skeletons.owners.row_kernels import RowKernels
from nessie.cudagen.skeletons.owners.teams import Team
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.offers.rounds import Known, Same, ends_of, last_branch, tail_call, why_no_loop
from nessie.lambda_cu.parts import BLOCKS, subexpressions
from nessie.lambda_cu.scope import atom_names, used_names

FALSE = loops.Const(False, "bool")


class Rounds(RowKernels):
    """Writes the loop. `depth`: of calls; `same`: what stays the same in all rounds."""

    def __init__(self, code: LocalCode, team: Team, tables: Tables, program: ir.Program, by: maps.Mapping,
                 called: str, needs: Needs) -> None:
        super().__init__(code, team, tables, program, by, needs)
        self.functions = {function.name: function for function in program.functions}
        if why := why_no_loop(self.functions, self.kernels, called):
            raise Declined(why)
        self.same = Same(self.functions, called)
        self.depth = 0

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

    def become(self, variables: Sequence[str], block: ir.Block) -> None:
        for variable, atom in zip(variables, block.results, strict=True):
            self.code.add(loops.Set(variable, number_of(self.atom(atom))))
        self.settle()

    def variables(self, results: tuple[ir.Param, ...]) -> list[str]:
        return [self.code.var(identifier(r.name), type_, zero(type_)) for r in results
                for type_ in ["int" if isinstance(r.type, ir.Array) else r.type]]

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


def mentioned(statement: ir.Statement) -> set[str]:
    """The names that the statement uses, blocks in it included."""
    found = set(used_names(statement))
    for block in BLOCKS.of(statement):
        found |= {*atom_names(block.results)}.union(*map(mentioned, block.statements))
    return found
