"""What is told of the name, or the expression, at a place: its type, its documentation, what it costs, and the kernel
that it ends in; and what may be typed at a place.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.text.types_text import BASES, show_scheme
from nessie.base.types import show_type
from nessie.bounds.counting import bounds
from nessie.bounds.formulas import shown
from nessie.lsp.document import Document, binder_of, text_of, type_at, word_at
from nessie.lsp.kernels import Kernels, Placed, kernels, kernels_in
from nessie.session.describe import documentation, of_library
from nessie.syntax import nodes as syntax
from nessie.syntax.examples import comments
from nessie.syntax.lexer import WORDS
from nessie.syntax.patterns import names
from nessie.syntax.scopes import binders, body_of
from nessie.syntax.walk import EXPRESSIONS
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import is_operator

SHOWN = 4                       # kernels of a value that are named
KEYWORDS = tuple(word for word in WORDS if word not in ("t", "f"))


@dataclass(frozen=True)
class Told:
    """`title` is NESL, the lines are prose; `function`: the user's function whose work and depth may be told, too."""
    title: str
    lines: tuple[str, ...]
    span: Span
    function: str = ""


def told(known: Document, offset: int) -> Told | None:
    """What is told of the word at the offset."""
    word, good = word_at(known.source, offset), known.form_at(offset)
    if word is None or any(start <= offset < end for start, end in comments(known.source.text)):
        return None
    name = text_of(word).lower()
    entry = known.checked.environment.lookup(name)
    if name in KEYWORDS:
        return None
    if good is None or binder_of(good.form, word) is None:
        if entry is None:
            return None
        about = [line for line in documentation(known.checked.environment, entry).splitlines() if line]
        about += ["of the library"] if of_library(known.checked.environment, name) else []
        own = entry.kind == "function" and known.function(name) is not None
        costs = [*summary(kernels(known, name)[0]), *at_most(known, name)] if own else []
        here = where(known, word) if good and not own else []
        return Told(f"{name} : {show_scheme(entry.scheme.type)}", (*about, *costs, *here), word, name if own else "")
    type_ = type_at(known, good, word)
    title = name if type_ is None else f"{name} : {show_type(type_)}"
    return Told(title, tuple(where(known, word)), word)


def at_most(known: Document, name: str) -> list[str]:
    """What a call of a function costs at most, by the sizes of its arguments."""
    good = known.function(name)
    if good is None or not isinstance(good.definition, typed.Function):
        return []
    found = bounds(known.checked.environment, good.definition)
    if found.work is None and found.depth is None:
        return ["work and depth at most: unknown"]
    return [f"work at most {shown(found.work)}, depth at most {shown(found.depth)}"]


def summary(found: Kernels) -> list[str]:
    """How many kernels a function has."""
    if found.refused:
        return [f"no kernels: {found.refused}"]
    names = list(dict.fromkeys(node.kernel for node in found.nodes))
    at = f", for {found.type}" if found.type else ""
    return [f"{len(names)} kernel{'' if len(names) == 1 else 's'} on cpu{at}: {', '.join(names)}"] if names else \
        [f"no kernel on cpu{at}: the host, or who calls it, computes it"]


def where(known: Document, word: Span) -> list[str]:
    """The kernel that the value of the name, or the smallest expression around it, ends in."""
    form = known.form_at(word.start)
    if form is None or not isinstance(form.form, syntax.FunctionDef):
        return []
    placed = kernels(known, form.form.name)[1]
    binder = binder_of(form.form, word)
    values = [value for span, value in bindings(form.form) if binder and span == binder.span]
    own = [node for value in values for node in ends(placed, value)]
    around = sorted([node for node in placed if node.span.holds(word)], key=lambda one: one.span.end - one.span.start)
    nodes = own or (around[:1] if not values else [])
    return [f"kernel {node.kernel} of {form.form.name}: {node.op}, {node.name}" for node in nodes]


def ends(placed: Sequence[Placed], value: Span) -> list[Placed]:
    """The node that the value ends in: the last of those whose expression is all of it, else of those in it."""
    inside = kernels_in(placed, value)
    whole = [node for node in inside if node.span == value]
    return (whole or inside)[-1:]


def bindings(form: syntax.TopLevel) -> Iterator[tuple[Span, Span]]:
    """Yield the names that lets bind, and the values."""
    body = body_of(form)
    for exp in EXPRESSIONS.inside(body) if body is not None else ():
        if isinstance(exp, syntax.Let):
            for binding in exp.bindings:
                yield from ((leaf.span, binding.value.span) for leaf in names(binding.pattern)
                            if leaf.span and binding.value.span and leaf.name != "_")


def fused_groups(known: Document, form: syntax.FunctionDef) -> Iterator[tuple[Span, str]]:
    """Yield each name that a let of the function binds, and the kernels that compute its value: K1, K2; of many, how
    many."""
    bound = list(bindings(form))
    placed = kernels(known, form.name)[1] if bound else []
    for span, value in bound:
        if found := list(dict.fromkeys(node.kernel for node in kernels_in(placed, value))):
            yield span, ", ".join(found) if len(found) <= SHOWN else f"{len(found)} kernels"


# Completion -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Offer:
    """`kind`: variable, function, constructor, constant, keyword or type."""
    text: str
    kind: str
    type: str = ""
    doc: str = ""


def offers(known: Document, offset: int) -> list[Offer]:
    """What may be typed at the offset, what is nearest first."""
    found: dict[str, Offer] = {}
    form = known.form_at(offset) or known.last.get(function_before(known, offset))
    if form is not None:
        for binder in binders(form.form):
            found[binder.name] = Offer(binder.written, "variable")
    environment = known.checked.environment
    for name in environment.names():
        entry = environment.lookup(name)
        if entry is not None and not is_operator(name) and name not in found:
            kind = "function" if entry.kind == "primitive" else entry.kind
            found[name] = Offer(name, kind, show_scheme(entry.scheme.type), documentation(environment, entry))
    for word in WORDS:
        found.setdefault(word, Offer(word, "keyword"))
    for base in BASES:
        found.setdefault(base, Offer(base, "type"))
    return list(found.values())


def function_before(known: Document, offset: int) -> str:
    """The name of the function whose text, which may be bad, is at the offset."""
    text = known.source.text
    begins = max(text.rfind("\nfunction ", 0, offset) + 1, 0)
    words = text[begins:offset].split("(")[0].split()
    return words[1].lower() if len(words) > 1 and words[0] == "function" else ""
