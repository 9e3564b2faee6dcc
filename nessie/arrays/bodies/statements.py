"""Python's statements as NESL's expressions: assignments are lets, loops are functions that call themselves.

What follows a statement is translated where that ends (`after`). A branch that leaves the function or the loop has what
follows in the other branch; else both branches give the names that they set. A loop is a function of what it changes;
the kinds of that are those that it begins with, widened until they hold in every round. A `return` in a loop sets a
flag, ends the loop, and is done behind it.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence

from nessie.arrays.bodies.expressions import Env, Value, Window
from nessie.arrays.bodies.kinds import BOOL, INT, Items, Kind, Rows, joined, shown
from nessie.arrays.bodies.outside import static
from nessie.arrays.bodies.sequences import Sequences, constant_int
from nessie.arrays.bodies.trees import (
    Made,
    become,
    binary,
    let,
    name,
    number,
    pattern,
    together,
    typed,
    zero,
)
from nessie.base.records import dataclass
from nessie.syntax import nodes as syntax

After = Callable[[Env], Made]
ROUNDS = 8              # of widening, until a loop's kinds are given up
DONE, RESULT = "#done", "#result"           # what a return in a loop sets: no names of Python


@dataclass(frozen=True)
class Loop:
    """How the innermost loop goes on with the next round, and how it ends."""
    again: After
    end: After


class Statements(Sequences):
    """Translates a function's statements."""

    def body(self, env: Env) -> Made:
        """What the function returns."""
        tree = self.function.written.tree
        if isinstance(tree, ast.Lambda):
            return self.value(tree.body, env)
        statements = tree.body[1:] if is_docstring(tree.body[0]) else tree.body
        return self.statements(statements, env, self.without_return, None)

    def without_return(self, env: Env) -> Made:
        last = self.function.written.tree.body[-1]          # type: ignore[index]
        self.refuse(last, f"{self.function.name} can end here without a result", hint="return one on every path")

    def statements(self, statements: Sequence[ast.stmt], env: Env, after: After, loop: Loop | None) -> Made:
        if not statements:
            return after(env)
        first, rest = statements[0], statements[1:]

        def then(env: Env) -> Made:
            return self.statements(rest, env, after, loop)
        match first:
            case ast.Pass():
                return then(env)
            case ast.Return(value=None):
                self.refuse(first, "a body returns a value")
            case ast.Return(value=ast.expr() as value):
                return self.returned(self.value(value, env), env, loop)
            case ast.Break() | ast.Continue():
                assert loop is not None                     # Python has seen to that
                return loop.end(env) if isinstance(first, ast.Break) else loop.again(env)
            case ast.Assign(targets=[target], value=value):
                return self.assigned_to(target, self.value(value, env), env, then)
            case ast.Assign(targets=[target, *more], value=value):
                held = self.fresh("value")
                made = self.value(value, env)
                rest_ = self.all_assigned([target, *more], Made(name(held), made.kind), env, then)
                return Made(let([held], made.exp, rest_.exp), rest_.kind)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.assigned_to(target, self.value(value, env), env, then)
            case ast.AugAssign(target=ast.Name(id=changed), op=op, value=value) if isinstance(env.get(changed), Made):
                old = env[changed]
                assert isinstance(old, Made)
                shape = ast.copy_location(ast.BinOp(ast.Name(changed), op, value), first)
                new = self.arithmetic(shape, op, old, self.value(value, env))
                return self.assigned_to(first.target, new, env, then)
            case ast.If():
                return self.branch(first, env, loop, then)
            case ast.For(orelse=[]):
                return self.counted(first, env, then, loop)
            case ast.While(orelse=[]):
                return self.repeated(first, first.test, first.body, env, then, loop)
        self.refuse(first, self.refusal(first), hint="assignments, if, while, for and return can be in a body")

    def refusal(self, statement: ast.stmt) -> str:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                return "print cannot be in a body: elements are computed in any order"
            case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
                return "yield cannot be in a body"
            case ast.Expr():
                return "an expression whose value nobody takes does nothing in a body"
            case ast.For() | ast.While():
                return "a loop has no else in a body"
            case ast.AugAssign(target=ast.Name(id=changed)):
                return f"{changed} has no value yet"
            case ast.Assign() | ast.AugAssign() | ast.Delete():
                return "a body sets names; it changes no array and no object"
        words = {ast.FunctionDef: "a function defined inside", ast.ClassDef: "a class", ast.Raise: "raise",
                 ast.Try: "try", ast.With: "with", ast.Assert: "assert", ast.Import: "import",
                 ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Match: "match"}
        return f"{words.get(type(statement), type(statement).__name__.lower())} cannot be in a body"

    # Assignments and branches -----------------------------------------------------------------------

    def assigned_to(self, target: ast.expr, made: Made, env: Env, then: After) -> Made:
        if isinstance(target, ast.Name):
            bound = self.fresh(target.id)
            rest = then({**env, target.id: Made(name(bound), made.kind)})
            return Made(let([bound], made.exp, rest.exp), rest.kind)
        if isinstance(made.kind, Items) and isinstance(target, ast.Tuple | ast.List):
            names = [self.fresh("item") for _ in made.kind.items]
            found = self.bound_to(target, [Made(name(n), kind) for n, kind in zip(names, made.kind.items)])
            rest = then({**env, **found})
            return Made(let(names, made.exp, rest.exp), rest.kind)
        found = self.bound_to(target, [made])
        return then({**env, **found})

    def all_assigned(self, targets: list[ast.expr], made: Made, env: Env, then: After) -> Made:
        """a = b = value"""
        if not targets:
            return then(env)
        return self.assigned_to(targets[0], made, env, lambda env: self.all_assigned(targets[1:], made, env, then))

    def branch(self, node: ast.If, env: Env, loop: Loop | None, then: After) -> Made:
        test = self.truth(node.test, env)
        if leaves(node.body) or leaves(node.orelse):
            return self.conditional(node, test, self.statements(node.body, env, then, loop),
                                    self.statements(node.orelse, env, then, loop))
        changed = set_in(node.body) | set_in(node.orelse)
        surely = set_surely(node.body) & set_surely(node.orelse)
        names = [n for n in sorted(changed) if n in surely or isinstance(env.get(n), Made)]

        def given(env: Env) -> Made:
            return self.items([made_in(env, n) for n in names] or [Made(number(0), INT)])
        kept = {n: value for n, value in env.items() if n not in changed}
        ends = [self.statements(side, env, given, loop) for side in (node.body, node.orelse)]
        if not names:               # what is set is of no use behind it, and computed all the same: it may fail
            nothing = syntax.If(test, ends[0].exp, ends[1].exp, span=self.span(node))
            rest = then(kept)
            return Made(let(["_"], nothing, rest.exp), rest.kind)
        kinds = [self.joined_kinds(node, n, [end.kind.items[k] for end in ends])         # type: ignore[union-attr]
                 for k, n in enumerate(names)]
        first, second = [become(end, Items(tuple(kinds)), self.fresh) for end in ends]
        bound = [self.fresh(n) for n in names]
        behind = then({**kept, **{n: Made(name(b), kind) for n, b, kind in zip(names, bound, kinds)}})
        return Made(let(bound, syntax.If(test, first, second, span=self.span(node)), behind.exp), behind.kind)

    def joined_kinds(self, node: ast.stmt, of: str, kinds: Sequence[Kind]) -> Kind:
        result = kinds[0]
        for kind in kinds[1:]:
            both = joined(result, kind)
            if both is None:
                self.refuse(node, f"{of} is {shown(result)} here and {shown(kind)} there")
            result = both
        return result

    # Loops ------------------------------------------------------------------------------------------

    def counted(self, node: ast.For, env: Env, then: After, loop: Loop | None) -> Made:
        """A for loop over a range, over a sequence, or over zip or enumerate of sequences."""
        if isinstance(node.iter, ast.Name) and isinstance(window := env.get(node.iter.id), Window):
            return self.unrolled(node, list(window.neighbours.values()), env, then, loop)
        function = static(self.function, node.iter.func) if isinstance(node.iter, ast.Call) and \
            isinstance(node.iter.func, ast.Name) and node.iter.func.id not in env else None
        if function is builtins.range:
            return self.over_range(node, node.iter.args, env, then, loop)       # type: ignore[attr-defined]
        if not isinstance(node.iter, ast.Call):
            made = self.value(node.iter, env)
            if isinstance(made.kind, Items):
                names = [self.fresh("item") for _ in made.kind.items]
                items = [Made(name(n), kind) for n, kind in zip(names, made.kind.items)]
                rest = self.unrolled(node, items, env, then, loop)
                return Made(let(names, made.exp, rest.exp), rest.kind)
        sources = self.sources(node.iter, env)
        held = [self.fresh("v") for _ in sources]
        i, end = self.fresh("i"), self.fresh("n")

        def element(env: Env) -> Env:
            at = [Made(syntax.Index(name(v), name(i), span=self.span(node.iter)), kind)
                  for v, (_, kind) in zip(held, sources)]
            return {**env, **self.bound_to(node.target, at)}
        made = self.rounds(node, node.body, env, then, loop, element, i, end, 1,
                           {f"#{v}": Made(name(v), Rows(kind)) for v, (_, kind) in zip(held, sources)},
                           number(0), syntax.Unary("#", name(held[0])))
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
            return then(env)
        return self.statements(node.body, {**env, **self.bound_to(node.target, items[:1])},
                               lambda env: self.unrolled(node, items[1:], env, then, loop), loop)

    def over_range(self, node: ast.For, given: list[ast.expr], env: Env, then: After, loop: Loop | None) -> Made:
        bounds = [self.value(one, env) for one in given]
        if not 1 <= len(bounds) <= 3 or any([made.kind != INT for made in bounds]):
            self.refuse(node.iter, "range takes one to three ints")
        step = constant_int(given[2]) if len(given) == 3 else 1
        if not step:
            self.refuse(given[2], "the step of a range is a constant here, and not 0")
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
                           {f"#{i}": lambda env: Made(binary("+", name(i), number(step)), INT)}, fixed)
        return Made(let([i], start, let([end], stop, made.exp)), made.kind)

    def repeated(self, node: ast.While, test: ast.expr, body: list[ast.stmt], env: Env, then: After,
                 loop: Loop | None) -> Made:
        if isinstance(test, ast.Constant) and test.value and not leaves(body):
            self.refuse(node, "this loop never ends")
        return self.looped(node, body, env, then, loop, lambda env: self.truth(test, env), lambda env: env, {}, {})

    def looped(self, node: ast.For | ast.While, body: list[ast.stmt], env: Env, then: After, loop: Loop | None,
               test: Callable[[Env], syntax.Exp], begin: Callable[[Env], Env],
               steps: dict[str, Callable[[Env], Made]], own: Env) -> Made:
        """The function of a loop, its first call, and what follows it. `steps`: what counts, and the next of it;
        `own`: what else the loop itself holds."""
        returns = any([isinstance(part, ast.Return) for part in walk_all(body)])
        used = names_in(node) | set(own)
        changed = [n for n in env if n in set_in(body) and isinstance(env[n], Made)] + [*steps]
        free = [n for n in env if n in used and n not in changed and isinstance(env[n], Made)]
        state: dict[str, Made] = {n: made_in(env, n) for n in changed}
        if returns:
            state |= {DONE: Made(syntax.Bool(False), BOOL)}
        kinds = {n: made.kind for n, made in state.items()}
        result: list[Kind] = []             # of a return inside
        function = self.module.fresh("loop")
        for _ in range(ROUNDS):
            before, kept = (dict(kinds), list(result)), len(self.module.functions)
            definition = self.loop_function(node, function, body, env, free, kinds, result, test, begin, steps)
            if (kinds, result) == before:
                break
            del self.module.functions[kept:]
        else:
            self.refuse(node, "the kinds of what this loop changes never come to rest")
        self.module.functions.append(definition)
        names = [*kinds, *([RESULT] if result else [])]
        first = [become(made, kinds[n], self.fresh) for n, made in state.items()]
        first += [zero(result[0])] if result else []
        span = self.span(node)
        started = syntax.Apply(name(function), together([*first, *[made_in(env, n).exp for n in free],
                                                         *map(name, self.module.passed(self.function))]), span=span)
        bound = [self.fresh(n.strip("#")) for n in names]
        ended = dict(zip(names, bound))
        lost = {*steps, *own, *set_in(node.body)}
        behind: dict[str, Value] = {n: value for n, value in env.items() if n not in lost}
        behind |= {n: Made(name(ended[n]), kind) for n, kind in kinds.items() if n not in steps and n != DONE}
        rest = then(behind)
        if result:
            given = self.returned(Made(name(ended[RESULT]), result[0]), env, loop)
            rest = self.conditional(node, name(ended[DONE]), given, rest)
        return Made(let(bound, started, rest.exp), rest.kind)

    def loop_function(self, node: ast.For | ast.While, function: str, body: list[ast.stmt], env: Env, free: list[str],
                      kinds: dict[str, Kind], result: list[Kind], test: Callable[[Env], syntax.Exp],
                      begin: Callable[[Env], Env], steps: dict[str, Callable[[Env], Made]]) -> syntax.FunctionDef:
        """The loop's function for these kinds of its state, which it widens to those that a round gives."""
        names = [*kinds, *([RESULT] if result else [])]
        parameters = {n: name_of(env, n) if n in steps else self.fresh(n.strip("#")) for n in names}
        fixed = {n: made_in(env, n) for n in free}
        bound = {n: name_of(env, n) if n.startswith("#") else self.fresh(n) for n in free}
        inner: dict[str, Value] = {n: value for n, value in env.items() if isinstance(value, Window)}
        inner |= {n: Made(name(bound[n]), fixed[n].kind) for n in free}
        inner |= {n: Made(name(parameters[n]), kind) for n, kind in kinds.items()}
        reached: list[dict[str, Kind]] = []
        before = dict(kinds)
        returning = bool(result)            # from the second time on

        def state(env: Env, more: dict[str, syntax.Exp]) -> list[syntax.Exp]:
            reached.append({n: kind_in(env, n) for n in kinds})
            values = []
            for n, kind in kinds.items():
                made = made_in(env, n)
                values.append(more.get(n) or (become(made, kind, self.fresh) if joined(made.kind, kind) == kind
                                              else made.exp))
            return [*values, *([more.get(RESULT) or name(parameters[RESULT])] if returning else [])]

        def again(env: Env) -> Made:
            values = state(env, {n: step(env).exp for n, step in steps.items()})
            called = syntax.Apply(name(function), together(
                [*values, *[name(bound[n]) for n in free],
                 *map(name, self.module.passed(self.function))]), span=self.span(node))
            return Made(called, gives)

        def end(env: Env) -> Made:
            return Made(together(state(env, {})), gives)

        def returned(made: Made, env: Env) -> Made:
            kind = joined(result[0], made.kind) if result else made.kind
            if kind is None:
                self.refuse(node, f"one return gives {shown(made.kind)}, another {shown(result[0])}")
            result[:] = [kind]
            if not returning:
                return Made(together(state(env, {})), gives)
            return Made(together(state(env, {DONE: syntax.Bool(True), RESULT: become(made, kind, self.fresh)})), gives)
        gives: Kind = Items(tuple(kinds.values()))
        outer, self.return_from_loop = self.return_from_loop, returned
        try:
            made = self.statements(body, begin(inner), again, Loop(again, end))
        finally:
            self.return_from_loop = outer
        full = syntax.If(test(inner), made.exp, end(inner).exp, span=self.span(node))
        for found in reached:
            for n, kind in found.items():
                if n != DONE:
                    kinds[n] = self.joined_kinds(node, n, [kinds[n], kind])
        passed = self.module.passed(self.function)
        taken = pattern([*[parameters[n] for n in names], *[bound[n] for n in free], *passed])
        state_kinds = [*before.values(), *result[:returning]]
        signature = typed([*state_kinds, *[fixed[n].kind for n in free], *passed.values()], Items(tuple(state_kinds)))
        return syntax.FunctionDef(function, taken, signature, None, full, span=self.span(node))

    return_from_loop: Callable[[Made, Env], Made] | None = None

    def returned(self, made: Made, env: Env, loop: Loop | None) -> Made:
        """A return: the result, or what ends the loop around."""
        return made if loop is None or self.return_from_loop is None else self.return_from_loop(made, env)


def made_in(env: Env, of: str) -> Made:
    made = env[of]
    assert isinstance(made, Made)
    return made


def name_of(env: Env, of: str) -> str:
    """The name that something is bound to."""
    exp = made_in(env, of).exp
    assert isinstance(exp, syntax.Name)
    return exp.name


def kind_in(env: Env, of: str) -> Kind:
    return made_in(env, of).kind


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and \
        isinstance(statement.value.value, str)


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """May these leave the function, or the loop that they are in?"""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                return True
            case ast.If() if leaves(statement.body) or leaves(statement.orelse):
                return True
            case ast.For() | ast.While() if any([isinstance(part, ast.Return) for part in walk_all(statement.body)]):
                return True
    return False


def walk_all(statements: Sequence[ast.stmt]) -> list[ast.AST]:
    return [part for statement in statements for part in ast.walk(statement)]


def set_in(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that the statements set."""
    return {part.id for part in walk_all(statements)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def set_surely(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that the statements set on every path."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                found |= set_in([statement])
            case ast.If():
                found |= set_surely(statement.body) & set_surely(statement.orelse)
    return found


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}

