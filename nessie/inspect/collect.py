"""Collects the data of the inspector's page, in a form that JSON can hold.

    spans       the expressions of the source: [start, end] in its text, by number
    nodes       the launches and steps of all dependence graphs, by number, with their origins
    stages      the forms, each a text and its marks
    schedules   for each way to fuse, its cost and the graphs' drawings
    measured    what each kernel took, with its nodes, if a run of it was measured

A mark is [start, end, spans, calls, nodes, label]: the origins of a piece of text (nessie.inspect.origins), and the
name that a reader would look for.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nessie import driver, forms, pipeline
from nessie.base.records import dataclass
from nessie.base.source import Source, Unsupported, UsageError
from nessie.base.system.forking import cached_property
from nessie.base.text.layout import HARD, Shown, join, render_marked
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.inspect.measured import Measured, as_data, text_with_marks
from nessie.inspect.notes import notes_of
from nessie.inspect.origins import Nodes, Sources
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.passes.specialise_sites import specialise_sites
from nessie.lambda_cu.text.printer import show_bind, show_statement, show_type
from nessie.mono import nodes as mono
from nessie.schedule.draw import view
from nessie.schedule.explain.explain import explain
from nessie.schedule.explain.json import pair_json
from nessie.schedule.explain.notes_text import place_of, sections
from nessie.schedule.graph.graph import regions_with_graphs
from nessie.schedule.graph.nodes import Graph, Index, space_size
from nessie.schedule.graph.regions import steps_of
from nessie.schedule.nodes import NEVER, Pair, RegionSchedule, Schedule
from nessie.schedule.schedule import MODES
from nessie.typing import nodes as typed

Mark = tuple[int, int, list[int], list[int], list[int], str]

BEFORE_FUSING = (forms.TEXT, forms.SYNTAX, forms.TYPED, forms.MONO, forms.FLAT)
TITLES = {"source": "the program as it was written", "typed": "every type, every name resolved",
          "mono": "one copy of each function for each use; calls inlined", "flat": "kernels of one combinator each",
          "graph": "what depends on what, and what shares a kernel", "schedule": "the kernels, and all verdicts",
          "fused": "the kernels as they run", "notes": "functions, groups, lengths, borders",
          "measured": "what each kernel took, beside what was predicted",
          "loops": "the kernels' code", "llvm": "for the CPU", "cuda": "for GPUs"}


def collect(job: pipeline.Job, start: forms.Form[Any], source: Source, program: Any,
            measured: Measured | None = None) -> dict[str, Any]:
    """The data for all stages of the program, from its form `start` on."""
    if start not in BEFORE_FUSING:
        raise UsageError(f"a {start.name} program is fused already; inspect shows those that come before: "
                         f"{', '.join(form.name for form in BEFORE_FUSING)}")
    return collection(job, start, source, program, measured).data()


def collection(job: pipeline.Job, start: forms.Form[Any], source: Source, program: Any,
               measured: Measured | None) -> Collection:
    return Collection(job, source, driver.run_through(job, start, program, pipeline.pass_named("fuse")), measured)


def one_pass(job: pipeline.Job, name: str, form: forms.Form[Any], program: Any) -> Any:
    """The result of one pass on a program."""
    return next(driver.steps(job, form, program, (pipeline.pass_named(name),))).program


OPERATIONS = {                          # what the nodes of the graphs do
    "MAP": "computes each element by itself",
    "REDUCE": "combines all elements to one", "SEG_REDUCE": "combines the elements of each row to one",
    "SCAN": "combines, for each element, those before it", "SEG_SCAN": "the same in each row",
    "FILTER": "keeps the elements for which a test holds", "SEG_FILTER": "the same in each row",
    "ONCE": "computes scalars, in one thread",
    "PARTITION": "puts the elements for which a test holds before the others",
    "PERMUTE": "writes elements to places that are computed",
    "HOST": "works on single numbers, outside of kernels",
}


class Collection:
    """The collection of the page's data from the forms of a program, `made`."""

    def __init__(self, job: pipeline.Job, source: Source, ran: Mapping[str, driver.PassResult],
                 measured: Measured | None = None) -> None:
        self.job, self.ran, self.made, self.measured = job, ran, driver.made(ran.values()), measured
        self.flat, self.fused = self.made[forms.FLAT], self.made[forms.FUSED]
        self.graphs: Sequence[Graph] = one_pass(job, "graph", forms.FLAT, self.flat)
        self.sources, self.nodes = Sources(), Nodes(self.graphs)
        self.generated: dict[str, Generated] = {}           # by target
        self.sources.add(source)
        clusters = self.clusters(self.made[forms.SCHEDULE])
        self.nodes.clusters = {number: members for members in clusters for number in members}

    def data(self, wanted: Container[str] = tuple(TITLES), details: bool = True) -> dict[str, Any]:
        """The data with the texts of the wanted stages; others have none. Without `details`, it leaves out what takes
        as long again as all else: the nodes' bindings, the other schedules, why two nodes are apart and at what
        price."""
        nodes, schedules = self.node_data(details), self.schedules(details)
        makers = self.makers()
        stages = [makers[name]() if name in makers and name in wanted else stage(name, None, [])
                  for name in TITLES if name in (*makers, "source")]
        marks: list[Mark] = [(a, b, [number], [], [], "") for a, b, number in self.sources.nested()]
        stages[0] = stage("source", self.sources.text, marks)           # all that the others come from
        return {"entry": self.job.entry or self.flat.entry.function, "target": self.job.target, "mode": self.job.fuse,
                "file": next(iter(self.sources.starts)).name, "spans": list(self.sources.spans), "nodes": nodes,
                "stages": stages, "schedules": schedules, "operations": OPERATIONS,
                **({} if self.measured is None else {"measured": as_data(self.measured, self.by_kernel())})}

    # Stages -------------------------------------------------------------------------------------

    def makers(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """What makes each stage but the source."""
        nested = {form.name: partial(self.stage, form, self.made[form])
                  for form in (forms.TYPED, forms.MONO) if form in self.made}
        return {**nested, "flat": self.flat_stage, "graph": lambda: stage("graph", "", []),
                "schedule": lambda: self.stage(forms.SCHEDULE, self.made[forms.SCHEDULE], ScheduleMarks(self)),
                "fused": lambda: self.stage(forms.FUSED, self.fused, FlatMarks(self, self.fused, True)),
                "notes": self.notes, **({} if self.measured is None else {"measured": self.measured_stage}),
                **{name: partial(self.code, name) for name in ("loops", "llvm", "cuda")}}

    def flat_stage(self) -> dict[str, Any]:
        shared = one_pass(self.job, "share-sites", forms.FLAT, self.flat)
        return self.stage(forms.FLAT, shared, FlatMarks(self, shared, False))

    def by_kernel(self) -> dict[str, list[int]]:
        return FlatMarks(self, self.fused, True).by_kernel

    def measured_stage(self) -> dict[str, Any]:
        assert self.measured is not None
        text, parts = text_with_marks(self.measured, self.by_kernel())
        return stage("measured", text, [(start, end, [], [], of, "") for start, end, of in parts])

    def stage(self, form: forms.Form[Any], program: Any, marks: Marks | None = None) -> dict[str, Any]:
        text, shown = forms.show_marked(form, program)
        return stage(form.name, text, (marks or Marks(self)).of(text, shown))

    def notes(self) -> dict[str, Any]:
        """What there is to tell beside the schedule, each note marked with its place."""
        text, shown = render_marked(join(HARD, sections(notes_of(self.job, self.ran))))
        return stage("notes", text, NoteMarks(self).of(text, shown))

    # The graphs ---------------------------------------------------------------------------------

    def clusters(self, schedule: Schedule) -> Iterable[tuple[int, ...]]:
        """The nodes of each kernel."""
        for region in schedule.regions:
            for cluster in region.clusters:
                yield tuple(self.nodes.numbers[region.function, region.number, name] for name in cluster)

    def node_data(self, details: bool) -> list[dict[str, Any]]:
        """What the page shows of each node."""
        bindings = self.bindings if details else {}
        found = []
        for graph in self.graphs:
            index = Index(graph)
            for node in graph.nodes:
                spans, calls = self.sources.numbers(node.origin)
                results = [{"name": name, "type": show_type(index.types[name]), "bytes": index.bytes(name)}
                           for name in node.results if name != "_"]
                found.append({"name": node.name, "op": node.op, "function": graph.name, "region": graph.region,
                              "size": index.elements(space_size(node.space)), "spans": spans, "calls": calls,
                              "binding": bindings.get((graph.name, graph.region, node.name), ""), "results": results,
                              **({"by": node.by} if node.by else {})})
        return found

    @cached_property
    def bindings(self) -> dict[tuple[str, int, str], str]:
        """The text of each node: a kernel's binding, or a statement of the host."""
        flat = specialise_sites(self.flat)
        kernels = {kernel.name: kernel for kernel in flat.kernels}
        return {(region.function, region.number, step.name):
                show_bind(step.bind) if step.bind is not None else show_statement(step.statement)
                for region, _ in regions_with_graphs(flat, pipeline.profile(self.job), None, None)
                for step in steps_of(region, kernels).steps}

    def schedules(self, details: bool) -> list[dict[str, Any]]:
        """The schedules of each mode, as data; without `details` that of the job's own alone."""
        found = []
        for mode in reversed(MODES) if details else (self.job.fuse,):
            job = replace(self.job, fuse=mode, wishes=() if mode == "none" else self.job.wishes)
            made: Schedule = self.made[forms.SCHEDULE] if mode == self.job.fuse else \
                one_pass(job, "schedule", forms.FLAT, self.flat)
            reasons = self.explained if details else [{} for _ in self.graphs]
            regions = [self.region(graph, region, explained, mode == "ilp")
                       for graph, region, explained in zip(self.graphs, made.regions, reasons, strict=True)]
            found.append({"mode": mode, "regions": regions, "cost": sum(region.cost for region in made.regions),
                          "kernels": sum(kernel["launch"] is not None for region in regions
                                         for kernel in region["kernels"]),
                          "bytes": sum(region.bytes for region in made.regions),
                          "status": ", ".join(dict.fromkeys(region.status for region in made.regions))})
        return found

    @cached_property
    def explained(self) -> list[dict[tuple[str, str], dict[str, Any]]]:
        """For each graph, the pairs in the best schedule, with witnesses and prices."""
        return [{(pair.first, pair.second): pair_json(pair) for pair in region.pairs}
                for region in explain(self.graphs, pipeline.profile(self.job)).regions]

    def region(self, graph: Graph, region: RegionSchedule,
               explained: Mapping[tuple[str, str], dict[str, Any]], best: bool) -> dict[str, Any]:
        """The drawing of a region, with the numbers of its nodes and pairs. The explanations are those of the best
        schedule; the others have only the reasons why two nodes never share a kernel, which are the same in all."""
        data = view.data(graph, region)
        for node in data["nodes"]:
            node["id"] = self.nodes.numbers[graph.name, graph.region, node["name"]]
        for pair in data["pairs"]:
            pair["ids"] = [self.nodes.numbers[graph.name, graph.region, pair[end]] for end in ("first", "second")]
            found = explained.get((pair["first"], pair["second"]))
            if found is None:
                continue
            if best:
                pair.update(found)
            elif pair["verdict"] == NEVER == found["verdict"] and pair["reason"] == found["reason"]:
                pair["witness"] = found["witness"]
        del data["edges"]
        return data

    # Code ---------------------------------------------------------------------------------------

    def code(self, name: str) -> dict[str, Any]:
        """The loops for the job's target, or a target's own code."""
        from nessie.cudagen.cpu import llvm
        from nessie.cudagen.cuda import cuda
        from nessie.cudagen.loops import printer as loops_printer
        own = "cuda" if self.job.target in forms.WITHOUT_STACK else "cpu"
        of, document = {"loops": (own, loops_printer.document), "llvm": ("cpu", llvm.document),
                        "cuda": ("cuda", cuda.document)}[name]
        made = self.generated[of] = self.generated.get(of) or generate(self.job, self.fused, of)
        text, shown = render_marked(document(made.module))
        return stage(name, text, CodeMarks(self, made.owners).of(text, shown), "\n".join(made.refused))


def stage(name: str, text: str | None, marks: Sequence[Mark], note: str = "") -> dict[str, Any]:
    return {"name": name, "title": TITLES[name], "text": text, "marks": marks, "note": note}


@dataclass(frozen=True)
class Generated:
    """The code of a target. `owners`: the kernel that each function belongs to, by name; `refused`: the kernels that
    the target cannot run, with reasons."""
    module: Module
    owners: dict[str, str]
    refused: list[str]


def generate(job: pipeline.Job, fused: ir.Program, target: str) -> Generated:
    """The code of all kernels that the target can run."""
    from nessie.cudagen.kernels.scalar_functions import device_name
    from nessie.cudagen.loops.plan import Plan, reached
    functions: dict[str, loops.Function] = {}
    plans: list[Plan] = []
    shared = {device_name(f) for f in fused.scalar_functions}
    owners: dict[str, str] = {}
    refused: list[str] = []
    job = replace(job, target=target, dump=None)
    passes = tuple([ran for ran in pipeline.stages(job) if ran.name in ("generate", "unread")])
    for kernel in fused.kernels:
        try:
            *_, step = driver.steps(job, forms.FUSED, replace(fused, kernels=(kernel,), functions=()), passes)
            module = step.program
        except Unsupported as error:
            refused.append(f"{kernel.name}: {error.message}")
            continue
        functions.update({function.name: function for function in module.functions})
        plans += module.plans
        own = [name for plan in module.plans for name in reached(functions, plan) - shared]
        owners.update(dict.fromkeys([kernel.name, *own], kernel.name))
    return Generated(Module(tuple(functions.values()), tuple(plans)), owners, refused)


# Marks ----------------------------------------------------------------------------------------------


class Marks:
    """The marks of a nested form. The mark of a call is on its function, since that is what a reader points at."""

    def __init__(self, of: Collection) -> None:
        self.all = of
        self.calls: dict[int, typed.Apply] = {}         # by the identities of their functions

    def of(self, text: str, shown: Iterable[Shown]) -> list[Mark]:
        """The page's marks, without blanks at their ends. Marks without any information are left out."""
        found: list[Mark] = []
        for mark in shown:
            spans, calls, nodes = self.comes_from(mark.of)
            label = self.label(mark.of)
            if spans or nodes or label:
                piece = text[mark.start:mark.end]
                found.append((mark.start, mark.start + len(piece.rstrip()), spans, calls, nodes, label))
        return found

    def comes_from(self, part: Any) -> tuple[list[int], list[int], list[int]]:
        """The spans, calls and nodes that the part comes from. None for a let, which encloses all that follows it: only
        its value is worth a mark."""
        if isinstance(part, typed.Let | mono.Let):
            return [], [], []
        if isinstance(part, typed.Apply):
            self.calls[id(part.function)] = part
        return (*self.all.sources.numbers(getattr(self.calls.get(id(part), part), "origin", ())), [])

    def label(self, part: Any) -> str:
        return part.name if isinstance(part, typed.Function | typed.Datatype | mono.Function) else ""


class FlatMarks(Marks):
    """The marks of lambda_cu. After fusing, a merged kernel belongs to all its nodes. A binding belongs to the nodes
    whose results it has, and to those of which no binding is left."""

    def __init__(self, of: Collection, program: ir.Program, fused: bool) -> None:
        super().__init__(of)
        self.function = ""
        self.kernel: list[int] = []
        self.dissolved: list[int] = []
        self.by_kernel: dict[str, list[int]] = {}
        self.fused = fused
        for function in program.functions:
            for run in scope.statements(function.body):
                if isinstance(run, ir.Run):
                    self.by_kernel.setdefault(run.kernel, []).extend(self.made(function.name, run))

    def made(self, function: str, statement: ir.Statement) -> list[int]:
        nodes = self.all.nodes
        own = nodes.of_statement(function, (param.name for param in scope.results(statement)), statement.origin)
        return list(dict.fromkeys(other for number in own for other in nodes.clusters[number])) if self.fused else own

    def comes_from(self, part: Any) -> tuple[list[int], list[int], list[int]]:
        match part:
            case ir.Function(name):
                self.function = name
            case ir.Kernel(name):
                self.kernel = self.by_kernel.get(name, [])
                left = {made for bind in part.binds for made in bind.names}
                self.dissolved = [number for number in self.kernel if not self.all.nodes.results[number] & left]
                if self.kernel:
                    return [], [], self.kernel
            case ir.Bind(names) if self.kernel:
                return [], [], self.bound(names)
            case ir.Run() | ir.HostLet():
                if nodes := self.made(self.function, part):
                    return [], [], nodes
            case ir.Branch() | ir.Choose():     # it encloses its blocks
                return [], [], []
        return super().comes_from(part)

    def bound(self, names: Sequence[str]) -> list[int]:
        results = self.all.nodes.results
        return [n for n in self.kernel if n in self.dissolved or results[n].intersection(names)] or self.kernel

    def label(self, part: Any) -> str:
        return part.name if isinstance(part, ir.Kernel | ir.Function | ir.ScalarFunction) else ""


class ScheduleMarks(Marks):
    """The marks of a schedule, whose kernels and pairs are names of nodes of the region around them."""

    def comes_from(self, part: Any) -> tuple[list[int], list[int], list[int]]:
        names: Sequence[str] = ()
        match part:
            case RegionSchedule(function, number):
                self.function, self.region = function, number
            case Pair(first, second):
                names = first, second
            case _:
                names = part
        return [], [], [self.all.nodes.numbers[self.function, self.region, name] for name in names]

    def label(self, part: Any) -> str:
        return f"{part.function}, region {part.number}" if isinstance(part, RegionSchedule) else ""


class NoteMarks(Marks):
    """The marks of notes, each on its place in the source."""

    def comes_from(self, part: Any) -> tuple[list[int], list[int], list[int]]:
        place = place_of(part)
        return [] if place is None else [self.all.sources.span(place)], [], []


class CodeMarks(Marks):
    """The marks of code. A function belongs to a kernel, or is a scalar function of the program."""

    def __init__(self, of: Collection, owners: dict[str, str]) -> None:
        super().__init__(of)
        self.owners, self.by_kernel = owners, FlatMarks(of, of.fused, True).by_kernel

    def comes_from(self, part: Any) -> tuple[list[int], list[int], list[int]]:
        if part.name in self.owners:
            return [], [], self.by_kernel.get(self.owners[part.name], [])
        return super().comes_from(part)

    def label(self, part: Any) -> str:
        return self.owners.get(part.name) or str(part.name)
