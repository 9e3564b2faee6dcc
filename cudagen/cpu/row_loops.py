"""Facts about loops for LLVM, which cannot tell how they are meant.

What reads at indices that it has read waits for memory. Processors load such elements one by one, whatever the
instruction, and a loop without vectors has a branch for its checks, behind which loads go on: so it is not vectorised,
unless it computes something slow of them. A walk of irregular segments has a loop for each segment, of few elements
often, and nobody can tell how many: to begin and end vectors costs as much as the elements do. Where the processor has
masks for lanes, the loop is there twice, if LLVM makes vectors of it, as of a maximum: few elements go by eights
(rewrites.eights), of which nothing is left to be done one by one.

A loop over lanes is a vector. LLVM would unroll it first, as it does with short loops, and then find fewer vectors in
it: none of calls, say, so that sums of exponentials would take four times as long. Where it reads at indices that it
has read, or divides ints, which no vector does, it is unrolled, and its lanes are registers. A round of a strip is a
vector all the same: what it reads, eight elements wait for at a time.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from nessie.cudagen.kernels.thunks import COSTLY
from nessie.cudagen.loops.nodes import Call, Const, Exp, For, Function, If, Let, Load, Name, Op, Set, Stmt, Store, Var
from nessie.cudagen.loops.walk import all_parts, bound_names, parts, statements

DIVISIONS = ("rem", "mod")
VECTOR = 8                      # elements
FEW = 64                        # elements of a row that are few
ROUND = "lane."                 # the index of a round of eight elements (rewrites.strips)
JOINED = {"int": ("+", "min", "max", "and", "or"), "float": ("min", "max"), "bool": ("and", "or")}     # in any order


class Kind(Enum):
    """What LLVM is to make of a loop."""
    SCALAR = "not a vector"
    WHOLE = "a vector before it could be unrolled"
    UNROLLED = "a round after the other, without a loop"
    ANY = "what it likes"


def kind_of(loop: For, read: frozenset[str]) -> Kind:
    """`read`: the names that hold what was read from memory, in the function outside of the loop."""
    waits = gathers(loop.body, set()) and (depends(loop.high, read) or not slow(loop.body))
    if loop.index == ROUND:
        return Kind.WHOLE
    if lanes(loop):
        if lie_apart(loop):
            return Kind.SCALAR
        return Kind.UNROLLED if waits or divides(loop.body) else Kind.WHOLE
    return Kind.SCALAR if waits else Kind.ANY


def joins_row(loop: For, read: frozenset[str], variables: Mapping[str, str]) -> bool:
    """Does the loop join elements, of which memory says how many there are, by operations that LLVM may do in any
    order? `variables`: the types of what is assigned."""
    own = bound_names(loop.body)
    inside = list(statements(loop.body))
    joins = [s for s in inside if isinstance(s, Set) and s.name not in own]
    if not all(isinstance(s, Let | Var | If | Set) for s in inside) or kind_of(loop, read) != Kind.ANY:
        return False
    return bool(joins) and depends(loop.high, read) and all(is_join(s.name, s.value, variables[s.name]) for s in joins)


def is_join(name: str, value: Exp, type_: str) -> bool:
    match value:
        case Op(operator, arguments):
            return operator in JOINED.get(type_, ()) and Name(name) in arguments
    return False


def in_order(loop: For, read: frozenset[str]) -> bool:
    """Is it one element after the other, as it stands?"""
    return kind_of(loop, read) in (Kind.SCALAR, Kind.UNROLLED)


def names_of_read(function: Function, by_others: bool = True) -> frozenset[str]:
    """The names that hold what the function has read, or computed from it, by itself or by others."""
    read: set[str] = set()
    for statement in statements(function.body):
        match statement:
            case Let(name, _, value) | Set(name, value) if depends(value, read):
                read.add(name)
            case Call(names) if by_others:
                read.update(names)
    return frozenset(read)


def lanes(loop: For) -> bool:
    """Does each of a known number of rounds store something?"""
    known = isinstance(loop.low, Const) and isinstance(loop.high, Const)
    return known and any(isinstance(statement, Store) for statement in statements(loop.body))


def lie_apart(loop: For) -> bool:
    """Does each round load what is a vector, or more, behind what the one before loads?"""
    return any(isinstance(part, Op) and part.op == "*" and Name(loop.index) in part.arguments and
               any(isinstance(a, Const) and isinstance(a.value, int) and a.value >= VECTOR for a in part.arguments)
               for s in loop.body if isinstance(s, Let) for load in parts(s.value) if isinstance(load, Load)
               for part in parts(load.index))


def slow(body: tuple[Stmt, ...]) -> bool:
    """Does it compute what takes many operations?"""
    return any(isinstance(part, Op) and part.op in COSTLY for part in all_parts(body))


def divides(body: tuple[Stmt, ...]) -> bool:
    """Does it compute remainders, of ints as they are?"""
    return any(isinstance(part, Op) and part.op in DIVISIONS for part in all_parts(body))


def gathers(body: Iterable[Stmt], read: set[str]) -> bool:
    """Does what has no loops in it read at indices that it has read? `read`: the names that hold what it has."""
    for statement in body:
        match statement:
            case Let(name, _, value) | Set(name, value):
                if at_read_index(value, read):
                    return True
                if depends(value, read):
                    read.add(name)
            case Store(_, index, value):
                if at_read_index(index, read) or at_read_index(value, read):
                    return True
            case If(condition, then, orelse):
                if at_read_index(condition, read) or gathers(then, read) or gathers(orelse, read):
                    return True
            case For():
                return False
    return False


def at_read_index(exp: Exp, read: set[str]) -> bool:
    """Is there a load in it whose index depends on memory?"""
    match exp:
        case Load(_, index):
            return depends(index, read) or at_read_index(index, read)
        case Op(_, arguments):
            return any(at_read_index(a, read) for a in arguments)
    return False


def depends(exp: Exp, read: set[str] | frozenset[str]) -> bool:
    """Does the value depend on memory?"""
    match exp:
        case Load():
            return True
        case Op(_, arguments):
            return any(depends(a, read) for a in arguments)
        case Name(name):
            return name in read
    return False
