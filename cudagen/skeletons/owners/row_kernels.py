"""A kernel of a loop over rows, walked by the lanes of one owner on rows in shared memory (local).

It is walked like a segment (skeletons.owners.walk) that begins at 0 and is as long as the row; what it makes goes to
free slots. Then the lanes meet, if a check may have failed, or sums are where the next ones go.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import IllFormed
from nessie.cudagen.kernels.code import Value, integer
from nessie.cudagen.kernels.thunks import Tables, apply
from nessie.cudagen.kernels.walk import walk_at
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import states_of
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.owners.lanes import Lanes, Needs
from nessie.cudagen.skeletons.owners.local import Declined, Held, LocalCode, Slot, number_of
from nessie.cudagen.skeletons.owners.teams import Team
from nessie.cudagen.skeletons.owners.walk import Segment, places_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings import owners
from nessie.lambda_cu.mappings.own_row import indices
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.rename import all_names
from nessie.lambda_cu.scope import atom_names, soac_expressions, soac_names


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


class RowKernels(Lanes):
    """Writes the kernels. `later`: the names that are used behind what is being written, block by block of the
    function; `around`: the slots that are wanted behind its call; `bounded`: what is known to have room."""

    def __init__(self, code: LocalCode, team: Team, tables: Tables, program: ir.Program, by: maps.Mapping,
                 needs: Needs) -> None:
        super().__init__(code, team, needs)
        self.tables, self.program, self.by = tables, program, by
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.later: list[set[str]] = []
        self.around: list[Slot] = []
        self.bounded: set[loops.Exp] = set()

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

    def decline(self, expressions: Iterable[ir.Exp]) -> None:
        called = [self.tables.scalar_functions[part.function] for exp in expressions for part in subexpressions(exp)
                  if isinstance(part, ir.CallScalar)]
        if any([function.polls or function.nests for function in called]):
            raise Declined("it calls a function that loops or recurs at each element")

    # Names ----------------------------------------------------------------------------------

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
