"""The syntax tree of a Python function, and the places of its parts.

A function is found by the file and the line that its code names. Several lambdas on one line are told apart by the
columns of their instructions, which Python has from 3.11 on; before, by what each of them compiles to.
"""
from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import accumulate, islice
from types import CodeType, FunctionType

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.system.forking import cached_property

Function = ast.FunctionDef | ast.Lambda
IN_ORDER = "a function that calls it with its arguments in order, def f(x): ..., can be a body"
MARK = "<the body of a lambda>"
MORE = CO_VARARGS | CO_VARKEYWORDS


@dataclass(frozen=True, eq=False)
class Written:
    """A function as it is written: its tree, and the text that it stands in. `starts` has where lines begin."""
    tree: Function
    source: Source
    starts: tuple[int, ...]

    @property
    def parameters(self) -> list[str]:
        return [parameter.arg for parameter in (*self.tree.args.posonlyargs, *self.tree.args.args)]

    @property
    def beyond_order(self) -> str:
        """What keeps the function from being given its arguments in order, as messages say it; '' if nothing does."""
        given = self.tree.args
        if more := given.vararg or given.kwarg:
            return f"{'*' if given.vararg else '**'}{more.arg} takes any number of them"
        named = [one.arg for one, default in zip(given.kwonlyargs, given.kw_defaults) if default is None]
        return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} given by name only" if named else ""

    @cached_property
    def outer_texts(self) -> list[tuple[str, ast.AST]]:
        """The names that the function reads outside, and their attributes, each once."""
        found: dict[str, ast.AST] = {}
        for node in read_outside(self.tree, frozenset()):
            found.setdefault(ast.unparse(node), node)
        return list(found.items())

    @cached_property
    def read(self) -> list[str]:
        """The names that the function reads outside."""
        return list(dict.fromkeys([root(node) for _, node in self.outer_texts]))

    def span(self, node: ast.AST) -> Span:
        """Return the place of a part of the function."""
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)       # type: ignore[attr-defined]
        return Span(self.source, *[place_of(self.source.text, self.starts, *end) for end in ends])


def read_outside(node: ast.AST, own: frozenset[str]) -> Iterator[ast.AST]:
    """Yield the names, and their attributes, that the tree reads and that are not its `own`. Functions and
    comprehensions have names of their own."""
    match node:
        case ast.FunctionDef() | ast.Lambda():
            for default in (*node.args.defaults, *[one for one in node.args.kw_defaults if one is not None]):
                yield from read_outside(default, own)
            taken = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            body: list[ast.AST] = [*node.body] if isinstance(node, ast.FunctionDef) else [node.body]
            within = own | taken | {name for part in body for name in names_set(part)}
            for statement in body:
                yield from read_outside(statement, within)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from read_outside(node.generators[0].iter, own)
            within = own | {name for one in node.generators for name in names_set(one.target)}
            elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            conditions = [test for one in node.generators for test in one.ifs]
            for inner in (*elements, *conditions, *[one.iter for one in node.generators[1:]]):
                yield from read_outside(inner, within)
        case ast.Name() | ast.Attribute() if root(node):
            if root(node) not in own and isinstance(node.ctx, ast.Load):
                yield node
                if isinstance(node, ast.Attribute):
                    yield from read_outside(node.value, own)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from read_outside(child, own)


def in_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the tree's parts, but not those whose names are their own: comprehensions and functions within it."""
    yield node
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
            yield from in_scope(part)


def names_set(node: ast.AST) -> set[str]:
    """Return the names that the tree sets."""
    return {part.id for part in in_scope(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def root(node: ast.AST) -> str:
    """Return the name that an attribute's chain begins with; '' if it begins with none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def written(function: FunctionType) -> Written:
    """Return the function as it is written; raise NessieError where its text cannot be found."""
    code = function.__code__
    return written_code(code, code.co_filename, function.__name__)


@lru_cache(maxsize=1000)
def written_code(code: CodeType, file: str, name: str) -> Written:
    """Codes of two files may be equal, so the file is a parameter."""
    try:
        return written_now(code, file, name)
    except NessieError:
        linecache.checkcache(file)                  # it may have changed, and been loaded again
        return written_now(code, file, name)


def written_now(code: CodeType, file: str, name: str) -> Written:
    """Return the function by the text that Python has of the file now."""
    lines = lines_of(code)
    if not lines:
        raise without_text(file, name)
    text = "".join(lines)
    found = [tree for tree in functions_of(text) if is_of(tree, code, name)]
    if len(found) > 1:
        found = [tree for tree in found if (holds_all(tree, code) if any(instructions(code)) else
                                            code_of(tree, text) == code)] or found
        found = found[:1] if len({ast.dump(tree) for tree in found}) == 1 else found
    if not found and file.startswith("<"):          # another text of this name is known
        raise without_text(file, name)
    if len(found) != 1:
        what = "is not where its code says; has the file changed?" if not found else \
            "cannot be told from another on its line: write them on lines of their own"
        raise NessieError(f"{called(name)} {what}")
    if not any([same_code(other, code) for other in codes_of(text)]):
        raise NessieError(f"{called(name)} is not what {shown_path(file)} says: the file has changed since "
                          "it was loaded", hint="load it again")
    return Written(found[0], Source(shown_path(file), text), starts_of(lines))


def without_text(file: str, name: str) -> NessieError:
    return NessieError(f"the text of {called(name)} is not known: it was made in {file}",
                       hint="write it in a file, or in a cell of a notebook; from 3.13 on, Python also keeps what is "
                            "typed at its prompt or behind -c")


def lines_of(code: CodeType) -> list[str]:
    """Return the lines of the file, or of what was typed, in which the code is; none if Python has not kept them."""
    lines = linecache.getlines(code.co_filename)
    typed = getattr(linecache, "_getlines_from_code", None)         # from 3.14 on, these are kept by their code
    return lines or (typed(code) if typed is not None else [])


def place_in(code: CodeType, instruction: int) -> Span | None:
    """Return where an instruction of the code is written; None if that is not known."""
    lines = lines_of(code)
    text, starts = "".join(lines), starts_of(lines)
    found = next(islice(instructions(code), instruction // 2, None), None) or place_by_line(code, instruction, text)
    first, last, column, end = found
    if first is None or last is None or column is None or end is None or last > len(lines):
        return None
    return Span(Source(shown_path(code.co_filename), text), place_of(text, starts, first, column),
                place_of(text, starts, last, end))


def instructions(code: CodeType) -> Iterable[tuple[int | None, ...]]:
    """Return where the code's instructions are written: their lines, and the columns. Python before 3.11 has none."""
    found: Iterable[tuple[int | None, ...]] = getattr(code, "co_positions", tuple)()
    return found


def place_by_line(code: CodeType, instruction: int, text: str) -> tuple[int | None, ...]:
    """Return the place of an instruction of which only the line is known: the body of its lambda, if that is on the
    line, or all of the line."""
    line = next((line for start, end, line in code.co_lines() if start <= instruction < end), None)
    lines = text.splitlines()
    if line is None or line > len(lines):
        return (None,) * 4
    found = [tree for tree in functions_of(text) if isinstance(tree, ast.Lambda) and is_of(tree, code, code.co_name)]
    if len(found) > 1:
        found = [tree for tree in found if code_of(tree, text) == code]
    if len(found) == 1 and found[0].body.lineno == line:
        body = found[0].body
        return body.lineno, body.end_lineno, body.col_offset, body.end_col_offset
    whole = lines[line - 1]
    return line, line, len(whole) - len(whole.lstrip()), len(whole.rstrip().encode())


def place_of(text: str, starts: Sequence[int], line: int, column: int) -> int:
    """Return the place in the text of a column, which Python counts in bytes."""
    start = starts[line - 1]
    written = text[start:starts[line]]
    return start + (column if written.isascii() else len(written.encode()[:column].decode()))


def starts_of(lines: Sequence[str]) -> tuple[int, ...]:
    """Return where lines begin, and where the last one ends."""
    return tuple(accumulate(map(len, lines), initial=0))


def called(name: str) -> str:
    return "the lambda" if name == "<lambda>" else f"the function {name}"


def shown_path(path: str) -> str:
    """Return the file as messages name it: from here, where it lies below."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith("..") else relative


@lru_cache(maxsize=200)
def functions_of(text: str) -> tuple[Function, ...]:
    try:
        return tuple([node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.Lambda)])
    except SyntaxError:                 # it has changed since it was loaded
        return ()


@lru_cache(maxsize=200)
def codes_of(text: str) -> tuple[CodeType, ...]:
    """Return the code of all functions in the text, as Python compiles it now."""
    return tuple(all_codes(compile(text, "", "exec", dont_inherit=True)))


def all_codes(code: CodeType) -> list[CodeType]:
    """Return the code, and those in it."""
    found = [code]
    for one in found:                   # which grows meanwhile
        found += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
    return found


def same_code(a: CodeType, b: CodeType) -> bool:
    """Do they compute the same, and stand at the same line?"""
    def content(code: CodeType) -> tuple[object, ...]:
        constants = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
        return code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, constants
    return content(a) == content(b)


def is_of(tree: Function, code: CodeType, name: str) -> bool:
    """May this be the tree of the code?"""
    given = tree.args
    more = [one for one in (given.vararg, given.kwarg) if one is not None]
    taken = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)]
    count = code.co_argcount + code.co_kwonlyargcount + (code.co_flags & MORE).bit_count()
    if taken != list(code.co_varnames[:count]):
        return False
    if isinstance(tree, ast.Lambda):
        return name == "<lambda>" and tree.lineno <= code.co_firstlineno <= (tree.end_lineno or 0)
    return tree.name == name and code.co_firstlineno in [tree.lineno, *[d.lineno for d in tree.decorator_list]]


def holds_all(tree: Function, code: CodeType) -> bool:
    """Are these the places of the code's instructions?"""
    places = [place for place in positions(code) if place != (tree.lineno, 0)]
    body = tree.body if isinstance(tree, ast.Lambda) else tree
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return start in places and all([start <= place < end for place in places])


def code_of(tree: Function, text: str) -> CodeType | None:
    """Return the code of a lambda of the text, also where Python does not tell the places of instructions. It stands
    among all codes where that of another lambda at this place would: all before it are as they were."""
    class Marked(ast.NodeTransformer):
        def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
            if (node.lineno, node.col_offset) != (tree.lineno, tree.col_offset):
                return self.generic_visit(node)
            return ast.copy_location(ast.Lambda(node.args, ast.copy_location(ast.Constant(MARK), node.body)), node)
    marked = all_codes(compile(Marked().visit(ast.parse(text)), "", "exec", dont_inherit=True))
    at = next((k for k, code in enumerate(marked) if MARK in code.co_consts), None)
    return None if at is None else codes_of(text)[at]


def positions(code: CodeType) -> Iterator[tuple[int, int]]:
    """Yield where the code's instructions begin: lines and columns."""
    for line, _, column, _ in instructions(code):
        if line is not None and column is not None:
            yield line, column
