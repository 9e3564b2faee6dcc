"""Assignments within expressions as statements before them:   if (n := f(x)) > 2   is   n = f(x); if n > 2.

Those that are surely computed are moved, where the statement does not read the name before. Others stay, and are
refused: an assignment in one branch of a conditional, in the test of a while loop, or in a comprehension.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from functools import lru_cache


@lru_cache(maxsize=1000)
def with_statements(statement: ast.stmt) -> tuple[ast.stmt, ...]:
    """Return the statement behind the assignments that are surely computed in its expression, the same ones each
    time."""
    part = "test" if isinstance(statement, ast.If) else "value"
    exp = getattr(statement, part, None)
    if not isinstance(statement, ast.If | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign) or exp is None:
        return (statement,)
    read = {part.id for part in ast.walk(statement.target) if isinstance(part, ast.Name)} \
        if isinstance(statement, ast.AugAssign) else set()
    moved = [node for node in computed(exp) if not is_read_before(exp, node) and node.target.id not in read]
    if not moved:
        return (statement,)
    assignments = [ast.copy_location(ast.Assign([node.target], without(node.value, moved)), node) for node in moved]
    behind = copy(statement)
    setattr(behind, part, without(exp, moved))
    return (*assignments, behind)


def computed(exp: ast.expr) -> Iterator[ast.NamedExpr]:
    """Yield the assignments that are computed whenever the expression is, inner ones first."""
    match exp:
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
            yield from computed(first)
        case ast.Compare(left, _, [first, *_]):
            yield from computed(left)
            yield from computed(first)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            pass
        case _:
            for part in ast.iter_child_nodes(exp):
                if isinstance(part, ast.keyword):
                    part = part.value
                if isinstance(part, ast.expr):
                    yield from computed(part)
    if isinstance(exp, ast.NamedExpr):
        yield exp


def is_read_before(exp: ast.expr, node: ast.NamedExpr) -> bool:
    """Does the expression read or set the name in another place before, or within, the assignment?"""
    end = node.end_lineno, node.end_col_offset
    return any([isinstance(part, ast.Name) and part.id == node.target.id and part is not node.target
                and (part.lineno, part.col_offset) < end for part in ast.walk(exp)])


def without(exp: ast.expr, moved: list[ast.NamedExpr]) -> ast.expr:
    """Return the expression, with names instead of these assignments."""
    class Moved(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if node in moved:
                assert isinstance(node, ast.NamedExpr)
                return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
            return self.generic_visit(copy(node))

        def generic_visit(self, node: ast.AST) -> ast.AST:
            for field, value in ast.iter_fields(node):
                if isinstance(value, list):
                    setattr(node, field, [self.visit(one) if isinstance(one, ast.AST) else one for one in value])
                elif isinstance(value, ast.AST):
                    setattr(node, field, self.visit(value))
            return node
    found = Moved().visit(exp)
    assert isinstance(found, ast.expr)
    return found
