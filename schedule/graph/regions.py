"""The control regions of a host function, and the steps in them.

A control region is a maximal run of Run, HostLet and Data statements of one block, with no branch, call or effect
between them. A long run is cut into consecutive pieces, so that the time to schedule it grows no faster than its
length. A step is a statement that waits for something: the launch of a kernel, or scalar code of the host that can fail
or needs a kernel's result. Other statements of the host come first and count as complete.

Inside a region, names of the host that only rename another are replaced by it, and a kernel's one binding is written
with the host's names, so that region, kernel and graph use the same names.
"""
from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import ceil
from typing import Any

from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import rename, scope
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.ops import OPS
from nessie.lambda_cu.parts import BLOCKS, map_thunks, subexpressions

LONGEST = 200                   # statements of a region
UNUSED = "_unused"              # begins the name of a result that nobody needs, within a region

Transform = Callable[["Region"], Sequence[ir.Statement]]


@dataclass(frozen=True)
class Region:
    """`number` counts the function's regions from 0, in the order of the text; `types` has every name of the function,
    with no aliases; `outside`: names made here and used elsewhere; `pieces`: the number of pieces of its run; `over`:
    for each launch, by its first result, what nobody needs after it."""
    function: str
    number: int
    statements: tuple[ir.Statement, ...]
    types: Mapping[str, ir.Type]
    aliases: Mapping[str, str]
    outside: frozenset[str]
    pieces: int = 1
    over: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RegionStep:
    """`bind`: the kernel's binding in the names of the host; None if the scheduler takes the statement as it is. `by`:
    the kernel's mapping, `asked`: who asks for it."""
    statement: ir.Statement
    bind: ir.Bind | None
    by: maps.Mapping | None = None
    asked: ir.Asked | None = field(default=None, compare=False)

    @cached_property
    def name(self) -> str:
        """The name of the first used result that is an array, else of the first used result."""
        names = [param.name for param in scope.results(self.statement) if param.name != "_"]
        arrays = [param.name for param in scope.results(self.statement)
                  if param.name != "_" and isinstance(param.type, ir.Array)]
        return (arrays or names)[0]


@dataclass(frozen=True)
class Steps:
    """A region in parts: `first` waits for nothing, `steps` are scheduled."""
    first: tuple[ir.Statement, ...]
    steps: tuple[RegionStep, ...]


def rewrite_regions(function: ir.Function, transform: Transform, held: Collection[str] = ()) -> ir.Function:
    """Replace the statements of every region in the function by those that `transform` returns. `held`: parameters that
    callers go on needing."""
    aliases = aliases_of(scope.statements(function.body))
    types = {param.name: rename.rename_type(param.type, aliases) for param in scope.bound(function)}
    uses = Counter(block_uses(function.body))
    numbers = itertools.count()
    over: dict[str, frozenset[str]] = {}
    last_uses(function.body, set(held), aliases, over)

    def block(of: ir.Block) -> ir.Block:
        done: list[ir.Statement] = []
        pending: list[ir.Statement] = []

        def flush() -> None:
            count = ceil(len(pending) / LONGEST)
            for here in pieces(pending, count):
                used_here = Counter(name for statement in here for name in statement_uses(statement))
                made = {param.name for statement in here for param in scope.results(statement)}
                outside = frozenset(name for name in made if uses[name] > used_here[name])
                done.extend(transform(Region(function.name, next(numbers), here, types, aliases, outside, count,
                                             over)))
            pending.clear()

        for statement in of.statements:
            match statement:
                case ir.Branch() | ir.Choose():
                    flush()
                    done.append(BLOCKS.map(statement, block))
                case ir.Call() | ir.Effect():
                    flush()
                    done.append(statement)
                case _:
                    pending.append(statement)
        flush()
        return ir.Block(tuple(done), of.results)

    return replace(function, body=block(function.body))


def last_uses(block: ir.Block, live: set[str], aliases: Mapping[str, str], over: dict[str, frozenset[str]]) -> None:
    """Note in `over`, for each launch, the arguments that nothing after it uses. `live`: names used after the block,
    and then from its beginning on."""
    live.update([aliases.get(name, name) for name in scope.atom_names(block.results)])
    for statement in reversed(block.statements):
        before = [set(live) for _ in BLOCKS.of(statement)]
        for inner, there in zip(BLOCKS.of(statement), before, strict=True):
            last_uses(inner, there, aliases, over)
        live.update(*before)
        names = {aliases.get(name, name) for name in scope.used_names(statement)}
        if isinstance(statement, ir.Run):
            over.update(dict.fromkeys([param.name for param in statement.results], frozenset(names - live)))
        if not (isinstance(statement, ir.HostLet) and statement.result.name in aliases):
            live |= names


def pieces(statements: Sequence[ir.Statement], count: int) -> Iterator[tuple[ir.Statement, ...]]:
    """Yield `count` consecutive parts of nearly equal length."""
    for number in range(count):
        yield tuple(statements[len(statements) * number // count:len(statements) * (number + 1) // count])


def statement_uses(statement: ir.Statement) -> list[str]:
    """The names that the statement mentions, once per mention, with the sizes of its results."""
    names = [name for param in scope.results(statement) for name in scope.type_names(param.type)]
    match statement:
        case ir.Run(_, _, arguments) | ir.Call(_, _, arguments) | ir.Effect(_, _, arguments):
            names += scope.atom_names(arguments)
        case ir.HostLet(_, value):
            names += scope.free_names(value)
        case ir.Branch() | ir.Choose():
            names += [*scope.used_names(statement), *[name for inner in BLOCKS.of(statement)
                                                      for name in block_uses(inner)]]
    return names


def block_uses(block: ir.Block) -> list[str]:
    return [*[name for statement in block.statements for name in statement_uses(statement)],
            *scope.atom_names(block.results)]


# Steps ------------------------------------------------------------------------------------------

def steps_of(region: Region, kernels: Mapping[str, ir.Kernel]) -> Steps:
    """Split the region's statements into those that wait and those that do not. What is defined only where a check
    before it holds waits for the check."""
    first: list[ir.Statement] = []
    steps: list[RegionStep] = []
    late: set[str] = set()
    checked = False
    for statement in region.statements:
        statement = without_aliases(statement, region.aliases)
        match statement:
            case ir.HostLet(result, ir.Var(_)) if result.name in region.aliases and result.name not in region.outside:
                continue
            case ir.HostLet(result, value) if (scope.can_fail(value) or late.intersection(scope.free_names(value))
                                               or (checked and not always_defined(value))):
                checked |= result.name == "_"
                steps.append(RegionStep(with_a_name(statement, len(steps)), None))
            case ir.Run(_, kernel, _):
                run = with_a_name(statement, len(steps))
                of = kernels[kernel]
                steps.append(RegionStep(run, instantiate(run, of), of.by, of.asked))
            case _:
                first.append(statement)
                continue
        late.update(param.name for param in scope.results(steps[-1].statement) if param.name != "_")
    return Steps(tuple(first), tuple(steps))


def always_defined(value: ir.Exp) -> bool:
    """Does the expression read no array, and have no operator that takes some operands only?"""
    return not scope.arrays_read(value) and not any(
        [isinstance(part, ir.Op) and OPS[part.op].domain for part in subexpressions(value)])


def with_a_name(statement: ir.Run | ir.HostLet, number: int) -> Any:
    """Name the first result of a statement if none has a name: it runs for its errors only, but its node needs one."""
    if any(param.name != "_" for param in scope.results(statement)):
        return statement
    if isinstance(statement, ir.HostLet):
        return replace(statement, result=replace(statement.result, name=f"{UNUSED}{number}"))
    return replace(statement, results=(replace(statement.results[0], name=f"{UNUSED}{number}"),
                                       *statement.results[1:]))


def without_a_name(param: ir.Param) -> ir.Param:
    """Return the result as it was before with_a_name."""
    return replace(param, name="_") if param.name.startswith(UNUSED) else param


def aliases_of(statements: Iterable[ir.Statement]) -> dict[str, str]:
    """The names that only rename others, with the names that they stand for."""
    aliases: dict[str, str] = {}
    for statement in statements:
        match statement:
            case ir.HostLet(result, ir.Var(name)) if result.name != "_":
                aliases[result.name] = aliases.get(name, name)
    return aliases


def without_aliases(statement: ir.Statement, aliases: Mapping[str, str]) -> ir.Statement:
    """Replace the aliases in the statement by the names that they stand for."""
    if not aliases:
        return statement

    def param(of: ir.Param) -> ir.Param:
        return replace(of, type=rename.rename_type(of.type, aliases))

    match statement:
        case ir.Run(results, _, arguments):
            atoms = tuple(ir.Var(aliases.get(atom.name, atom.name)) if isinstance(atom, ir.Var) else atom
                          for atom in arguments)
            return replace(statement, results=tuple(map(param, results)), arguments=atoms)
        case ir.HostLet(_, value):
            return replace(statement, value=rename.rename(value, aliases))
        case ir.Data(result, _):
            return replace(statement, result=param(result))
    return statement


def instantiate(run: ir.Run, kernel: ir.Kernel) -> ir.Bind | None:
    """The kernel's binding in the names of the host; None unless it has just one, whose results it returns once."""
    if len(kernel.binds) != 1 or len(set(kernel.returns)) != len(kernel.returns) \
            or not set(kernel.returns) <= set(kernel.binds[0].names):
        return None
    bind = kernel.binds[0]
    names: dict[str, Any] = dict.fromkeys(bind.names, "_")
    names.update((inner, outer.name) for inner, outer in zip(kernel.returns, run.results, strict=True))
    constants: dict[str, ir.Exp] = {}
    for param, atom in zip(kernel.params, run.arguments, strict=True):
        if isinstance(atom, ir.Var):
            names[param.name] = atom.name
        else:
            constants[param.name] = atom
            names[param.name] = atom.value          # if it is a size; thunks have the constant by then
    soac = with_constants(bind.soac, constants) if constants else bind.soac
    bound = tuple(names[name] for name in bind.names)
    return ir.Bind(bound, rename.rename_soac(soac, names), origin=run.origin or bind.origin)


def with_constants(soac: ir.Soac, constants: Mapping[str, ir.Exp]) -> ir.Soac:
    """Replace scalars by constants in the SOAC's thunks and identities."""
    def thunk(of: ir.Thunk) -> ir.Thunk:
        here = {name: value for name, value in constants.items() if name in of.using}
        return scope.thunk(of.params, rename.substitute(of.body, here)) if here else of

    soac = map_thunks(soac, thunk)
    if isinstance(soac, ir.Reduce | ir.Scan):
        return replace(soac, identity=tuple(rename.substitute(exp, constants) for exp in soac.identity))
    return soac
