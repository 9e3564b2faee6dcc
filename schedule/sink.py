"""Pass: kernels follow what they read into the branches that make it.

    let x = if c { let y = run A (..) return y } else { .. return z }
    let w = run B (x)
    ----------------------------------------------------------------------------------------------------
    let w = if c { let y = run A (..) let v = run B (y) return v } else { .. let u = run B (z) return u }

  in    flat lambda_cu, sites specialised
  out   flat lambda_cu in which A and B are launched from one control region, so that they may share a kernel
  how   For each conditional, the runs after it that read its results in order, and the runs that read theirs, go into
        both branches. Conditionals on one condition are joined (schedule.join), so that their branches' kernels may
        share one, too. A run goes only if something can be gained and nothing lost: in a branch, a kernel makes what it
        reads, in order (MAP, SCAN, FILTER), and nobody else needs that; no run that stays reads its results; and it
        reads no array of an earlier kernel that the branches do not read, as the two may share a kernel now.
  sound A run changes nothing but its results, which it makes of the same values. It passes no effect and nothing that
        can fail: what a check of the host has found out, launches behind it rely on.
  ends  as each run goes into a conditional of a finite text, from the outside in, and each joining leaves one less
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.passes.dead_code import drop_dead_code
from nessie.lambda_cu.passes.kernel_arguments import renamed_statement
from nessie.lambda_cu.passes.sharing import rename_statement
from nessie.schedule.graph.nodes import OWN
from nessie.schedule.graph.regions import block_uses, instantiate, statement_uses
from nessie.schedule.graph.uses import uses_of
from nessie.schedule.join import first_joined, given

IN_ORDER = (ir.Map, ir.Scan, ir.Filter)


def sink(program: ir.Program) -> ir.Program:
    """Move runs into the conditionals before them where they may share kernels there; return the same object where no
    run moves."""
    if not any(isinstance(s, ir.Branch) for f in program.functions for s in scope.statements(f.body)):
        return program
    functions = tuple([Sinking(program, function).function() for function in program.functions])
    if all(new is old for new, old in zip(functions, program.functions, strict=True)):
        return program
    return drop_dead_code(replace(program, functions=functions))


class Sinking:
    """The runs of a host function on their way into branches. `types` has every name of the function, `names` is the
    supply of fresh ones."""

    def __init__(self, program: ir.Program, function: ir.Function) -> None:
        self.old = function
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.failing = scope.failing_functions(program.scalar_functions)
        self.types = {param.name: param.type for param in scope.bound(function)}
        self.names = Names(self.types)

    def function(self) -> ir.Function:
        body = self.block(self.old.body)
        return self.old if body is self.old.body else replace(self.old, body=body)

    def block(self, block: ir.Block) -> ir.Block:
        """The block with its runs as deep as they go."""
        statements, changed, at = list(block.statements), False, 0
        leaving = scope.atom_names(block.results)
        while at < len(statements):
            branch = statements[at]
            if isinstance(branch, ir.Branch):
                runs = self.moving(statements, at, leaving)
                if runs:
                    branch = self.with_runs(branch, runs)
                    gone = set(map(id, runs))
                    statements[at:] = [branch, *[s for s in statements[at + 1:] if id(s) not in gone]]
                if found := first_joined(statements, at, leaving, self.can_fail):
                    place, both = found
                    statements[place:place + 1] = [both]
                    del statements[at]
                    changed = True
                    continue
                then, orelse = self.block(branch.then), self.block(branch.orelse)
                if runs or then is not branch.then or orelse is not branch.orelse:
                    statements[at], changed = replace(branch, then=then, orelse=orelse), True
            at += 1
        return ir.Block(tuple(statements), block.results) if changed else block

    # Which runs ---------------------------------------------------------------------------------

    def moving(self, statements: Sequence[ir.Statement], at: int, leaving: Iterable[str]) -> list[ir.Run]:
        """The runs after the conditional at this place that go into its branches. `leaving`: the block's results."""
        branch = statements[at]
        assert isinstance(branch, ir.Branch)
        made = {param.name for number, param in enumerate(branch.results) if self.is_made_in_order(branch, number)}
        runs = self.able(statements[at + 1:], made) if made else []
        inside = {*block_uses(branch.then), *block_uses(branch.orelse)}
        alone = {param.name for s in statements[:at] if isinstance(s, ir.Run)
                 and inside.isdisjoint([param.name for param in s.results]) for param in s.results}
        kept = [run for run in runs if alone.isdisjoint(scope.used_names(run))]
        while True:
            runs = self.before_failures(statements[at + 1:], kept)
            gone = set(map(id, runs))
            staying = [s for s in statements[at + 1:] if id(s) not in gone]
            kept = self.gaining(runs, staying, made, leaving)
            if len(kept) == len(runs):
                return runs

    def before_failures(self, after: Iterable[ir.Statement], runs: Iterable[ir.Run]) -> list[ir.Run]:
        """Those of the runs before which nothing stays that can fail: a run may rely on what has been checked."""
        going, found = set(map(id, runs)), list[ir.Run]()
        for statement in after:
            if isinstance(statement, ir.Run) and id(statement) in going:
                found.append(statement)
            elif self.can_fail(statement):
                break
        return found

    def gaining(self, runs: Sequence[ir.Run], staying: Sequence[ir.Statement], made: Collection[str],
                leaving: Iterable[str]) -> list[ir.Run]:
        """The runs that gain by going, and neither read from nor are read by what stays."""
        late = {param.name for s in staying for param in scope.results(s)}
        read = {name for s in staying if isinstance(s, ir.Run) for name in scope.used_names(s)}
        spared = set(made).difference(leaving, *map(statement_uses, staying))
        spared.update([param.name for run in runs for param in run.results])
        return [run for run in runs if late.isdisjoint(scope.used_names(run))
                and read.isdisjoint([param.name for param in run.results])
                and not spared.isdisjoint(self.read_in_order(run))]

    def able(self, after: Iterable[ir.Statement], made: Collection[str]) -> list[ir.Run]:
        """The runs that read, in order, what the conditional or another of them makes, and nothing else that is made
        behind it."""
        runs, reached, late = list[ir.Run](), set(made), set[str]()
        for statement in after:
            if isinstance(statement, ir.Run) and late.isdisjoint(scope.used_names(statement)) \
                    and not reached.isdisjoint(self.read_in_order(statement)):
                runs.append(statement)
                reached.update([param.name for param in statement.results])
            else:
                late.update([param.name for param in scope.results(statement)])
        return runs

    def is_made_in_order(self, branch: ir.Branch, number: int) -> bool:
        """Does a kernel make this result, an array, in order in one of the branches?"""
        return isinstance(branch.results[number].type, ir.Array) and any(
            [self.makes_in_order(block, block.results[number]) for block in (branch.then, branch.orelse)])

    def makes_in_order(self, block: ir.Block, atom: ir.Atom) -> bool:
        for statement in block.statements:
            for number, param in enumerate(scope.results(statement)):
                if isinstance(atom, ir.Var) and param.name == atom.name:
                    if isinstance(statement, ir.Branch):
                        return self.is_made_in_order(statement, number)
                    bind = self.bind(statement)
                    return bind is not None and isinstance(bind.soac, IN_ORDER)
        return False

    def read_in_order(self, run: ir.Run) -> list[str]:
        """The arrays of which the run reads each element at its own index only."""
        bind = self.bind(run)
        uses = uses_of(bind.soac, self.types).found if bind else ()
        elsewhere = {use.name for use in uses if use.mode != OWN}
        return [use.name for use in uses if use.name not in elsewhere]

    def bind(self, statement: ir.Statement) -> ir.Bind | None:
        return instantiate(statement, self.kernels[statement.kernel]) if isinstance(statement, ir.Run) else None

    def can_fail(self, statement: ir.Statement) -> bool:
        match statement:
            case ir.Run():
                return any([scope.soac_can_fail(bind.soac, self.failing)
                            for bind in self.kernels[statement.kernel].binds])
            case ir.HostLet(_, value):
                return scope.can_fail(value, self.failing)
            case ir.Branch() | ir.Choose():
                return any([self.can_fail(inner) for block in BLOCKS.of(statement) for inner in block.statements])
        return isinstance(statement, ir.Call | ir.Effect)

    # Moving them --------------------------------------------------------------------------------

    def with_runs(self, branch: ir.Branch, runs: Sequence[ir.Run]) -> ir.Branch:
        """The conditional with the runs at the end of both branches; what they make is a result of its own."""
        made = [param for run in runs for param in run.results if param.name != "_"]
        return replace(branch, results=(*branch.results, *made), then=self.extended(branch, branch.then, runs, made),
                       orelse=self.extended(branch, branch.orelse, runs, made))

    def extended(self, branch: ir.Branch, block: ir.Block, runs: Sequence[ir.Run],
                 made: Iterable[ir.Param]) -> ir.Block:
        inside, statements = given(branch, block), list(block.statements)
        for run in runs:
            own = {param.name: self.names.fresh(param.name) for param in run.results if param.name != "_"}
            moved = rename_statement(renamed_statement(run, inside), own)
            self.types.update({param.name: param.type for param in scope.results(moved)})
            inside.update({name: ir.Var(fresh) for name, fresh in own.items()})
            statements.append(moved)
        return ir.Block(tuple(statements), (*block.results, *[inside[param.name] for param in made]))
