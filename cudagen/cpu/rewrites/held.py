"""Loops whose rounds do what they do where their checks hold, and note it where one does not.

    bool test = 0 <= j and j < n;                   bool test = 0 <= j and j < n;
    if (test) {                                     int j.test = 0 <= j and j < n ? j : 0;
      float x = xs[j];                              float x = xs[j.test];
      branch = x;                                   branch = x;
    } else {                                        bool test_2 = x > 0.0;
      failed = min(failed, i);               ->     float y = ln(x);
      branch = 0.0;                                 if (not(test and test_2)) {
    }                                                 failed = min(failed, i);
    bool test_2 = branch > 0.0;                     }
    if (not(test_2)) {
      failed = min(failed, i);
    }
    float y = test_2 ? ln(branch) : 0.0;

Only for who does all again where a check has failed (cudagen.cpu.checks): what such a round computes is not used then,
nor is which of its checks it was. Operators are total. What is read at a checked index is read at the first index where
the check fails, so that lanes have no branches. A load behind one comparison only is of an array in which all from 0 to
that size lie: flattening decides checks by nothing else, and what may stand for a failed check is tested once more
(kernels.thunks). Whether there is a first one is not asked here: the sizes come with the loop.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nessie.base.parts import updated
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.nodes import Const, Exp, For, If, Let, Load, Name, Op, Set, Stmt
from nessie.cudagen.loops.walk import BODIES, EXPRESSIONS, all_parts, called

FAILED = Name("failed")


def held(loop: For, fixed: frozenset[str], jumps: bool) -> tuple[For, frozenset[str]]:
    """The loop, and the sizes that must be above 0 for it. `fixed`: the names that hold the same all the time; `jumps`:
    does it read at indices that it has read? Others walk along arrays, and would jump then. A loop that calls stays as
    it is: what a function does with what no check has let through may take long."""
    if any(called(loop.body)):
        return loop, frozenset()
    holder = Holder(fixed if jumps else frozenset())
    body = holder.block(loop.body, {})
    return updated(loop, body=body), frozenset(holder.sizes)


def is_failure(statement: Stmt) -> bool:
    return isinstance(statement, Set) and statement.name == FAILED.name


class Holder:
    """`fixed`: the sizes of what may be read at a first index; `sizes`: those of what is."""

    def __init__(self, fixed: frozenset[str]) -> None:
        self.fixed = fixed
        self.sizes: set[str] = set()

    def block(self, body: tuple[Stmt, ...], tests: Mapping[str, Exp]) -> tuple[Stmt, ...]:
        """The statements, with one failure at their end. `tests`: what the names of tests around stand for."""
        tests = {**tests, **{s.name: s.value for s in body if isinstance(s, Let) and s.type == "bool"}}
        plain = [new for s in body for new in self.without_branch(self.inside(s, tests), tests)]
        failures = {name: s for s in plain if (name := tested(s)) in tests}
        if not failures:
            return tuple(plain)
        sure = frozenset(failures)
        rest = [assuming(s, sure) for s in plain if tested(s) not in sure]
        *_, last = failures.values()
        return (*rest, updated(last, condition=op("not", all_of(failures))))

    def inside(self, statement: Stmt, tests: Mapping[str, Exp]) -> Stmt:
        match statement:
            case If(_, then, orelse):
                return updated(statement, then=self.block(then, tests), orelse=self.block(orelse, tests))
        return statement

    def without_branch(self, statement: Stmt, tests: Mapping[str, Exp]) -> Iterator[Stmt]:
        """What the statement does where its check holds, and a failure where it does not: if it does little more than
        to read at the index that is checked."""
        match statement:
            case If(Name(test) as condition, then, orelse) if (
                    test in tests and any(map(is_failure, orelse)) and all(isinstance(s, Let | Set) for s in then)
                    and not any(map(is_failure, then))):
                loads = {p.index for p in all_parts(then) if isinstance(p, Load)}
                index, size = index_and_size(tests[test])
                failure = If(op("not", condition), tuple(filter(is_failure, orelse)))
                if not loads:
                    yield from (*then, failure)
                    return
                if loads == {Name(index)} and size in self.fixed:
                    self.sizes.add(size)
                    first = Name(f"{index}.{test}")
                    yield Let(first.name, "int", op("select", tests[test], Name(index), integer(0)))   # not by its name
                    yield from [reading(s, Name(index), first) for s in then]
                    yield failure
                    return
        yield statement


def all_of(tests: Iterable[str]) -> Exp:
    """Do all of these hold? There is one."""
    first, *others = map(Name, tests)
    found: Exp = first
    for test in others:
        found = op("and", found, test)
    return found


def tested(statement: Stmt) -> str | None:
    """The name of the test without which the statement records a failure, and does nothing else."""
    match statement:
        case If(Op("not", (Name(test),)), (only,), ()) if is_failure(only):
            return test
    return None


def assuming(statement: Stmt, sure: frozenset[str]) -> Stmt:
    """The statement, in which what these tests choose by their names is what it is where they hold."""
    def chosen(exp: Exp) -> Exp:
        match exp:
            case Op("select", (Name(test), value, _)) if test in sure:
                return chosen(value)
        return EXPRESSIONS.map(exp, chosen)
    return BODIES.map(EXPRESSIONS.map(statement, chosen), lambda inner: assuming(inner, sure))


def index_and_size(test: Exp) -> tuple[str, str]:
    """What is tested to be an index, and below which size; nothing, if the test is another."""
    match test:
        case Op("and", (Op("<=", (Const(0), Name(index))), Op("<", (Name(other), Name(size))))) if index == other:
            return index, size
        case Op("<", (Name(index), Name(size))):
            return index, size
    return "", ""


def reading(statement: Stmt, index: Name, first: Name) -> Stmt:
    """The statement, with its loads at the other index."""
    def changed(exp: Exp) -> Exp:
        if isinstance(exp, Load) and exp.index == index:
            return updated(exp, index=first)
        return EXPRESSIONS.map(exp, changed)
    return EXPRESSIONS.map(statement, changed)
