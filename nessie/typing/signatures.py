"""Converts types as programs write them to types."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from nessie.base.source import NessieError, Span
from nessie.base.text.nearest import nearest
from nessie.base.text.types_text import BASES, IN_LIBRARY
from nessie.base.types import CLASSES, Data, Fun, Pair, Seq, Type
from nessie.syntax import nodes as syntax
from nessie.typing.environment import Environment


def places(span: Span | None, label: str) -> tuple[tuple[Span, str], ...]:
    return ((span, label),) if span else ()


def context_classes(contexts: tuple[syntax.Context, ...]) -> dict[str, str]:
    """Return the classes of the variables that a context declares."""
    classes: dict[str, str] = {}
    for context in contexts:
        if context.cls not in CLASSES:
            raise NessieError(f"{context.cls} is not a type class", *places(context.span, ""),
                              hint=f"the classes are {', '.join(CLASSES)}")
        classes[context.variable] = context.cls
    return classes


def names_in(written: syntax.TypeExp) -> set[str]:
    """Return the names of types and variables in the written type."""
    match written:
        case syntax.TypeName(name, arguments):
            return {name}.union(*map(names_in, arguments))
        case syntax.TypeSeq(element):
            return names_in(element)
        case syntax.TypePair(first, second) | syntax.TypeFun(first, second):
            return names_in(first) | names_in(second)
    raise TypeError(written)


def to_type(written: syntax.TypeExp, variables: dict[str, Type], environment: Environment,
            identity: Callable[[], Type] | None) -> Type:
    """Convert the written type; `variables` gives the types of its variables, `identity` makes the identity of a
    function type (None: function types are not allowed here)."""
    match written:
        case syntax.TypeSeq(element):
            return Seq(to_type(element, variables, environment, identity))
        case syntax.TypePair(first, second):
            return Pair(to_type(first, variables, environment, identity),
                        to_type(second, variables, environment, identity))
        case syntax.TypeFun(argument, result):
            if identity is None:
                raise NessieError("a function type cannot stand here", *places(written.span, ""))
            return Fun(to_type(argument, variables, environment, identity),
                       to_type(result, variables, environment, identity), identity())
        case syntax.TypeName():
            return named_type(written, variables, environment, identity)
    raise TypeError(written)


def concrete_type(written: syntax.TypeExp, environment: Environment) -> Type:
    """Convert the written type of a value. It has no variables, and is no function's."""
    for name in names(written):
        if len(name.name) == 1 and name.name not in BASES and environment.lookup(name.name) is None:
            raise NessieError(f"there is no type {name.name}", *places(name.span, ""),
                              hint=f"give a type without variables: {example(written)}, say")
    return to_type(written, {}, environment, None)


def example(written: syntax.TypeExp) -> str:
    """The text of the type, with int for each type variable."""
    if written.span is None:
        return "int"
    text, start = written.span.source.text, written.span.start
    parts = []
    for name in sorted([name.span for name in names(written) if len(name.name) == 1 and name.span is not None],
                       key=lambda span: span.start):
        parts += [text[start:name.start], "int"]
        start = name.end
    return "".join(parts) + text[start:written.span.end]


def named_type(written: syntax.TypeName, variables: dict[str, Type], environment: Environment,
               identity: Callable[[], Type] | None) -> Type:
    name, arguments = written.name, written.arguments
    known = variables.get(name) or (IN_LIBRARY if environment.in_library else BASES).get(name)
    if known is not None:
        if arguments:
            raise NessieError(f"the type {name} takes no arguments", *places(written.span, ""))
        return known
    entry = environment.lookup(name)
    if entry is None or entry.kind != "constructor":
        raise unknown_type(written, environment)
    count = len(entry.scheme.variables)
    if len(arguments) != count:
        raise NessieError(f"the datatype {name} takes {count} type{'s' if count != 1 else ''}, not {len(arguments)}",
                          *places(written.span, ""), *[(span, "declared here") for span in entry.origin[:1]])
    return Data(entry.name, tuple([to_type(a, variables, environment, identity) for a in arguments]))


def names(written: syntax.TypeExp) -> Iterator[syntax.TypeName]:
    """Yield the names in a type."""
    match written:
        case syntax.TypeSeq(element):
            yield from names(element)
        case syntax.TypePair(first, second) | syntax.TypeFun(first, second):
            yield from names(first)
            yield from names(second)
        case syntax.TypeName():
            yield written
            for argument in written.arguments:
                yield from names(argument)


def unknown_type(written: syntax.TypeName, environment: Environment) -> NessieError:
    """Return the error for a name that no type has."""
    if len(written.name) == 1:
        hint = f"a type variable needs a class: {written.name} in any, after ::"
    else:
        entries = {name: environment.lookup(name) for name in environment.names()}
        types = [name for name, entry in entries.items() if entry and entry.kind == "constructor"]
        near = nearest(written.name, [*BASES, *types])
        hint = ("a string is [char]" if written.name in ("str", "string", "text") else
                f"did you mean {near}?" if near else "")
    return NessieError(f"there is no type {written.name}", *places(written.span, ""), hint=hint)
