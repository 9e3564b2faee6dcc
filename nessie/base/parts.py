"""The parts of one kind that nodes have: read, changed and walked over alike in every form.

    EXPRESSIONS = Parts[Exp]("Exp", through=("Generator",), order={Each: ("generators", "filter", "body")})
    EXPRESSIONS.of(node)              its expressions, in order
    EXPRESSIONS.map(node, change)     the node with each of them changed
    EXPRESSIONS.inside(node)          the node, its expressions, theirs and so on; of several nodes one after the other

A node's parts are the fields that are annotated with the kind's name: `Exp`, `Exp | None`, `tuple[Exp, ...]`; in the
order of the class, or in `order`. A field annotated with a name of `through` has the parts of the nodes that it holds.
So a class of nodes says by its fields, once, which parts it has.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields
from operator import attrgetter, is_
from typing import Any, Generic, TypeVar

P = TypeVar("P")
N = TypeVar("N")

ONE, MAYBE, MANY = "one", "maybe", "many"
FORMS = {ONE: "{}", MAYBE: r"{} \| None", MANY: r"tuple\[{}, \.\.\.\]"}


def updated(node: N, **parts: Any) -> N:
    """The node with these parts; the same object where it has them already: so passes see what they left."""
    held = vars(node)
    for name, part in parts.items():
        if held[name] is not part and not same(held[name], part):
            return type(node)(**{**held, **parts})      # what `replace` does, sooner
    return node


def same(a: object, b: object) -> bool:
    """One object, or the same objects in a tuple."""
    return a is b or (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(is_, a, b)))


def nothing(node: object) -> tuple[()]:
    """The parts of nodes that have none."""
    return ()


class Parts(Generic[P]):
    """The parts of one kind: of the fields annotated with one of these names."""

    def __init__(self, *kinds: str, through: Collection[str] = (),
                 order: Mapping[type, tuple[str, ...]] | None = None) -> None:
        self.kinds = kinds
        self.through = through
        self.order = order or {}
        self.fields: dict[type, tuple[tuple[str, str, bool], ...]] = {}
        self.readers: dict[type, Callable[[Any], tuple[P, ...]]] = {}
        self.names: dict[type, tuple[str, ...]] = {}

    def of(self, node: object) -> tuple[P, ...]:
        """The node's parts of this kind, in order of evaluation."""
        kind = type(node)
        reader = self.readers.get(kind)
        if reader is None:
            reader = self.readers[kind] = self.reader(kind)
        return reader(node)

    def map(self, node: N, change: Callable[[P], P]) -> N:
        """The node with each part changed, in order; the same object where nothing changes."""
        parts = self.of(node)
        if not parts:
            return node
        changed = tuple([change(part) for part in parts])
        return node if all(map(is_, parts, changed)) else self.with_parts(node, iter(changed))

    def with_parts(self, node: N, parts: Iterator[P]) -> N:
        """The node with the next of these as its parts."""
        values = {name: getattr(node, name) for name in self.names_of(type(node))}
        for name, form, through in self.fields_of(type(node)):
            value = values[name]
            items = value if form == MANY else () if value is None else (value,)
            new = tuple([self.with_parts(item, parts) if through else next(parts) for item in items])
            values[name] = new if form == MANY else new[0] if new else None
        return type(node)(**values)

    def inside(self, *nodes: P) -> Iterator[P]:
        """The nodes and all in them, each before its parts, in order."""
        waiting = [*nodes[::-1]]
        readers, of = self.readers, self.of
        while waiting:
            node = waiting.pop()
            yield node
            reader = readers.get(type(node), of)
            if reader is not nothing:
                waiting += reader(node)[::-1]

    def names_of(self, kind: type) -> tuple[str, ...]:
        """The names of all fields of a class."""
        found = self.names.get(kind)
        if found is None:
            found = self.names[kind] = tuple([field.name for field in fields(kind)])
        return found

    def fields_of(self, kind: type) -> tuple[tuple[str, str, bool], ...]:
        """The fields that hold parts: name, ONE, MAYBE or MANY, and whether the parts are those of what it holds."""
        found = self.fields.get(kind)
        if found is None:
            forms = [(field.name, *self.form(str(field.type))) for field in fields(kind)]
            named = {name: (name, form, through) for name, form, through in forms if form is not None}
            found = self.fields[kind] = tuple([named[name] for name in self.order.get(kind, named)])
        return found

    def form(self, annotation: str) -> tuple[str | None, bool]:
        for names, through in ((self.kinds, False), (self.through, True)):
            for form, pattern in FORMS.items():
                if any(re.fullmatch(pattern.format(re.escape(name)), annotation) for name in names):
                    return form, through
        return None, False

    def reader(self, kind: type) -> Callable[[Any], tuple[P, ...]]:
        """The function behind `of` for nodes of a class, a fast one where the fields hold the parts themselves."""
        held = self.fields_of(kind)
        names = [name for name, _, _ in held]
        if not held:
            return nothing
        if all([form == ONE and not through for _, form, through in held]):
            get: Callable[[Any], Any] = attrgetter(*names)
            return get if len(names) > 1 else lambda node: (get(node),)
        if len(held) == 1 and held[0][1:] == (MANY, False):
            return attrgetter(names[0])
        written = ", ".join([self.written(*field) for field in held])
        made: Callable[[Any], tuple[P, ...]] = eval(f"lambda node: ({written},)", {"parts": self.parts_of_field})
        return made

    def written(self, name: str, form: str, through: bool) -> str:
        """The parts of a field as Python's text."""
        if through:
            return f"*parts(node.{name}, {form!r})"
        return {ONE: f"node.{name}", MANY: f"*node.{name}",
                MAYBE: f"*(() if node.{name} is None else (node.{name},))"}[form]

    def parts_of_field(self, value: Any, form: str) -> list[P]:
        """The parts of what a field holds."""
        items = value if form == MANY else () if value is None else (value,)
        return [part for item in items for part in self.of(item)]
