"""The validator of syntax trees. It checks what the parser promises:

  - names are folded to lower case, and none is a constant (t, f) or a word of the grammar;
  - operators are those of the language;
  - a sequence has elements, a let bindings, an apply-to-each generators; only a lone name has no source;
  - a pattern binds each name once; only a function's parameters have defaults, which are constants;
  - a forward declaration has a signature, whose type is that of a function.

Raises IllFormed with the node's text in it; never repairs anything.
"""
from __future__ import annotations

from nessie.base.source import IllFormed
from nessie.syntax import nodes as syntax
from nessie.syntax import text as syntax_text
from nessie.syntax.lexer import WORDS
from nessie.syntax.patterns import is_constant, names
from nessie.syntax.walk import EXPRESSIONS


def check(program: syntax.Program) -> None:
    for form in program.forms:
        check_form(form)


def check_form(form: syntax.TopLevel) -> None:
    match form:
        case syntax.FunctionDef(name, parameter, signature, _, body):
            check_name(name)
            check_pattern(parameter, True)
            require(body is not None or signature is not None, "a forward declaration has a signature", name)
            require(signature is None or isinstance(signature.type, syntax.TypeFun),
                    "a function's signature has an arrow", name)
            check_expression(body)
        case syntax.DatatypeDef(name):
            check_name(name)
        case syntax.Assign(pattern, value) | syntax.FileVariable(pattern, value):
            check_pattern(pattern)
            check_expression(value)
        case syntax.Background(name, value, options):
            check_name(name)
            for part in (value, *options):
                check_expression(part)
        case syntax.Evaluate(value):
            check_expression(value)


def check_expression(exp: syntax.Exp | None) -> None:
    for node in EXPRESSIONS.inside(exp) if exp is not None else ():
        check_node(node)


def check_node(exp: syntax.Exp) -> None:
    match exp:
        case syntax.Name(name) | syntax.Default(name):
            check_name(name)
        case syntax.Unary(op):
            require(op in ("-", "#", "@"), "an operator is one of the language", op)
        case syntax.Binary(op):
            require(op in syntax_text.POWER, "an operator is one of the language", op)
        case syntax.Lambda(pattern):
            check_pattern(pattern)
        case syntax.Let(bindings):
            require(bool(bindings), "a let has bindings", "let in")
            for binding in bindings:
                check_pattern(binding.pattern)
        case syntax.Sequence(elements):
            require(bool(elements), "a sequence literal has elements", "[]")
        case syntax.Each(_, generators):
            require(bool(generators), "an apply-to-each has generators", "{}")
            for generator in generators:
                check_pattern(generator.pattern)
                alone = isinstance(generator.pattern, syntax.NamePattern)
                require(alone or generator.source is not None, "only a name stands for its own source",
                        syntax_text.show_pattern(generator.pattern))


def check_pattern(pattern: syntax.Pattern, parameters: bool = False) -> None:
    bound: set[str] = set()
    for name in names(pattern):
        check_name(name.name)
        require(name.name not in bound or name.name == "_", "a pattern binds each name once", name.name)
        require(parameters or name.default is None, "only a function's parameters have defaults", name.name)
        require(name.default is None or is_constant(name.default), "a default is a constant", name.name)
        bound.add(name.name)


def check_name(name: str) -> None:
    require(name.isidentifier() and name == name.lower() and name not in WORDS, "a name is one in lower case", name)


def require(holds: bool, invariant: str, where: str) -> None:
    if not holds:
        raise IllFormed(f"{invariant}: {where}")
