"""Python's statements as NESL's expressions: assignments are lets, loops are functions that call themselves.

What follows a statement is translated where that ends (`after`). A branch that leaves the function or the loop has what
follows in the other branch; else both branches give the names that they set.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache, partial

from nessie.arrays.bodies.expressions.calls import OF_THE_WORLD
from nessie.arrays.bodies.expressions.iterations import NAMES_ONLY
from nessie.arrays.bodies.expressions.values import Env, attempts
from nessie.arrays.bodies.kinds import BOOL, Ends, Items, Kind
from nessie.arrays.bodies.loops import After, Loop, Loops, gathered, leaves, name_in, set_in, spread
from nessie.arrays.bodies.named import with_statements
from nessie.arrays.bodies.outside import looked_up, static
from nessie.arrays.bodies.trees import Made, become, let, name, together
from nessie.syntax import nodes as syntax

STATEMENTS = "assignments, if, while, for and return can be in a body"


class Statements(Loops):
    """Translates a function's statements."""

    def body(self, env: Env) -> Made:
        """What the function returns."""
        tree = self.function.written.tree
        if isinstance(tree, ast.Lambda):
            returned = with_statements(returning(tree.body))
            return self.value(tree.body, env) if len(returned) == 1 else \
                self.statements(returned, env, self.without_return, None)
        statements = tree.body[1:] if is_docstring(tree.body[0]) else tree.body
        return self.statements(statements, env, self.without_return, None)

    def without_return(self, env: Env) -> Made:
        last = self.function.written.tree.body[-1]          # type: ignore[index]
        self.refuse(last, f"{self.function.name} can end here without a result", hint="return one on every path")

    def statements(self, statements: Sequence[ast.stmt], env: Env, after: After, loop: Loop | None) -> Made:
        if not statements:
            return after(env)
        first, rest = statements[0], statements[1:]
        if len(apart := with_statements(first)) > 1:
            first, rest = apart[0], [*apart[1:], *rest]

        def then(env: Env) -> Made:
            return self.statements(rest, env, after, loop)
        match first:
            case ast.Pass() | ast.AnnAssign(value=None):
                return then(env)
            case ast.Return(value=None):
                self.refuse(first, "a body returns a value", hint="return x")
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
            case ast.AugAssign(target=ast.Name(id=changed) as target, op=op, value=value) if changed in env:
                old = ast.copy_location(ast.Name(changed, ast.Load()), target)
                shape = ast.copy_location(ast.BinOp(old, op, value), first)
                return self.assigned_to(first.target, self.value(shape, env), env, then)
            case ast.If():
                return self.branch(first, env, loop, then)
            case ast.For():
                return self.counted(first, env, then, loop)
            case ast.While():
                return self.repeated(first, first.test, first.body, env, then, loop)
        self.refuse(first, *self.refusal(first))

    def refusal(self, statement: ast.stmt) -> tuple[str, str]:
        """What cannot be in a body, and what can."""
        match statement:
            case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
                return "yield cannot be in a body", STATEMENTS
            case ast.Expr(value=ast.Call(func=ast.Name() | ast.Attribute() as called)):
                what = static(self.function, called)
                if looked_up(OF_THE_WORLD, what, False):
                    return f"{ast.unparse(called)} cannot be in a body: elements are computed in any order", STATEMENTS
                return (f"the value of {ast.unparse(called)}(...) is taken by nobody; a call changes nothing in a body",
                        "x = f(...) gives it a name")
            case ast.Expr():
                return "an expression whose value nobody takes does nothing in a body", "return x makes it the result"
            case ast.AugAssign(target=ast.Name(id=changed)):
                return f"{changed} has no value yet", f"{changed} = 0 before it"
            case ast.Assign() | ast.AugAssign() | ast.Delete():
                return f"this cannot be changed in a body: {ast.unparse(statement)[:40]}", NAMES_ONLY
        words = {ast.FunctionDef: "a function defined inside", ast.ClassDef: "a class", ast.Raise: "raise",
                 ast.Try: "try", ast.With: "with", ast.Assert: "assert", ast.Import: "import",
                 ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Match: "match"}
        return f"{words.get(type(statement), type(statement).__name__.lower())} cannot be in a body", STATEMENTS

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
        true, false = self.where(node.test, env)
        if leaves(node.body) or leaves(node.orelse):
            return self.one_of(node, lambda: self.truth(node.test, env),
                               lambda: self.statements(node.body, true, then, loop),
                               lambda: self.statements(node.orelse, false, then, loop))
        changed = set_in(node.body) | set_in(node.orelse)
        before, surely = spread(env), set_surely(node.body) & set_surely(node.orelse)
        names = sorted({n for n in changed if n in surely} | {n for n in before if name_in(n) in changed})

        def given(env: Env) -> Made:
            found = spread(env)
            ends = [found.get(n, Made(syntax.Bool(True), BOOL)) for n in names]
            return Made(together([end.exp for end in ends]), Ends(tuple([end.kind for end in ends])))
        kept = {n: value for n, value in env.items() if n not in changed}
        test, *_ = attempts([lambda: self.truth(node.test, env), lambda: syntax.Bool(True)])
        ends = self.sides(node, [partial(self.statements, side, known, given, loop)
                                 for side, known in ((node.body, true), (node.orelse, false))])
        kinds = [self.joined_kinds(node, n, [end.kind.items[k] for end in ends])        # type: ignore[union-attr]
                 for k, n in enumerate(names)]
        self.look_at(node, kinds)
        first, second = [become(end, Items(tuple(kinds)), self.fresh) for end in ends]
        bound = [self.fresh(n) for n in names]
        behind = then({**kept, **gathered({n: Made(name(b), kind) for n, b, kind in zip(names, bound, kinds)})})
        return Made(let(bound, syntax.If(test, first, second, span=self.span(node)), behind.exp), behind.kind)


    def look_at(self, node: ast.If, kinds: Sequence[Kind]) -> None:
        """Look at the kinds of what a branch has set."""


@lru_cache(maxsize=1000)
def returning(value: ast.expr) -> ast.Return:
    """Return the statement that a lambda is, the same one each time."""
    return ast.copy_location(ast.Return(value), value)


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and \
        isinstance(statement.value.value, str)


def set_surely(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that the statements set on every path."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case ast.Assign() | ast.AnnAssign(value=ast.expr()) | ast.AugAssign():
                found |= set_in([statement])
            case ast.If():
                found |= set_surely(statement.body) & set_surely(statement.orelse)
    return found
