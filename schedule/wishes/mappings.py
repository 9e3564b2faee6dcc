"""Pass: lets mappings walk kernels, as users wish: `% level s by warp %`, `% map b by Jing %`, `--map b=Jing`, `% map b
case 2 by Jing %`.

  in    flat λcu, in which nothing is said of walks
  out   the same, in which kernels say `by` which mapping they are walked
  how   A name means nodes of a graph, as those of other wishes do (schedule.wishes.pairs); the kernels of these nodes
        get the mapping, each a copy of its own. A strategy becomes the mapping that it makes for the kernel's space.
        Wishes for cases of one kernel become one mapping, whose cases stand for partitions, which are made later
        (lambda_cu.borders.partitions)

A mapping changes no result, so only GPUs, whose threads it is about, are asked for it. Options come before pragmas.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import NessieError, Source, Span, excerpt, user_span
from nessie.base.source import places as shown_places
from nessie.base.text.places import Places
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.choice.others import NO_SEGMENTS, STRATEGIES, level_refused, possible
from nessie.lambda_cu.mappings.combinators import Unmappable
from nessie.lambda_cu.mappings.kernels import NO_TESTS, NoCase, extents_of, why_not, with_mapping
from nessie.lambda_cu.mappings.levels import OWNERS
from nessie.lambda_cu.mappings.owners import by_levels, is_of_owners
from nessie.lambda_cu.mappings.text import inside, parse_part
from nessie.lambda_cu.scope import map_runs, space_of, statements
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.graph import regions_with_graphs
from nessie.schedule.graph.nodes import HOST, Node
from nessie.schedule.wishes.asked import case_number
from nessie.schedule.wishes.offers import with_owners
from nessie.schedule.wishes.pairs import concerned, missing, named, place_of
from nessie.schedule.wishes.wishes import LEVEL, MAP, MAPPINGS, Wish, Wishes


def mappings(program: ir.Program, wishes: Wishes, profile: Profile) -> ir.Program:
    """Return the program in which the kernels, and the loops, that wishes name have mappings; an impossible wish is an
    error."""
    program, loops = with_owners(program, wishes, of_owners(wishes.wanted))
    return with_mappings(program, found) if (found := wished(program, wishes, profile, loops)) else program


def of_owners(wishes: Iterable[Wish]) -> dict[Wish, maps.Levels]:
    """The wishes for owners of segments, with their mappings."""
    found: dict[Wish, maps.Levels] = {}
    for wish in wishes:
        if wish.kind == LEVEL or (wish.kind == MAP and not wish.case):
            mapping = mapping_of(wish)
            if isinstance(mapping, maps.Levels) and is_of_owners(mapping) and mapping.levels[0] in OWNERS:
                found[wish] = mapping
    return found


def wished(program: ir.Program, wishes: Wishes, profile: Profile,
           loops: Collection[Wish] = ()) -> dict[str, tuple[Wish, ...]]:
    """Return which wishes say how each of the kernels' results is walked of which one does: several, if for cases.
    `loops`: those that owners of rows have granted."""
    wanted = [wish for wish in wishes.wanted if wish.kind in MAPPINGS]
    if not wanted:
        return {}
    graphs = [graph for _, graph in regions_with_graphs(program, profile, None, None)]
    found: dict[str, tuple[Wish, ...]] = {}     # by the name of a result
    for wish in wanted:
        nodes = [node for graph in graphs for node in named(graph, wish.first, wish, wishes) if node.op != HOST]
        if wish in loops:
            nodes = [node for node in nodes if can_walk(program, node, wish)]
        elif not nodes and concerned(graphs, wish):
            absent = missing(graphs, wish.first, wish, wishes)
            if wishes.strict:
                raise absent
            if wish.place is not None:      # an option may be for what has yet to run
                tell(wishes, wish, absent)
        earlier = [one for node in nodes for name in node.results for one in found.get(name, ())]
        for other in [other for other in earlier if other.says_other(wish)][:1]:
            raise NessieError(f"{wish.first} is to be walked in two ways, and can be in one", *place_of(other),
                              *place_of(wish))
        nodes = [node for node in nodes if not any([one.includes(wish) for name in node.results
                                                    for one in found.get(name, ())])]
        if not nodes:
            continue
        refused = require_walks(program, nodes, wish, wishes)
        for made, reason in refused:
            wishes.met.tell(wish, f"{wish.option} leaves out the kernel of {made}: {reason}")
        found |= {name: (*found.get(name, ()), wish) for node in nodes for name in node.results if name != "_"}
    return found


def mapping_of(wish: Wish, places: Places | None = None) -> maps.Mapping:
    """Return the mapping that is wished for. `places` records where its parts stand in its text."""
    if wish.kind == LEVEL:
        return by_levels(tuple(wish.second.split(",")))
    found = parse_part(text_of(wish), places)
    return maps.Cases(((case_number(wish), found),)) if wish.case and not isinstance(found, maps.Cases) else found


def mapping_of_all(wishes: Sequence[Wish]) -> maps.Mapping:
    """Return the mapping that these wishes for one kernel come to, the rest last."""
    found = list(map(mapping_of, wishes))
    cases = [case for mapping in found if isinstance(mapping, maps.Cases) for case in mapping.of]
    return maps.Cases(tuple(sorted(cases, key=lambda case: (case[0] == maps.REST, case[0])))) if cases else found[0]


def text_of(wish: Wish) -> Span:
    return wish.text or Span(Source("mapping", wish.second), 0, len(wish.second))


def tell(wishes: Wishes, wish: Wish, said: NessieError) -> None:
    """Note what is an error elsewhere as a warning."""
    wishes.met.tell(wish, said.message, said.told().removeprefix(said.message))


def require_walks(program: ir.Program, nodes: Sequence[Node], wish: Wish, wishes: Wishes) -> list[tuple[str, str]]:
    """Raise an error unless the mapping can walk one of the nodes' kernels; return the others, by what they make, with
    the reasons, the last with what it walks. A pragma's case that other sizes may have is no mistake, and one beyond
    all tests a warning."""
    places = Places(text_of(wish).source)
    mapping = mapping_of(wish, places)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    refused: list[tuple[str, Unmappable]] = []
    runs = runs_of(program, {name for node in nodes for name in node.results})
    walked: list[str] = []
    for run in runs:
        if (reason := refusal(kernels[run.kernel], mapping, wish)) is not None:
            calls = [excerpt(span) for span, _ in shown_places(run.origin)[1:]]
            refused.append((" in ".join([wish.first, *calls[:1]]), reason))
        else:
            walked += [excerpt(span) for span, _ in shown_places(run.origin)[:1]]
    if runs and len(refused) == len(runs):
        if not all([sizes_decide(kernels[run.kernel], reason) for run, (_, reason) in zip(runs, refused, strict=True)]):
            instead = instead_of(wish, [kernels[run.kernel] for run in runs])
            raise impossible(wish, refused[0][1], places, nodes, instead)
        if wish.place is not None:
            if beyond_tests(wish):
                tell(wishes, wish, impossible(wish, refused[0][1], places, nodes, ""))
            return []
    told = [(name, reason.message) for name, reason in refused if reason.message not in (NO_SEGMENTS, NO_TESTS)]
    if told and walked:
        told[-1] = told[-1][0], f"{told[-1][1]} (it walks {', '.join(dict.fromkeys(walked))})"
    return told


def can_walk(program: ir.Program, node: Node, wish: Wish) -> bool:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return all([refusal(kernels[run.kernel], mapping_of(wish), wish) is None
                for run in runs_of(program, set(node.results))])


def sizes_decide(kernel: ir.Kernel, reason: Unmappable) -> bool:
    """Is there no such case, and may that be because sizes are known, so that tests are gone which all elements
    pass?"""
    spaces = [space for bind in kernel.binds if (space := space_of(bind.soac)) is not None]
    return isinstance(reason, NoCase) and all([
        isinstance(space, ir.Flat | ir.Uniform) and all([isinstance(size, ir.Const) for size in extents_of(space)])
        for space in spaces])


def beyond_tests(wish: Wish) -> bool:
    """Has the form of a pragma fewer conditionals than its case needs, whatever the sizes are?"""
    form = wish.scope
    conditionals = len(IF.findall(form.source.text, form.start, form.end)) if form is not None else 0
    return case_number(wish) > conditionals


FOLD_ALL = "FoldAll"            # fits all sizes
IF = re.compile(r"\bif\b", re.IGNORECASE)


def refusal(kernel: ir.Kernel, mapping: maps.Mapping, wish: Wish) -> Unmappable | None:
    """The reason why the kernel cannot have the mapping, if there is one."""
    if wish.kind == LEVEL and isinstance(mapping, maps.Levels) and is_of_owners(mapping):
        return level_refused(kernel, mapping)
    return why_not(replace(kernel, by=mapping))


def instead_of(wish: Wish, kernels: Sequence[ir.Kernel]) -> str:
    """What can walk all of these kernels instead, or else one of them."""
    if wish.case:
        return ""
    each = list(map(possible, kernels))
    some = list(dict.fromkeys([name for found in each for name in found]))
    every = [name for name in some if all([name in found for found in each])]
    if not some:
        return "no strategy and no level can walk it: it is walked as it is without a wish"
    return f"what can walk {'it' if every else 'a part of it'}: {by_kind(every or some)}"


def by_kind(walks: Sequence[str]) -> str:
    """mappings Jing, FoldAll; levels warp, thread"""
    kinds = {"mappings": [walk for walk in walks if walk in STRATEGIES],
             "levels": [walk for walk in walks if walk not in STRATEGIES]}
    return "; ".join([f"{kind} {', '.join(found)}" for kind, found in kinds.items() if found])


def impossible(wish: Wish, reason: Unmappable, places: Places, nodes: Sequence[Node], hint: str) -> NessieError:
    """The error that shows the word of the mapping that is wrong, or all of it, and what it was to walk. The hint: what
    can."""
    if wish.kind == LEVEL:
        owner, *inner = wish.second.split(",")
        walked = f"walked by {wish.second.replace(',', ', ')}" if inner else f"computed by a {owner} for each segment"
        return NessieError(f"{wish.first} cannot be {walked}: {reason.message}",
                           *[*node_places(nodes, wish), *place_of(wish)], hint=hint)
    text, part = text_of(wish), places.of(reason.part)
    if isinstance(reason, NoCase):
        text, part = wish.case_text or text, None
    return NessieError(reason.message, (inside(text, part) if part else text, ""), *node_places(nodes, wish), hint=hint)


def node_places(nodes: Sequence[Node], wish: Wish) -> list[tuple[Span, str]]:
    """The place of what was to be walked, by the name that the wish has for it."""
    span = user_span(nodes[0].origin) if nodes else None
    return [(span, wish.first)] if span is not None else []


def asked_for(kernel: ir.Kernel, wishes: Sequence[Wish]) -> ir.Asked:
    """Where the mapping is asked for; FoldAll instead, where it can walk the kernel."""
    first = wishes[0]
    said = first.text.source.name if first.text else ""
    option = Source(said.replace("levels", "mappings").replace("level", "map"), FOLD_ALL)
    folded = replace(first, kind=MAP, second=FOLD_ALL, text=Span(option, 0, len(FOLD_ALL)))
    fits = refusal(kernel, mapping_of(folded), folded) is None
    of = f"{first.first}{f' case {first.case}' * bool(first.case)}"
    instead = folded.option if first.place is None else f"% {MAP} {of} by {FOLD_ALL} %"
    return ir.Asked(tuple([wish.text or wish.place or text_of(wish) for wish in wishes]), instead if fits else "")


def runs_of(program: ir.Program, results: set[str]) -> list[ir.Run]:
    """The launches that make these names; of several of one kernel the first."""
    runs = [s for function in program.functions for s in statements(function.body) if isinstance(s, ir.Run)]
    return list({run.kernel: run for run in reversed(runs)
                 if any([param.name in results for param in run.results])}.values())[::-1]


def with_mappings(program: ir.Program, wishes: Mapping[str, tuple[Wish, ...]]) -> ir.Program:
    """The program in which runs that make these names have kernels of their own, with mappings where they can."""
    kernels, names = {kernel.name: kernel for kernel in program.kernels}, Names(k.name for k in program.kernels)
    runs = [s for function in program.functions for s in statements(function.body) if isinstance(s, ir.Run)]
    made: dict[tuple[str, tuple[Wish, ...]], ir.Kernel] = {}

    def wishes_of(run: ir.Run) -> tuple[Wish, ...]:
        found = next((wishes[param.name] for param in run.results if param.name in wishes), ())
        return tuple([wish for wish in found if refusal(kernels[run.kernel], mapping_of(wish), wish) is None])

    def walked(run: ir.Run) -> ir.Run:
        wanted = wishes_of(run)
        if not wanted:
            return run
        if (run.kernel, wanted) not in made:
            free = run.kernel not in stay and all([run.kernel != kernel.name for kernel in made.values()])
            name = run.kernel if free else names.fresh(run.kernel)
            made[run.kernel, wanted] = replace(with_mapping(kernels[run.kernel], mapping_of_all(wanted)), name=name,
                                               asked=asked_for(kernels[run.kernel], wanted),
                                               origin=run.origin or kernels[run.kernel].origin)
        return replace(run, kernel=made[run.kernel, wanted].name)
    stay = kernels.keys() - {run.kernel for run in runs} | {run.kernel for run in runs if not wishes_of(run)}
    functions = tuple([replace(f, body=map_runs(f.body, walked)) for f in program.functions])
    kept = [kernel for kernel in program.kernels if kernel.name in stay]
    return replace(program, kernels=(*kept, *made.values()), functions=functions)
