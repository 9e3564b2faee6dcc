"""Pass: a sequence that grows at its end keeps its memory, where it has room.

  in    fused lambda_cu
  out   fused lambda_cu
  how   A kernel that only concatenates writes the second part, and the first is what is there before:

            x = MAP {i => if i < m then a[i] else e} n          run where n = m + d, and a is used last
            --------------------------------------------------------------------------------------------
            x = PERMUTE {i => e at m + i} {i => m + i} d into n (a) distinct

        The places behind a's end are all written. A target begins with a's elements, or with a's own memory if nobody
        needs it any more: memory comes in sizes that grow by a quarter, so `acc ++ [v]` in a loop copies each element
        five times at most, however many steps there are.
  why   d is a constant that is not negative, or another array's size; e cannot fail, which would tell another index,
        and does not read a.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import BLOCKS, map_children
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import failing_functions

HERE = ir.Var("i")


@dataclass(frozen=True)
class Growth:
    """A kernel that concatenates: arrays of `size` elements, then `rest` of the element's position behind them."""
    kernel: ir.Kernel
    arrays: tuple[str, ...]
    size: str
    rest: ir.Exp


def append(program: ir.Program) -> ir.Program:
    """Concatenations whose first part is used last write their second part only."""
    failing = failing_functions(program.scalar_functions)
    growing = {kernel.name: found for kernel in program.kernels if (found := growth(kernel, failing))}
    more: dict[int, ir.Atom] = {}                   # by the run's identity
    for function in program.functions if growing else ():
        lets = {s.result.name: s.value for s in scope.statements(function.body) if isinstance(s, ir.HostLet)}
        sizes = sizes_in(function)
        for run, later in runs_and_later(function.body, frozenset()):
            if run.kernel in growing and (atom := more_of(growing[run.kernel], run, lets, sizes, later)):
                more[id(run)] = atom
            else:
                growing.pop(run.kernel, None)
    if not growing:
        return program

    def longer(run: ir.Run) -> ir.Run:
        return replace(run, arguments=(*run.arguments, more[id(run)])) if run.kernel in growing else run

    return replace(program, kernels=tuple([written(growing[k.name]) if k.name in growing else k
                                           for k in program.kernels]),
                   functions=tuple([replace(f, body=scope.map_runs(f.body, longer)) for f in program.functions]))


# Kernels ----------------------------------------------------------------------------------------


def growth(kernel: ir.Kernel, failing: frozenset[str]) -> Growth | None:
    match kernel.binds:
        case (ir.Bind(names, ir.Map(thunk, ir.Flat())),) if kernel.returns == names:
            parts = concatenation(thunk)
            types = {p.name: p.type for p in kernel.params}
            if parts is None or scope.can_fail(parts[2], failing):
                return None
            arrays, size, rest = parts
            if all([types[a] == ir.Array(array_base(types[a]), size) for a in arrays]) \
                    and len(set(arrays)) == len(arrays) and set(arrays).isdisjoint(scope.free_names(rest)):
                return Growth(kernel, arrays, size, rest)
    return None


def concatenation(thunk: ir.Thunk) -> tuple[tuple[str, ...], str, ir.Exp] | None:
    """The arrays, their size and what comes behind, of `if i < m then (a[i], ...) else rest`."""
    (index,) = thunk.params
    match thunk.body:
        case ir.Let((name,), test, ir.If(ir.Var(asked), first, rest)) if asked == name:
            if name in scope.free_names(rest):
                return None
        case ir.If(test, first, rest):
            pass
        case _:
            return None
    items = first.items if isinstance(first, ir.Tuple) else (first,)
    arrays = [part.array for part in items if isinstance(part, ir.Read) and part.index == ir.Var(index)]
    match test:
        case ir.Op("<", (ir.Var(at), ir.Var(size))) if at == index and len(arrays) == len(items):
            return tuple(arrays), size, substitute(rest, {index: HERE}) if index != HERE.name else rest
    return None


def array_base(type_: ir.Type) -> str:
    return type_.base if isinstance(type_, ir.Array) else ""


def written(growth: Growth) -> ir.Kernel:
    """The kernel that writes what comes behind; its last parameter says how much that is."""
    kernel = growth.kernel
    (bind,) = kernel.binds
    assert isinstance(bind.soac, ir.Map) and isinstance(bind.soac.space, ir.Flat)
    taken = [*(p.name for p in kernel.params), *bind.names, HERE.name, *scope.bound_names(growth.rest)]
    more = Names(taken).fresh("more")
    place = ir.Op("+", (ir.Var(growth.size), HERE))
    soac = ir.Permute(scope.thunk((HERE.name,), moved(growth.rest, place, growth.size)),
                      scope.thunk((HERE.name,), place), ir.Flat(more), bind.soac.space.size,
                      tuple([ir.Var(array) for array in growth.arrays]), "distinct")
    return replace(kernel, params=(*kernel.params, ir.Param(more, "int")), binds=(replace(bind, soac=soac),))


def moved(exp: ir.Exp, place: ir.Exp, size: str) -> ir.Exp:
    """The expression at this place: with i + size for i, and i for i - size."""
    if exp == HERE:
        return place
    if exp == ir.Op("-", (HERE, ir.Var(size))):
        return HERE
    return map_children(exp, lambda part: moved(part, place, size))


# Runs -------------------------------------------------------------------------------------------


def more_of(growth: Growth, run: ir.Run, lets: Mapping[str, ir.Exp], sizes: Set[str],
            later: Set[str]) -> ir.Atom | None:
    """How much the run's result is longer than its first part, if that is known not to be negative, and the first part
    is used last."""
    given = dict(zip([p.name for p in growth.kernel.params], run.arguments, strict=True))
    arrays = [given[array] for array in growth.arrays]
    names = scope.atom_names(arrays)
    alone = len(set(names)) == len(arrays) and later.isdisjoint(names) \
        and len([a for a in run.arguments if a in arrays]) == len(arrays)
    types = [result.type for result in run.results]
    bases = {p.name: array_base(p.type) for p in growth.kernel.params}
    same = [array_base(type_) for type_ in types] == [bases[array] for array in growth.arrays]
    if not alone or not same or not isinstance(types[0], ir.Array):
        return None
    length = types[0].size
    match lets.get(length) if isinstance(length, str) else None:
        case ir.Op("+", (first, second)):
            own = given[growth.size]
            other = second if first == own else first if second == own else None
            match other:
                case ir.Const(int() as value) if value >= 0:
                    return other
                case ir.Var(name) if name in sizes:
                    return other
    return None


def runs_and_later(block: ir.Block, outside: Set[str]) -> Iterator[tuple[ir.Run, Set[str]]]:
    """Each run of the block, and the names that are used after it."""
    later = {*outside, *scope.atom_names(block.results)}
    for statement in reversed(block.statements):
        match statement:
            case ir.Run():
                yield statement, frozenset(later)
            case ir.Branch() | ir.Choose():
                for inner in BLOCKS.of(statement):
                    yield from runs_and_later(inner, later)
                for inner in BLOCKS.of(statement):
                    later.update(name for s in scope.statements(inner) for name in scope.used_names(s))
                    later.update(scope.atom_names(inner.results))
        later.update(scope.used_names(statement))


def sizes_in(function: ir.Function) -> set[str]:
    """The names that are sizes of arrays."""
    return {p.type.size for p in scope.bound(function) if isinstance(p.type, ir.Array) and isinstance(p.type.size, str)}
