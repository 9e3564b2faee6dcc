"""Programs of lambda_cu from text: the inverse of lambda_cu.text.printer, whose header shows the syntax.

Errors in the text are NessieErrors that show their place. That the program is well formed is lambda_cu.check's work;
only a kernel's result types, which are derived, are compared here with what the text says they are.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from nessie.base.source import Origin, Source, Span
from nessie.base.text.places import Places
from nessie.base.text.tokens import Token, Tokens
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.text import mapping
from nessie.lambda_cu.text.parser_expressions import (
    branches,
    constant,
    element_type,
    expression,
    layout,
    parse_exp,
    parse_thunk,
    scalar,
    type_,
    whole,
)
from nessie.lambda_cu.text.printer import kernel_types, show_type, tupled
from nessie.lambda_cu.text.printer_expressions import KEYWORDS
from nessie.lambda_cu.text.soacs import soac, space
from nessie.lambda_cu.typing import functions_of

__all__ = ["parse", "parse_exp", "parse_function", "parse_kernel", "parse_thunk"]

T = TypeVar("T")


def parse(text: str | Source, places: Places | None = None,
          sources: Mapping[str, Source] | None = None) -> ir.Program:
    """The program; `sources` are the texts, by name, that its sites point into."""
    tokens = Tokens(text, KEYWORDS, places)
    typed: list[tuple[ir.Kernel, tuple[ir.Type, ...], Token]] = []
    sites = many(tokens, "site", lambda: site(tokens, sources or {}))
    scalars = many(tokens, "scalar", lambda: scalar_function(tokens))
    tunables = many(tokens, "tunable", lambda: tunable(tokens))
    kernels = many(tokens, "kernel", lambda: kernel(tokens, typed))
    functions = many(tokens, "function", lambda: function(tokens))
    program = ir.Program(sites, scalars, kernels, functions, entry(tokens), tunables)
    tokens.finish()
    for parsed, written, place in typed:
        derived = kernel_types(parsed, functions_of(program))
        if derived not in (None, written):
            tokens.fail(f"{parsed.name} returns {tupled(map(show_type, derived or ()))}, which is not what it declares",
                        place)
    return program


def parse_kernel(text: str | Source) -> ir.Kernel:
    return whole(text, lambda tokens: kernel(tokens, []))


def parse_function(text: str | Source) -> ir.Function:
    return whole(text, function)


def many(tokens: Tokens, keyword: str, item: Callable[[], T]) -> tuple[T, ...]:
    items: list[T] = []
    while tokens.at(keyword):
        items.append(item())
    return tuple(items)


# Sites, entry, scalar functions -----------------------------------------------------------------


def site(tokens: Tokens, sources: Mapping[str, Source]) -> ir.Site:
    start = tokens.expect("site")
    name, message = tokens.name(), tokens.literal("string")
    element = tokens.accept("element")
    origin: list[Span] = []
    if tokens.accept("at"):
        origin.append(span(tokens, sources))
        while tokens.accept(","):
            origin.append(span(tokens, sources))
    return tokens.mark(start, ir.Site(name, message, origin=tuple(origin), element=bool(element)))


def span(tokens: Tokens, sources: Mapping[str, Source]) -> Span:
    library = tokens.accept("library") is not None
    name = tokens.literal("string")
    tokens.expect(":")
    at = tokens.current
    start = tokens.literal("int")
    tokens.expect("-")
    end = tokens.literal("int")
    if end < start:
        tokens.fail(f"a place ends behind its beginning, not at {end} before {start}", at)
    return Span(sources.get(name) or Source(name, "", library), start, end)


def tunable(tokens: Tokens) -> ir.Tunable:
    start = tokens.expect("tunable")
    name = tokens.name()
    tokens.expect(":")
    of = tokens.name("what the tunable is compared with")
    tokens.expect("=")
    return tokens.mark(start, ir.Tunable(name, of, tokens.literal("int")))


def entry(tokens: Tokens, before: tuple[str, ...] = ("site", "scalar", "tunable", "kernel", "function")) -> ir.Entry:
    """The last part of a program, and what may stand before it."""
    if not tokens.at("entry"):
        tokens.fail(f"one of {', '.join(before)}, in this order, or 'entry' is expected here")
    start = tokens.take()
    name = tokens.name()
    tokens.expect(":")
    if tokens.at("(") and tokens.follows(")"):
        tokens.take(), tokens.take()
        tokens.expect("->")
        return tokens.mark(start, ir.Entry(name, (), layout(tokens)))
    return tokens.mark(start, ir.Entry(name, tokens.listed(lambda: layout(tokens), "->"), layout(tokens)))


def scalar_function(tokens: Tokens) -> ir.ScalarFunction:
    start = tokens.expect("scalar")
    name = tokens.name()
    params, arrays = scalar_parameters(tokens)
    tokens.expect("->")
    results = tokens.listed(lambda: scalar(tokens), ")") if tokens.accept("(") else (scalar(tokens),)
    tokens.expect("{")
    body = expression(tokens)
    tokens.expect("}")
    return ir.ScalarFunction(name, params, results, body, arrays, origin=here(tokens, start))


def scalar_parameters(tokens: Tokens) -> tuple[tuple[ir.Param, ...], tuple[ir.Param, ...]]:
    """(x : int, xs : &[int]): the scalars and the arrays, which come last."""
    arrays: list[ir.Param] = []

    def one() -> ir.Param | None:
        start, name = tokens.current, tokens.name()
        tokens.expect(":")
        if arrays or tokens.at("&"):
            tokens.expect("&")
            tokens.expect("[")
            arrays.append(tokens.mark(start, ir.Param(name, element_type(tokens))))
            tokens.expect("]")
            return None
        return tokens.mark(start, ir.Param(name, type_(tokens)))

    tokens.expect("(")
    return tuple([param for param in tokens.listed(one, ")") if param is not None]), tuple(arrays)


# Kernels ----------------------------------------------------------------------------------------


def kernel(tokens: Tokens, typed: list[tuple[ir.Kernel, tuple[ir.Type, ...], Token]]) -> ir.Kernel:
    """The kernel; its result types, if they are written, go to `typed`."""
    start = tokens.expect("kernel")
    name, params = tokens.name(), parameters(tokens)
    place = tokens.current
    written = types(tokens) if tokens.accept("->") else None
    by = mapping(tokens) if tokens.accept("by") else None
    tokens.expect("{")
    binds = many(tokens, "let", lambda: bind(tokens))
    last = tokens.expect("return")
    returns = tokens.mark(last, tokens.listed(tokens.name, ")") if tokens.accept("(") else (tokens.name(),))
    tokens.expect("}")
    result = ir.Kernel(name, params, binds, returns, by, origin=here(tokens, start))
    if written is not None:
        typed.append((result, written, place))
    return result


def types(tokens: Tokens) -> tuple[ir.Type, ...]:
    return tokens.listed(lambda: type_(tokens), ")") if tokens.accept("(") else (type_(tokens),)


def bind(tokens: Tokens) -> ir.Bind:
    start = tokens.expect("let")
    names = tokens.listed(tokens.name, ")") if tokens.accept("(") else (tokens.name(),)
    tokens.expect("=")
    return ir.Bind(names, soac(tokens), origin=here(tokens, start))


# Host level -------------------------------------------------------------------------------------


def function(tokens: Tokens) -> ir.Function:
    start = tokens.expect("function")
    name, params = tokens.name(), parameters(tokens)
    tokens.expect("->")
    results = parameters(tokens)
    apart = tokens.name("the name of a function") if tokens.accept("apart") else ""
    over = segments(tokens) if tokens.accept("over") else None
    by = mapping(tokens) if tokens.accept("by") else None
    return ir.Function(name, params, results, block(tokens), apart, over, by, origin=here(tokens, start))


def segments(tokens: Tokens) -> ir.Segmented:
    start, found = tokens.current, space(tokens)
    if isinstance(found, ir.Flat):
        tokens.fail("a space with segments is expected here", start)
    return found


def block(tokens: Tokens) -> ir.Block:
    tokens.expect("{")
    found = many(tokens, "let", lambda: statement(tokens))
    start = tokens.expect("return")
    results = atoms(tokens) if tokens.at("(") else (atom(tokens),)
    tokens.mark(start, results)
    tokens.expect("}")
    return ir.Block(found, results)


def statement(tokens: Tokens) -> ir.Statement:
    start = tokens.expect("let")
    results = parameters(tokens) if tokens.at("(") else (parameter(tokens),)
    tokens.expect("=")
    if tokens.accept("run"):
        return ir.Run(results, tokens.name("the name of a kernel"), atoms(tokens), origin=here(tokens, start))
    if tokens.accept("call"):
        return ir.Call(results, tokens.name("the name of a function"), atoms(tokens), origin=here(tokens, start))
    if tokens.accept("perform"):
        return effect(tokens, results, start)
    if tokens.at("if"):
        return branch_or_let(tokens, results, start)
    if tokens.at("choose") and tokens.follows("{"):
        return choose(tokens, results, start)
    if len(results) != 1:
        tokens.fail("run, call, perform, choose or if is expected here")
    if tokens.accept("data"):
        tokens.expect("[")
        values = tokens.listed(lambda: constant(tokens).value, "]")
        return ir.Data(results[0], values, origin=here(tokens, start))
    return ir.HostLet(results[0], expression(tokens), origin=here(tokens, start))


def effect(tokens: Tokens, results: tuple[ir.Param, ...], start: Token) -> ir.Effect:
    name, arguments = tokens.name("the name of an effect"), atoms(tokens)
    tokens.expect(":")
    takes = layout(tokens)
    tokens.expect("->")
    return ir.Effect(results, name, arguments, takes, layout(tokens), origin=here(tokens, start))


def branch_or_let(tokens: Tokens, results: tuple[ir.Param, ...], start: Token) -> ir.Statement:
    """`if c { ... } else { ... }` has blocks; `if c then a else b` is an expression."""
    tokens.expect("if")
    place = tokens.current
    condition = expression(tokens)
    if not tokens.at("{"):
        if len(results) != 1:
            tokens.fail("a block is expected here")
        return ir.HostLet(results[0], branches(condition, tokens), origin=here(tokens, start))
    if not isinstance(condition, ir.Var | ir.Const):
        tokens.fail("the condition of a branch is a name or a constant", place)
    then = block(tokens)
    tokens.expect("else")
    return ir.Branch(results, condition, then, block(tokens), origin=here(tokens, start))


def choose(tokens: Tokens, results: tuple[ir.Param, ...], start: Token) -> ir.Choose:
    tokens.expect("choose")
    tokens.expect("{")
    cases: list[ir.Case] = []
    while not tokens.at("}"):
        at, name = tokens.current, tokens.name("the name of a version")
        condition = expression(tokens) if tokens.accept("if") else None
        cases.append(tokens.mark(at, ir.Case(name, condition, block(tokens))))
    tokens.expect("}")
    return ir.Choose(results, tuple(cases), origin=here(tokens, start))


def parameters(tokens: Tokens) -> tuple[ir.Param, ...]:
    tokens.expect("(")
    return tokens.listed(lambda: parameter(tokens), ")")


def parameter(tokens: Tokens) -> ir.Param:
    start, name = tokens.current, tokens.name()
    tokens.expect(":")
    return tokens.mark(start, ir.Param(name, "site" if tokens.accept("site") else type_(tokens)))


def atoms(tokens: Tokens) -> tuple[ir.Atom, ...]:
    tokens.expect("(")
    return tokens.listed(lambda: atom(tokens), ")")


def atom(tokens: Tokens) -> ir.Atom:
    start = tokens.current
    if tokens.accept("site"):
        return tokens.mark(start, ir.Const(tokens.name("a site"), "site"))
    return tokens.mark(start, ir.Var(tokens.name())) if tokens.at_name() else constant(tokens)


def here(tokens: Tokens, start: Token) -> Origin:
    return (tokens.span(start),)
