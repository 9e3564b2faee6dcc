"""The fused kernels of a function: which one each expression of it ends in, by the schedule that it gets for its own
type. Where its type is open, the open parts are ints, or floats.

What was found for a function is kept, and told of the places where its text stands now.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from nessie import driver, forms, pipeline
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span, user_span
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.text.types_text import visible_variables
from nessie.base.types import FLOAT, INT, Fun, Type, show_type, substitute
from nessie.lsp.document import Document, text_of
from nessie.schedule.explain.code import code_of, launches
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_program, parse_type
from nessie.syntax.patterns import names
from nessie.syntax.scopes import uses

SECONDS = 5.0                   # for compiling a function: somebody waits who only looks
NUMBERS = ("number", "ordinal", "any")
FUSE = pipeline.pass_named("fuse")


@dataclass(frozen=True)
class Node:
    """A node of the kernel that is called so; `form`, `start` and `end`: where its expression is, in which of the
    texts."""
    kernel: str
    name: str
    op: str
    form: int
    start: int
    end: int


@dataclass(frozen=True)
class Kernels:
    """The nodes of a function's kernels, at the type that they were made for; or why there are none."""
    nodes: tuple[Node, ...] = ()
    type: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Placed:
    """A node of a kernel, and where its expression stands now."""
    kernel: str
    name: str
    op: str
    span: Span


def kernels(known: Document, name: str) -> tuple[Kernels, list[Placed]]:
    """The kernels of a function of the text."""
    needed = reachable(known, name)
    good = known.function(name)
    if good is None or good.entry is None or not isinstance(good.entry.scheme.type, Fun):
        return Kernels(refused="there is no such function"), []
    spans = [span for one in needed if (span := one.span)]
    found = compiled(tuple([text_of(span) for span in spans]), name, open_type(good.entry.scheme.type.argument))
    return found, [Placed(node.kernel, node.name, node.op, inside(spans[node.form], node)) for node in found.nodes]


def inside(form: Span, node: Node) -> Span:
    return Span(form.source, form.start + node.start, form.start + node.end)


def reachable(known: Document, name: str) -> list[syntax.TopLevel]:
    """The definitions that the function needs, in order, its own last. Variables are left out if it needs none."""
    defined = [good.form for good in known.checked.good if not isinstance(good.form, (syntax.Evaluate, syntax.Command))]
    wanted, found = {name}, list[syntax.TopLevel]()
    for form in reversed(defined):
        if isinstance(form, syntax.DatatypeDef) or not wanted.isdisjoint(names_of(form)):
            found.append(form)
            wanted.update(use.name for use in uses(form))
    return found[::-1]


def names_of(form: syntax.TopLevel) -> list[str]:
    match form:
        case syntax.FunctionDef(name):
            return [name]
        case syntax.Assign(pattern) | syntax.FileVariable(pattern):
            return [leaf.name for leaf in names(pattern)]
    return []


def open_type(argument: Type) -> str:
    """The type, with ints or floats for what is open in it; empty if nothing is."""
    variables = visible_variables(argument)
    closed = {v.name: INT if v.cls in NUMBERS else FLOAT for v in variables}
    return show_type(substitute(argument, dict(closed))) if variables else ""


@lru_cache(maxsize=200)
def compiled(texts: tuple[str, ...], name: str, argument: str) -> Kernels:
    """The kernels of the function that these forms define."""
    text = "".join(f"{form};\n" for form in texts)
    source = Source("program", text)
    starts = [sum(len(form) + 2 for form in texts[:at]) for at in range(len(texts))]
    try:
        made, graphs = run_deep(lambda: fused(source, name, argument), Deadline(SECONDS, ""))
    except NessieError as error:
        return Kernels(refused=error.message)
    launched, nodes = launches(made[forms.FUSED]), list[Node]()
    for graph, region in zip(graphs, made[forms.SCHEDULE].regions, strict=True):
        members = {node.name: node for node in graph.nodes}
        for kernel in region.clusters:
            code = code_of(kernel, graph, launched)
            for member in [members[name] for name in kernel]:
                place = user_span(member.origin)
                if code and place and place.source == source:
                    at = max([at for at, start in enumerate(starts) if start <= place.start])
                    nodes.append(Node(code, member.name, member.op, at, place.start - starts[at],
                                      place.end - starts[at]))
    return Kernels(tuple(nodes), argument)


def fused(source: Source, name: str, argument: str) -> tuple[dict[forms.Form[Any], Any], Any]:
    """The forms that the compiler makes of the function, up to its fused kernels, and its graphs."""
    program = parse_program(source)
    job = pipeline.Job(entry=name, target="cpu", strict=False, lengths=None if argument else lengths(program),
                       argument=parse_type(Source("type", argument)) if argument else None)
    made = driver.made(driver.run_through(job, forms.SYNTAX, program, FUSE).values())
    return made, driver.compile_program(job, forms.FLAT, made[forms.FLAT], pipeline.pass_named("graph"))


def lengths(program: syntax.Program) -> syntax.TypeExp | None:
    """The lengths that the last function's own type tells of its argument."""
    match program.forms[-1]:
        case syntax.FunctionDef(signature=syntax.Signature(type=syntax.TypeFun(argument))):
            return argument
    return None


def kernels_in(placed: Sequence[Placed], span: Span) -> list[Placed]:
    """The nodes whose expressions are in the span."""
    return [node for node in placed if span.holds(node.span)]
