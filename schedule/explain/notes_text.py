"""Prints notes for people: a section of each kind, a line for each note, more for interiors and mappings.

    sections(notes)         [document, ...], each note marked with itself
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nessie.base.source import Span, excerpt
from nessie.base.text.layout import HARD, Doc, Mark, join
from nessie.schedule.explain.layout import place_text, table
from nessie.schedule.explain.notes import (
    ChoiceExplained,
    FunctionExplained,
    GroupsExplained,
    InteriorExplained,
    LoopExplained,
    MappingExplained,
    Notes,
    ProductExplained,
    ReductionExplained,
    SpaceExplained,
)

RUNS = {"thread": "runs per element", "lifted": "is lifted", "apart": "is lifted, small activations run apart",
        "owned": "is lifted, unless owners of rows go through its rounds", "host": "runs on the host"}
REDUCED = {"fold": "is a fold of each element", "segments": "is a reduction of segments",
           "either": "is a fold of each element, or of segments, as the run asks"}
OWNERS = {level: f"{lanes} lanes of a warp go through all rounds with their row"
          for level, lanes in (("sub8", 8), ("sub4", 4))}
Note = (FunctionExplained | GroupsExplained | ReductionExplained | SpaceExplained | InteriorExplained | MappingExplained
        | LoopExplained | ProductExplained | ChoiceExplained)


def sections(notes: Notes) -> list[Doc]:
    """The sections that have notes."""
    every = (choices(notes.choices), functions(notes.functions), groups(notes.groups), reductions(notes.reductions),
             spaces(notes.spaces), interiors(notes.interiors), mappings(notes.mappings), loops(notes.loops),
             products(notes.products))
    return [section for section in every if section]


def choices(notes: Sequence[ChoiceExplained]) -> Doc:
    """Which versions a run takes, and when."""
    return section("versions, of which a run takes one", notes, [tuple(show_choice(note)) for note in notes])


def show_choice(note: ChoiceExplained) -> Iterator[str]:
    yield f"  {note.name}  {place_text(note.place)}".rstrip()
    for version, condition in note.versions:
        numbers = ", ".join([f"{of} = {value}" for name, of, value in note.thresholds if name == version])
        when = f"if {condition}" if condition else "else" if len(note.versions) > 1 else "always"
        yield f"    {version} {when}{f'  ({numbers})' if numbers else ''}"


def functions(notes: Sequence[FunctionExplained]) -> Doc:
    """How each function runs, and why not per element."""
    return rows("functions", notes, [[f.name, RUNS[f.runs], place_text(f.where if f.reason else f.place), f.reason]
                                     for f in notes])


def groups(notes: Sequence[GroupsExplained]) -> Doc:
    """Where groups by keys are made, or need not be, and why they are."""
    return rows("groups", notes, [[excerpt(found.place), "are made" if found.made else "are not made",
                                   place_text(found.where or found.place), found.reason or "they are only reduced"]
                                  for found in notes])


def reductions(notes: Sequence[ReductionExplained]) -> Doc:
    """How rows are reduced, and why not by the threads of their elements."""
    return rows("reductions", notes, [[excerpt(found.place), REDUCED[found.form], place_text(found.place), found.reason]
                                      for found in notes])


def spaces(notes: Sequence[SpaceExplained]) -> Doc:
    """How the lengths of sequences in sequences are held, whether their elements are stored, and why lengths take
    memory. Steps of one call of the library are numbered."""
    head = ["", "", "form", "length", "start", "memory", "elements",
            "why" if any(found.reason for found in notes) else ""]
    there = Counter([found.place for found in notes if not found.argument])
    cells, step = [], Counter[Span | None]()
    for found in notes:
        step[found.place] += not found.argument
        label = found.argument or excerpt(found.place)
        if there[found.place] > 1 and not found.argument:
            label += f", step {step[found.place]}"
        cells.append([label, place_text(found.place), found.form, found.length, found.start, found.memory,
                      found.elements, found.reason])
    return rows("spaces", notes, cells, head)


def interiors(notes: Sequence[InteriorExplained]) -> Doc:
    """Where each interior is, of rows first, and what its elements do not decide."""
    return section("interiors", notes, [tuple(interior(note)) for note in notes])


def interior(note: InteriorExplained) -> Iterator[str]:
    yield f"  {excerpt(note.place)}  {place_text(note.place)}".rstrip()
    outer = len(note.ranges) - 1
    axes = [*(["rows"] if outer == 1 else [f"axis {number + 1}" for number in range(outer)]), "elements"]
    for axis, (low, high) in zip(axes, note.ranges, strict=True):
        yield f"    {axis} from {low} to before {high}"
    decisions = [[decision, f"is {inside}"] for decision, inside in note.dropped]
    yield from (f"    {line}" for line in table(decisions, left=2))


def mappings(notes: Sequence[MappingExplained]) -> Doc:
    """What mappings walk, who has asked for it, and what is launched."""
    return section("mappings", notes, [tuple(mapping(note)) for note in notes])


def mapping(note: MappingExplained) -> Iterator[str]:
    yield f"  {excerpt(note.place)}  {place_text(note.place)}".rstrip()
    yield f"    {note.mapping}, by {note.source}"
    if note.launch:
        yield f"    {note.launch}"
    for part in note.parts:
        yield f"    case {part.case}: {part.space}"
        yield f"      {part.mapping}"
        yield f"      {part.launch}"
        yield f"      an index is found by {part.recovery}"
    if note.left:
        more = f", as {'is' if note.behind == 1 else 'are'} {note.behind} behind it" if note.behind else ""
        yield f"    no test of a case is {note.left}: it is made in case rest{more}"
    if note.idle:
        yield f"    threads without an index: {note.idle}"
        yield f"    an index is found by {note.recovery}"
    if note.cost:
        yield f"    {note.cost}"
    for title, lines in (("chosen, as auto, from", note.candidates), ("others", note.others),
                         ("not possible here", [f"{what}: {why}" for what, why in note.impossible])):
        if lines:
            yield f"    {title}"
            yield from [f"      {line}" for line in lines]


def loops(notes: Sequence[LoopExplained]) -> Doc:
    """Who goes through the rounds of loops over rows, or why nobody does."""
    return section("loops over rows", notes, [tuple(loop(note)) for note in notes])


def loop(note: LoopExplained) -> Iterator[str]:
    yield f"  {excerpt(note.place)}  {place_text(note.place)}".rstrip()
    if note.reason:
        yield f"    each round is of all rows, as no owner can go through all of {note.function}: {note.reason}"
    else:
        who = OWNERS.get(note.owner, f"a {note.owner} goes through all rounds with its row")
        yield f"    {who}, if no row has more than {note.room} elements"


def products(notes: Sequence[ProductExplained]) -> Doc:
    """Which products go by tiles, and where."""
    return section("products", notes, [(f"  {excerpt(note.place)}  {place_text(note.place)}".rstrip(),
                                        f"    {note.tiles}", f"    {note.where}") for note in notes])


def rows(title: str, notes: Sequence[Note], cells: Sequence[Sequence[str]], head: Sequence[str] = ()) -> Doc:
    """A line for each note, in columns, below a head if there is one."""
    lines = table([*([head] if head else []), *cells], left=max(map(len, cells), default=1) - 1)
    first = len(lines) - len(notes)
    return section(title, notes, [(line,) for line in lines[first:]], lines[:first])


def section(title: str, notes: Sequence[Note], lines: Sequence[Sequence[str]], head: Sequence[str] = ()) -> Doc:
    """The lines of each note; nothing where there are no notes."""
    marked = [Mark(join(HARD, of), note) for of, note in zip(lines, notes, strict=True)]
    return tuple((line, HARD) for line in (title, *head, *marked)) if notes else ()


def place_of(note: Note) -> Span | None:
    """The note's place in the source: of its reason, where it has one."""
    return (note.where if isinstance(note, FunctionExplained | GroupsExplained) else None) or note.place
