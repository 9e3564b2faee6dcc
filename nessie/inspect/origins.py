"""The origins of a program's pieces for the page: expressions of the source, and nodes of the dependence graphs, by
number.

A piece of a nested form comes from an expression that the user wrote, and through the user's calls in which it was
inlined. A piece of a flat form comes from one node or, after fusing, several; other pieces there have expressions.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import Origin, Source, Span
from nessie.schedule.graph.nodes import Graph
from nessie.schedule.graph.regions import UNUSED

HEADING = "\n\n% {} %\n"                # before the text of a file that the program loads


@dataclass
class Sources:
    """The source texts of a program, concatenated, and the numbers of the expressions in them."""
    starts: dict[Source, int] = field(default_factory=dict)
    text: str = ""
    spans: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, source: Source) -> int:
        """The offset of the source in the text. Adds the source if it is new."""
        if source not in self.starts:
            heading = HEADING.format(source.name) if self.starts else ""
            self.starts[source] = len(self.text) + len(heading)
            self.text += heading + source.text
        return self.starts[source]

    def span(self, span: Span) -> int:
        first = self.add(span.source)
        return self.spans.setdefault((first + span.start, first + span.end), len(self.spans))

    def numbers(self, origin: Origin) -> tuple[list[int], list[int]]:
        """The numbers of the expression that the user wrote there, and of the user's calls that lead to it."""
        written = list(dict.fromkeys(self.span(span) for span in origin if not span.source.library))
        return written[:1], written[1:]

    def nested(self) -> list[tuple[int, int, int]]:
        """The spans as start, end and number, outer ones first. A span that begins inside another and ends beyond it is
        left out."""
        found: list[tuple[int, int, int]] = []
        around: list[int] = []
        for (start, end), number in sorted(self.spans.items(), key=lambda item: (item[0][0], -item[0][1])):
            while around and around[-1] <= start:
                around.pop()
            if start < end and not (around and end > around[-1]):
                found.append((start, end, number))
                around.append(end)
        return found


class Nodes:
    """The nodes of all graphs, numbered, with the names of their results. `by_result`: the node that makes a name of a
    function; `by_origin`: the nodes without a named result; `clusters`: the nodes that share a node's kernel."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = graphs
        self.numbers: dict[tuple[str, int, str], int] = {}
        self.by_result: dict[tuple[str, str], int] = {}
        self.by_origin: dict[tuple[str, Origin], list[int]] = {}
        self.results: list[frozenset[str]] = []
        self.clusters: dict[int, tuple[int, ...]] = {}
        for graph in graphs:
            for node in graph.nodes:
                number = self.numbers[graph.name, graph.region, node.name] = len(self.numbers)
                self.results.append(frozenset(node.results) - {"_"})
                self.by_result.update({(graph.name, name): number for name in self.results[number]})
                if node.name.startswith(UNUSED):
                    self.by_origin.setdefault((graph.name, node.origin), []).append(number)

    def of_statement(self, function: str, names: Iterable[str], origin: Origin) -> list[int]:
        """The nodes of a statement, found by its results or, if it has none, by its origin."""
        used = [name for name in names if name != "_"]
        found = (self.by_result.get((function, name)) for name in used)
        return list(dict.fromkeys(number for number in found if number is not None)) if used \
            else self.by_origin.get((function, origin), [])
