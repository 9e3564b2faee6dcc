"""Python's loops as functions of NESL that call themselves.

A loop is a function of what it changes. The kinds of that are those that it begins with, widened until they hold in
every round. A `return` in a loop sets a flag, ends the loop, and is done behind it. What a loop sets and had no value
before is part of that, too, if it is read behind the loop or in another round: beside it is whether it has a value. A
`break` in a loop that has an `else` sets a flag: the `else` is a branch behind the loop, where that is not set.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import field

from nessie.arrays.bodies.expressions.iterations import constant_int, is_strict, least
from nessie.arrays.bodies.expressions.sequences import Sequences
from nessie.arrays.bodies.expressions.values import Env, Unset, Unsure, Value, Window
from nessie.arrays.bodies.kinds import BOOL, INT, Items, Kind, Rows, Unknown, shown
from nessie.arrays.bodies.source import names_set
from nessie.arrays.bodies.trees import Made, become, binary, let, name, number, pattern, together, typed, zero
from nessie.base.records import dataclass
from nessie.syntax import nodes as syntax

After = Callable[[Env], Made]
ROUNDS = 8              # of widening, until a loop's kinds are given up
DONE, RESULT = "#done", "#result"           # what a return in a loop sets: no names of Python
BROKEN = "#broken"                          # what a break in a loop with an else sets
NEVER_ENDS, ENDS = "this loop never ends", "break and return end it"
HAS = "#has "                               # before a name: has it a value?


@dataclass(frozen=True)
class Loop:
    """How the innermost loop goes on with the next round, and how it ends."""
    again: After
    end: After


@dataclass
class Rounds:
    """A loop whose function is made.

    has_else            has it an else? `node` is without it
    body, test, begin   its statements; goes it on? what is known when a round begins
    steps, own          what counts, and the next of it; what else the loop itself holds
    env, free           what is known around it, and of that, what its function is given and does not change
    kinds, result       the kinds of what it changes, and of what a return inside gives
    kept                names without a value before it that are read behind it or in another round
    read                which of these were read in the last round where their kind was not known
    unknown             why the last round was not translated to its end
    """
    node: ast.For | ast.While
    has_else: bool
    function: str
    body: list[ast.stmt]
    test: Callable[[Env], syntax.Exp]
    begin: Callable[[Env], Env]
    steps: dict[str, Callable[[Env], Made]]
    own: Env
    env: Env
    free: dict[str, Made]
    kinds: dict[str, Kind]
    kept: set[str]
    result: list[Kind] = field(default_factory=list)
    read: list[tuple[str, ast.AST]] = field(default_factory=list)
    unknown: Unknown | None = None


class Loops(Sequences):
    """Translates loops."""

    def statements(self, statements: Sequence[ast.stmt], env: Env, after: After, loop: Loop | None) -> Made:
        raise NotImplementedError           # nessie.arrays.bodies.statements

    def branch(self, node: ast.If, env: Env, loop: Loop | None, then: After) -> Made:
        raise NotImplementedError           # nessie.arrays.bodies.statements

    def apart(self, node: ast.AST, what: str, env: Env, then: After) -> Made:
        """What follows, where names may be of several kinds: in host sections (nessie.arrays.sections.unions)."""
        return then(env)

    def within_loop(self, node: ast.AST, gives: Kind, make: Callable[[], Made]) -> Made:
        """What a loop's body makes."""
        return make()

    def counted(self, node: ast.For, env: Env, then: After, loop: Loop | None) -> Made:
        """A for loop over a range, over a sequence, or over zip or enumerate of sequences."""
        if isinstance(node.iter, ast.Name) and isinstance(window := env.get(node.iter.id), Window):
            return self.unrolled(node, list(window.neighbours.values()), env, then, loop)
        if self.iterates(node.iter, env) is builtins.range:
            return self.over_range(node, node.iter.args, env, then, loop)       # type: ignore[attr-defined]
        if not isinstance(node.iter, ast.Call):
            made = self.value(node.iter, env)
            if isinstance(made.kind, Items):
                names = [self.fresh("item") for _ in made.kind.items]
                items = [Made(name(n), kind) for n, kind in zip(names, made.kind.items)]
                rest = self.unrolled(node, items, env, then, loop)
                return Made(let(names, made.exp, rest.exp), rest.kind)
        if is_strict(node.iter):
            self.refuse(node.iter, "zip is strict in expressions only", hint="a loop stops at the shorter one")
        sources = self.sources(node.iter, env)
        held = [self.fresh("v") for _ in sources]
        i, end = self.fresh("i"), self.fresh("n")

        def element(env: Env) -> Env:
            at = [Made(syntax.Index(name(v), name(i), span=self.span(node.iter)), kind)
                  for v, (_, kind) in zip(held, sources)]
            return {**env, **self.bound_to(node.target, at)}
        made = self.rounds(node, node.body, env, then, loop, element, i, end, 1,
                           {f"#{v}": Made(name(v), Rows(kind)) for v, (_, kind) in zip(held, sources)},
                           number(0), least([syntax.Unary("#", name(v)) for v in held]))
        result = made.exp
        for v, (source, _) in reversed(list(zip(held, sources))):
            result = let([v], source, result)
        return Made(result, made.kind)

    def unrolled(self, node: ast.For, items: list[Made], env: Env, then: After, loop: Loop | None) -> Made:
        """A loop over a tuple: its body once for each item."""
        if leaves(node.body):
            self.refuse(node, "a loop over a tuple, or over a stencil's neighbours, goes through all of it",
                        hint="break, continue and return are for loops over ranges and sequences")
        if not items:
            return self.statements(node.orelse, env, then, loop)
        return self.statements(node.body, {**env, **self.bound_to(node.target, items[:1])},
                               lambda env: self.unrolled(node, items[1:], env, then, loop), loop)

    def over_range(self, node: ast.For, given: list[ast.expr], env: Env, then: After, loop: Loop | None) -> Made:
        bounds = [self.value(one, env) for one in given]
        if not 1 <= len(bounds) <= 3 or any([made.kind != INT for made in bounds]):
            self.refuse(node.iter, "range takes one to three ints")
        step = constant_int(given[2]) if len(given) == 3 else 1
        if not step:
            self.refuse(given[2], "the step of a range is a constant here, and not 0",
                        hint="while i < n: ...; i += step counts by any step")
        if not isinstance(node.target, ast.Name):
            self.refuse(node.target, "a range gives one int after another")
        start, end = (number(0), bounds[0].exp) if len(bounds) == 1 else (bounds[0].exp, bounds[1].exp)
        i, last, target = self.fresh("i"), self.fresh("n"), node.target.id
        return self.rounds(node, node.body, env, then, loop, lambda env: {**env, target: Made(name(i), INT)},
                           i, last, step, {}, start, end)

    def rounds(self, node: ast.For, body: list[ast.stmt], env: Env, then: After, loop: Loop | None,
               element: Callable[[Env], Env], i: str, end: str, step: int, held: Env, start: syntax.Exp,
               stop: syntax.Exp) -> Made:
        """A loop that counts i from start to stop."""
        counter = {f"#{i}": Made(name(i), INT)}
        fixed = {f"#{end}": Made(name(end), INT), **held}
        ahead = binary("<" if step > 0 else ">", name(i), name(end))
        made = self.looped(node, body, {**env, **fixed, **counter}, then, loop, lambda env: ahead, element,
                           {f"#{i}": lambda env: Made(binary("+", name(i), number(step)), INT)}, fixed,
                           surely=is_before(start, stop, step))
        return Made(let([i], start, let([end], stop, made.exp)), made.kind)

    def repeated(self, node: ast.While, test: ast.expr, body: list[ast.stmt], env: Env, then: After,
                 loop: Loop | None) -> Made:
        if isinstance(test, ast.Constant) and test.value and not leaves(body):
            self.refuse(node, NEVER_ENDS, hint=ENDS)
        always = isinstance(test, ast.Constant) and bool(test.value)
        return self.looped(node, body, env, then, loop, lambda env: self.truth(test, env), lambda env: env, {}, {},
                           surely=always, returns=always and not breaks(body))

    def looped(self, node: ast.For | ast.While, body: list[ast.stmt], env: Env, then: After, loop: Loop | None,
               test: Callable[[Env], syntax.Exp], begin: Callable[[Env], Env],
               steps: dict[str, Callable[[Env], Made]], own: Env, surely: bool, returns: bool = False) -> Made:
        """The function of a loop, its first call, and what follows it. `surely`: it has a round; `returns`: only a
        return ends it, and nothing follows."""
        orelse, node = node.orelse, without_else(node)
        values, set_here, used = spread(env), set_in([node]), names_in(node) | set(own)
        state = {n: made for n, made in values.items() if n in steps or
                 (name_in(n) in set_here and not isinstance(env[name_in(n)], Window))}
        if any([isinstance(part, ast.Return) for part in walk_all(body)]):
            state |= {DONE: Made(syntax.Bool(False), BOOL)}
        if orelse:
            state |= {BROKEN: Made(syntax.Bool(False), BOOL)}
        rounds = Rounds(
            node, bool(orelse), self.module.fresh("loop"), body, test, begin, steps, own, env,
            free={n: made for n, made in values.items() if name_in(n) in used - set_here - set(steps)},
            kinds={n: made.kind for n, made in state.items()},
            kept={n for n in set_here if n not in state and self.is_read_outside(n, node)})
        if not surely:                      # of no rounds, they are what they were
            for n in rounds.kept:
                if isinstance(value := env.get(n), Unset):
                    value.used(n, node)
        self.module.functions.append(self.widened(rounds))
        kinds, result = rounds.kinds, rounds.result
        names = [*kinds, *([RESULT] if result else [])]
        first = [become(state[n], kind, self.fresh) if n in state else zero(kind) for n, kind in kinds.items()]
        first += [zero(result[0])] if result else []
        started = syntax.Apply(name(rounds.function), together([*first, *[made.exp for made in rounds.free.values()],
                                                                *map(name, self.module.passed(self.function))]),
                               span=self.span(node))
        bound = [self.fresh(n.strip("#")) for n in names]
        ended = dict(zip(names, bound))
        behind = {n: value for n, value in env.items() if n not in {*steps, *own, *set_here}}
        own_flags = {DONE, BROKEN, *[n for n in kinds if surely and n.startswith(HAS) and n not in state]}
        behind |= gathered({n: Made(name(ended[n]), kind) for n, kind in kinds.items()
                            if n not in own_flags and n not in steps})

        def follows(env: Env) -> Made:
            return self.otherwise(node, orelse, name(ended[BROKEN]), env, then, loop) if orelse else then(env)
        if returns:
            if not result:
                raise rounds.unknown or self.error(node, NEVER_ENDS, ENDS)
            made = self.returned(Made(name(ended[RESULT]), result[0]), env, loop)
            return Made(let(bound, started, made.exp), made.kind)
        rest = self.apart(node, "behind", behind, follows)
        if result:
            given = self.returned(Made(name(ended[RESULT]), result[0]), env, loop)
            rest = self.conditional(node, name(ended[DONE]), given, rest)
        return Made(let(bound, started, rest.exp), rest.kind)

    def otherwise(self, node: ast.stmt, orelse: list[ast.stmt], broken: syntax.Exp, env: Env, then: After,
                  loop: Loop | None) -> Made:
        """The else of a loop, if no break has ended that, and what follows."""
        branch = ast.If(ast.Name(BROKEN, ast.Load()), [ast.Pass()], orelse)
        for made in (branch, branch.test):
            ast.copy_location(made, node)
        around = {n: value for n, value in env.items() if n == BROKEN}          # of a loop around this

        def afterwards(env: Env) -> Made:
            return then({**{n: value for n, value in env.items() if n != BROKEN}, **around})
        return self.branch(branch, {**env, BROKEN: Made(broken, BOOL)}, loop, afterwards)

    def is_read_outside(self, of: str, node: ast.AST) -> bool:
        """Does the function read the name in another place than in this loop?"""
        return uses(self.function.written.tree, of) > uses(node, of)

    def widened(self, loop: Rounds) -> syntax.FunctionDef:
        """The loop's function, when its kinds have come to rest."""
        for _ in range(ROUNDS):
            before, mark = (dict(loop.kinds), list(loop.result)), self.module.mark()
            definition = self.loop_function(loop)
            if (loop.kinds, loop.result) == before:
                break
            self.module.forget(mark)
        else:
            self.refuse(loop.node, "the kinds of what this loop changes never come to rest")
        if loop.read:
            self.undefined(loop.read[0][1], loop.read[0][0])
        if loop.unknown is not None and not loop.kept <= loop.kinds.keys():
            raise loop.unknown
        return definition

    def loop_function(self, loop: Rounds) -> syntax.FunctionDef:
        """The loop's function for these kinds of its state, which it widens to those that a round gives."""
        node, kinds, result, steps = loop.node, loop.kinds, loop.result, loop.steps
        names = [*kinds, *([RESULT] if result else [])]
        parameters = {n: name_of(loop.env, n) if n in steps else self.fresh(n.strip("#")) for n in names}
        bound = {n: name_of(loop.env, n) if n in loop.own else self.fresh(n) for n in loop.free}
        loop.read, loop.unknown = [], None
        inner: dict[str, Value] = {n: value for n, value in loop.env.items() if isinstance(value, Unset)}
        inner |= {n: Unset(loop.read, loop.kept) for n in set_in([node])}
        inner |= gathered({**{n: Made(name(bound[n]), made.kind) for n, made in loop.free.items()},
                           **{n: Made(name(parameters[n]), kind) for n, kind in kinds.items()}})
        reached: list[dict[str, Kind]] = []
        before = dict(kinds)
        returning = bool(result)            # from the second time on
        gives: Kind = Items((*before.values(), *result))

        def state(env: Env, more: dict[str, syntax.Exp]) -> list[syntax.Exp]:
            found = spread(env)
            reached.append({n: made.kind for n, made in found.items()})
            values = []
            for n, kind in before.items():
                made = found.get(n, Made(syntax.Bool(True), BOOL)) if n.startswith(HAS) else found[n]
                values.append(more.get(n) or (become(made, kind, self.fresh) if self.join(kind, made.kind) == kind
                                              else made.exp))
            return [*values, *([more.get(RESULT) or name(parameters[RESULT])] if returning else [])]

        def again(env: Env) -> Made:
            values = state(env, {n: step(env).exp for n, step in steps.items()})
            called = syntax.Apply(name(loop.function), together(
                [*values, *map(name, bound.values()), *map(name, self.module.passed(self.function))]),
                span=self.span(node))
            return Made(called, gives)

        def end(env: Env) -> Made:
            return Made(together(state(env, {})), gives)

        def broken(env: Env) -> Made:
            return end({**env, BROKEN: Made(syntax.Bool(True), BOOL)} if loop.has_else else env)

        def returned(made: Made, env: Env) -> Made:
            kind = self.join(result[0], made.kind) if result else made.kind
            if kind is None:
                self.refuse(node, f"one return gives {shown(made.kind)}, another {shown(result[0])}")
            result[:] = [kind]
            if not returning:
                return Made(together(state(env, {})), gives)
            return Made(together(state(env, {DONE: syntax.Bool(True), RESULT: become(made, kind, self.fresh)})), gives)
        outer, self.return_from_loop = self.return_from_loop, returned

        def one_round(env: Env) -> Made:
            test: syntax.Exp = syntax.Bool(True)
            made = end(env)
            try:
                test = loop.test(env)
                made = self.within_loop(node, gives, lambda: self.statements(
                    loop.body, loop.begin(env), again, Loop(again, broken)))
            except Unknown as unknown:          # this is translated again; what is known goes on
                loop.unknown = unknown
            return Made(syntax.If(test, made.exp, end(env).exp, span=self.span(node)), gives)
        try:
            full = self.apart(node, "round", inner, one_round).exp
        finally:
            self.return_from_loop = outer
        for n in sorted(loop.kept - before.keys()):
            if set_to := [found[n] for found in reached if n in found]:
                kinds |= {n: self.joined_kinds(node, n, set_to), HAS + n: BOOL}
        for found in reached:
            for n, kind in found.items():
                if n in before and n != DONE:
                    kinds[n] = self.joined_kinds(node, n, [kinds[n], kind])
        passed = self.module.passed(self.function)
        taken = pattern([*[parameters[n] for n in names], *bound.values(), *passed])
        state_kinds = [*before.values(), *result[:returning]]
        signature = typed([*state_kinds, *[made.kind for made in loop.free.values()], *passed.values()],
                          Items(tuple(state_kinds)))
        return syntax.FunctionDef(loop.function, taken, signature, None, full, span=self.span(node))

    return_from_loop: Callable[[Made, Env], Made] | None = None

    def returned(self, made: Made, env: Env, loop: Loop | None) -> Made:
        """A return: the result, or what ends the loop around."""
        return made if loop is None or self.return_from_loop is None else self.return_from_loop(made, env)

    def joined_kinds(self, node: ast.stmt, of: str, kinds: Sequence[Kind]) -> Kind:
        result = kinds[0]
        for kind in kinds[1:]:
            both = self.join(result, kind)
            if both is None:
                self.refuse(node, f"{of} is {shown(result)} here and {shown(kind)} there",
                            hint="a name of its own for each kind")
            result = both
        return result


# Environments as values -----------------------------------------------------------------------------


def spread(env: Env) -> dict[str, Made]:
    """Return the values of an environment, each with a name: a window's neighbours, too, and whether a name has one."""
    found: dict[str, Made] = {}
    for n, value in env.items():
        match value:
            case Made():
                found[n] = value
            case Unsure(made, there):
                found |= {n: made, HAS + n: Made(there, BOOL)}
            case Window(neighbours):
                found |= {f"#{offset} {n}": made for offset, made in neighbours.items()}
    return found


def name_in(spread_name: str) -> str:
    """Return the name of the environment from which `spread` has this one."""
    return spread_name.rpartition(" ")[2]


def gathered(values: Mapping[str, Made]) -> dict[str, Value]:
    """Return the environment of values that `spread` has named."""
    found: dict[str, Value] = {}
    windows: dict[str, dict[tuple[int, ...], Made]] = {}
    for n, made in values.items():
        if n.startswith("#("):
            windows.setdefault(name_in(n), {})[ast.literal_eval(n[1:].rpartition(" ")[0])] = made
        elif not n.startswith(HAS):
            there = values.get(HAS + n)
            found[n] = made if there is None else Unsure(made, there.exp)
    return {**found, **{n: Window(neighbours) for n, neighbours in windows.items()}}


def name_of(env: Env, of: str) -> str:
    """The name that something is bound to."""
    made = env[of]
    assert isinstance(made, Made) and isinstance(made.exp, syntax.Name)
    return made.exp.name


# What statements do to names ------------------------------------------------------------------------


def is_before(start: syntax.Exp, stop: syntax.Exp, step: int) -> bool:
    """Are these constants, the first before the second?"""
    return isinstance(start, syntax.Number) and isinstance(stop, syntax.Number) and \
        (stop.value - start.value) * step > 0


def without_else(node: ast.For | ast.While) -> ast.For | ast.While:
    bare = copy(node)
    bare.orelse = []
    return bare


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """May these leave the function, or the loop that they are in?"""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                return True
            case ast.If() if leaves(statement.body) or leaves(statement.orelse):
                return True
            case ast.For() | ast.While() if leaves(statement.orelse) or any(
                    [isinstance(part, ast.Return) for part in walk_all(statement.body)]):
                return True
    return False


def breaks(statements: Sequence[ast.stmt]) -> bool:
    """Has the loop of these statements a break of its own?"""
    for statement in statements:
        match statement:
            case ast.Break():
                return True
            case ast.If() if breaks(statement.body) or breaks(statement.orelse):
                return True
            case ast.For() | ast.While() if breaks(statement.orelse):
                return True
    return False


def walk_all(statements: Sequence[ast.stmt]) -> list[ast.AST]:
    return [part for statement in statements for part in ast.walk(statement)]


def set_in(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that the statements set."""
    return {name_ for statement in statements for name_ in names_set(statement)}


def uses(node: ast.AST, of: str) -> int:
    """How often a tree reads or changes the name."""
    found = [part.target if isinstance(part, ast.AugAssign) else part for part in ast.walk(node)
             if isinstance(part, ast.AugAssign) or (isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))]
    return len([part for part in found if isinstance(part, ast.Name) and part.id == of])


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
