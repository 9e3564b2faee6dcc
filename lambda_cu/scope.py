"""The names, arrays and failures in a piece of lambda_cu. Names come in the order of their first use."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import compress
from typing import TypeVar

from nessie.base.parts import updated
from nessie.base.source import Source, Span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS, CONDITIONS, EXPRESSIONS, NAMES, children, subexpressions, thunks

T = TypeVar("T")


# Expressions ------------------------------------------------------------------------------------


FREE_NAMES = "free names"       # where an expression keeps them
LEAVES = frozenset({ir.Const, ir.Var, ir.Fail})


def free_names(exp: ir.Exp) -> tuple[str, ...]:
    """The scalars and arrays that the expression mentions where none of its lets and folds binds them."""
    known: tuple[str, ...] | None = vars(exp).get(FREE_NAMES)
    if known is None:
        found: dict[str, None] = {}
        note_free_names(exp, found, {})
        vars(exp)[FREE_NAMES] = known = tuple(found)        # kept with it: passes ask again and again
    return known


def note_free_names(exp: ir.Exp, found: dict[str, None], bound: dict[str, int]) -> None:
    """Add those of a part. `bound`: how many lets and folds around it bind a name."""
    kind = type(exp)
    if isinstance(exp, ir.Var):
        if not bound.get(exp.name):
            found[exp.name] = None
    elif isinstance(exp, ir.Let | ir.Fold):
        for part in children(exp)[:-1]:
            note_free_names(part, found, bound)
        for name in binds(exp):
            bound[name] = bound.get(name, 0) + 1
        note_free_names(exp.body, found, bound)
        for name in binds(exp):
            bound[name] -= 1
    elif kind not in LEAVES:
        if isinstance(exp, ir.Read) and not bound.get(exp.array):
            found[exp.array] = None
        elif isinstance(exp, ir.CallScalar):
            found.update((array, None) for array in exp.arrays if not bound.get(array))
        for part in children(exp):
            note_free_names(part, found, bound)


def binds(exp: ir.Exp) -> tuple[str, ...]:
    """The names that a let or a fold binds in its body, which is the last of its parts."""
    match exp:
        case ir.Let(names):
            return names
        case ir.Fold(index, _, names):
            return index, *names
    return ()


def bound_names(exp: ir.Exp) -> tuple[str, ...]:
    """The names that lets and folds inside the expression bind."""
    return tuple(dict.fromkeys(name for e in subexpressions(exp) for name in binds(e)))


def reads(exp: ir.Exp) -> tuple[ir.Read, ...]:
    """All reads of arrays, outer before inner."""
    return tuple(e for e in subexpressions(exp) if isinstance(e, ir.Read))


def arrays_read(exp: ir.Exp) -> tuple[str, ...]:
    """The arrays that it reads, and those that its calls of scalar functions read."""
    return (*[read.array for read in reads(exp)], *passed(exp))


def passed(exp: ir.Exp) -> tuple[str, ...]:
    """The arrays that its calls of scalar functions read, at whatever places."""
    return tuple([array for call in calls_in(exp) for array in call.arrays])


def can_fail(exp: ir.Exp, failing: Collection[str] | None = None) -> bool:
    """May evaluation record an error? `failing` are the scalar functions that may (failing_functions);
    without it, every call is taken to be one."""
    for part in subexpressions(exp):
        if isinstance(part, ir.Fail):
            return True
        if isinstance(part, ir.CallScalar) and (failing is None or part.function in failing):
            return True
    return False


def inner_calls(functions: Iterable[ir.ScalarFunction]) -> tuple[ir.CallScalar, ...]:
    """The calls in scalar functions, which may be too deep, in the order of the text."""
    return tuple([call for function in functions for call in calls_in(function.body)])


def calls_in(exp: ir.Exp) -> list[ir.CallScalar]:
    """The calls of scalar functions in it, in the order of the text."""
    return [e for e in subexpressions(exp) if isinstance(e, ir.CallScalar)]


def failing_functions(functions: Iterable[ir.ScalarFunction]) -> frozenset[str]:
    """The scalar functions that may fail, in their own code or in what they call; recursion may go too deep."""
    bodies = {function.name: function.body for function in functions}
    calls = {name: {call.function for call in calls_in(body)}
             for name, body in bodies.items()}
    return may_fail(calls, {name for name, body in bodies.items() if can_fail(body, ())})


def may_fail(calls: Mapping[str, Collection[str]], failing: Collection[str]) -> frozenset[str]:
    """These functions, those that are recursive, and those that call any of them. A function is none of them once it
    is known of all that it calls."""
    callers: dict[str, list[str]] = {name: [] for name in calls}
    waiting = {name: len(callees) for name, callees in calls.items()}
    for name, callees in calls.items():
        for callee in callees:
            callers[callee].append(name)
    safe = [name for name in calls if not waiting[name] and name not in failing]
    for name in safe:                       # grows
        for caller in callers[name]:
            waiting[caller] -= 1
            if not waiting[caller] and caller not in failing:
                safe.append(caller)
    return frozenset(calls).difference(safe)


def kept_items(items: Iterable[T], keep: Iterable[bool]) -> tuple[T, ...]:
    return tuple(compress(items, keep))


# Thunks, spaces, SOACs --------------------------------------------------------------------------


def thunk(params: tuple[str, ...], body: ir.Exp) -> ir.Thunk:
    """The thunk, `using` exactly what its body needs."""
    return ir.Thunk(params, body, tuple(name for name in free_names(body) if name not in params))


def soac_expressions(soac: ir.Soac) -> tuple[ir.Exp, ...]:
    """The bodies of its thunks, and its identity."""
    return (*[f.body for f in thunks(soac)], *EXPRESSIONS.of(soac))


def space_of(soac: ir.Soac) -> ir.Space | None:
    """The space that the SOAC walks; None for ONCE."""
    return None if isinstance(soac, ir.Once) else soac.space


def space_names(space: ir.Space | None) -> tuple[str, ...]:
    """The sizes and offsets that the space names."""
    return tuple(dict.fromkeys(size for size in NAMES.of(space) if isinstance(size, str))) if space else ()


def outer_axes(space: ir.Space) -> tuple[ir.Size, ...]:
    """The axes outside of the space's segments, where there are several: a thunk has an index for each."""
    return space.outer if isinstance(space, ir.Uniform) else ()


def indices(space: ir.Space) -> tuple[str, ...]:
    """The names that passes give to the parameters of a thunk over the space."""
    outer = [f"i{number}" for number, _ in enumerate(outer_axes(space), 1)]
    return ("i",) if isinstance(space, ir.Flat) else (*outer, "s", "j", "i")


def soac_names(soac: ir.Soac) -> tuple[str, ...]:
    """All names of the kernel that the SOAC mentions."""
    names = [name for f in thunks(soac) for name in f.using]
    names += [name for exp in EXPRESSIONS.of(soac) for name in free_names(exp)]
    names += [size for size in NAMES.of(soac) if isinstance(size, str)]
    return tuple(dict.fromkeys(names))


def writes_in_order(soac: ir.Soac) -> bool:
    """Do the SOAC's writes depend on their order? Each goes on from those before it, or the last one wins, unless all
    write the same."""
    return isinstance(soac, ir.ReduceByIndex) or (
        isinstance(soac, ir.Permute) and soac.mode == "last" and not is_same_for_all(soac.value))


def is_same_for_all(thunk: ir.Thunk) -> bool:
    """Does the thunk give all elements the same, made of constants and scalars?"""
    if any([isinstance(e, ir.Read | ir.Fail | ir.CallScalar) for e in subexpressions(thunk.body)]):
        return False
    return set(thunk.params).isdisjoint(free_names(thunk.body))


def soac_can_fail(soac: ir.Soac, failing: Collection[str] | None = None) -> bool:
    return any([can_fail(exp, failing) for exp in soac_expressions(soac)])


def type_names(type_: ir.Type) -> tuple[str, ...]:
    """The size that the type names, if any."""
    return (type_.size,) if isinstance(type_, ir.Array) and isinstance(type_.size, str) else ()


# Host level -------------------------------------------------------------------------------------


def atom_names(atoms: Iterable[ir.Atom]) -> tuple[str, ...]:
    return tuple([atom.name for atom in atoms if isinstance(atom, ir.Var)])


def used_names(statement: ir.Statement) -> tuple[str, ...]:
    """The names that the statement uses, blocks in it left out."""
    match statement:
        case ir.Run(_, _, arguments) | ir.Call(_, _, arguments) | ir.Effect(_, _, arguments):
            return atom_names(arguments)
        case ir.HostLet(_, value):
            return free_names(value)
        case ir.Branch(_, condition, _, _):
            return atom_names((condition,))
        case ir.Choose():
            return tuple(dict.fromkeys(name for exp in CONDITIONS.of(statement) for name in condition_names(exp)))
    return ()


def condition_names(exp: ir.Exp) -> tuple[str, ...]:
    """The names of the function that the condition of a case uses."""
    return tuple([name for name in free_names(exp) if not is_tunable(name)])


def version_name(function: str, results: Iterable[ir.Param], version: str) -> str:
    """FUNCTION.BINDING.VERSION, by the first array among a choice's results, else by the first of them."""
    first = names_version(results)
    plain = "".join([c if c.isalnum() else "_" for c in function])
    return f"{plain}.{first.name if first else 'effects'}.{version}"


def names_version(results: Iterable[ir.Param]) -> ir.Param | None:
    """The result whose name its choice has."""
    named = [result for result in results if result.name != "_"]
    return next((r for r in named if isinstance(r.type, ir.Array)), named[0] if named else None)


def is_tunable(name: str) -> bool:
    """Is it a tunable's name in a condition, and none of the function?"""
    return "." in name


def results(statement: ir.Statement) -> tuple[ir.Param, ...]:
    """The results that the statement binds for those after it."""
    if isinstance(statement, (ir.HostLet, ir.Data)):
        return (statement.result,)
    return statement.results


def statements(block: ir.Block) -> Iterator[ir.Statement]:
    """All statements, those of inner blocks after the statement that holds them."""
    pending = list(reversed(block.statements))
    while pending:
        statement = pending.pop()
        yield statement
        for inner in reversed(BLOCKS.of(statement)):
            pending.extend(reversed(inner.statements))


def bound(function: ir.Function) -> list[ir.Param]:
    """The function's parameters, and the results of all its statements."""
    return [*function.params, *[param for statement in statements(function.body) for param in results(statement)]]


def sources(program: ir.Program) -> tuple[Source, ...]:
    """The texts that the program's statements come from, without the library's."""
    found = {id(span.source): span.source for span in spans(program)}
    return tuple(dict.fromkeys(found.values()))


def spans(program: ir.Program) -> Iterator[Span]:
    """The places that the program's statements come from, without the library's."""
    origins = [statement.origin for function in program.functions for statement in statements(function.body)]
    origins += [bind.origin for kernel in program.kernels for bind in kernel.binds]
    return (span for origin in origins for span in origin if not span.source.library)


def map_statements(block: ir.Block, change: Callable[[ir.Statement], ir.Statement]) -> ir.Block:
    """The block with every statement changed but those that hold blocks, which are changed; the same object where
    nothing changes."""
    changed: list[ir.Statement] = []
    for statement in block.statements:
        if BLOCKS.of(statement):
            changed.append(BLOCKS.map(statement, lambda inner: map_statements(inner, change)))
        else:
            changed.append(change(statement))
    return updated(block, statements=tuple(changed))


def map_runs(block: ir.Block, change: Callable[[ir.Run], ir.Run]) -> ir.Block:
    """The block with every run in it changed; the same object where nothing changes."""
    return map_statements(block, lambda s: change(s) if isinstance(s, ir.Run) else s)


def called_from_outside(program: ir.Program) -> frozenset[str]:
    """The functions that are called otherwise than by statements, or by them and otherwise: the entry, and those that
    executors may call apart."""
    return frozenset({program.entry.function}.union(*[{f.name, f.apart} for f in program.functions if f.apart]))


def calls_of_functions(program: ir.Program) -> dict[str, set[str]]:
    """The functions that each function calls, or may have called apart."""
    return {f.name: {s.function for s in statements(f.body) if isinstance(s, ir.Call)} | {f.apart} - {""}
            for f in program.functions}
