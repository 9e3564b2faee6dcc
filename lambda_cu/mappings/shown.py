"""A mapping of a space as text for readers: the space after each combinator, host code, launch, the way back, an
example."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.source import InternalError, NessieError, Source, Span
from nessie.base.text.places import Places
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Space, indices, parse_space, show_space, substitute_all, value
from nessie.lambda_cu.mappings.certificate import mistake, walked
from nessie.lambda_cu.mappings.choice.auto import of_rows, shown_candidates
from nessie.lambda_cu.mappings.choice.places import assumed
from nessie.lambda_cu.mappings.combinators import Unmappable, chain
from nessie.lambda_cu.mappings.levels import beyond
from nessie.lambda_cu.mappings.mapped import (
    Mapped,
    launch_of,
    launchable,
    mapped,
    operations,
    shown_operations,
    sizes_of,
)
from nessie.lambda_cu.mappings.strategies import AUTO, mapping_of
from nessie.lambda_cu.mappings.text import parse_mapping, show_mapping
from nessie.lambda_cu.parts import map_children
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.spaces.closed import INTS, ONE
from nessie.lambda_cu.text.printer_expressions import show_exp

USUAL = 5                       # what a size is in the example, unless somebody says it
MOST_WALKED = 20_000            # threads of an example that are gone through


def explained(mapping: str, space: str, sizes: Mapping[str, int]) -> str:
    """Return what a mapping makes of a space. Raise NessieError, with the word underlined, where it makes nothing."""
    text = Source("mapping", mapping)
    places = Places(text)
    asked, of = parse_mapping(text, places), parse_space(Source("space", space))
    if isinstance(asked, maps.Cases):
        raise NessieError("a space has no cases: they are of conditionals in programs",
                          (Span(text, 0, len(mapping)), ""))
    try:
        chosen = asked == AUTO and not any([axis.depends for axis in of])
        tried = of_rows(of, countable(of, example_sizes(of, sizes, usual_length(of, sizes)))) if chosen else []
        top = tried[0].mapping if tried else mapping_of(asked, of) if isinstance(asked, maps.Strategy) else asked
        if top is None:
            return "The mapping none is the walk by items: there is nothing to show.\n"
        made = launchable(mapped(top, of))
    except Unmappable as wrong:
        place = places.of(wrong.part)
        raise NessieError(wrong.message, *([(place, "")] if place else [])) from None
    known, place = example_sizes(of, sizes), places.of(asked)
    underlined = [(place, "")] if place else []
    if unknown := [name for name in sizes if name not in known]:
        raise NessieError(f"the space has no size {unknown[0]}", hint=f"it has {', '.join(known) or 'none'}")
    parts = [*([("mapping", [show_mapping(top)])] if isinstance(asked, maps.Strategy) else []),
             ("candidates", shown_candidates(tried) if tried else []), ("space", stages(made, of)),
             ("host", lets(made.host)), ("launch", [shown_launch(made)]),
             ("thread", thread(made)), ("example", checked_example(made, of, known, underlined))]
    return "".join([section(title, lines) for title, lines in parts if lines])


def example_sizes(space: Space, sizes: Mapping[str, int], usual: int = USUAL) -> dict[str, int]:
    """The sizes that the space names, as they are given, or usual: only lower bounds are 0, steps 2, widths 1."""
    kinds = [(axis.high, usual) for axis in space] + [(axis.low, 0) for axis in space]
    kinds += [(axis.step, 2) for axis in space] + [(axis.width, 1) for axis in space]
    found: dict[str, int] = {}
    for exp, length in kinds:
        for name in sorted(names_of(exp)):
            found.setdefault(name, sizes.get(name, length))
    return found


def usual_length(space: Space, sizes: Mapping[str, int]) -> int:
    """How long the axes are whose sizes nobody gives, so that there are as many indices as assumed."""
    given = [value(axis.high, sizes) for axis in space if names_of(axis.high) <= sizes.keys()]
    return assumed(len(space) - len(given), prod([max(length, 1) for length in given]))


def countable(space: Space, sizes: dict[str, int]) -> dict[str, int]:
    """Return the sizes. Raise NessieError where they make more indices than an int has values."""
    if prod([max(value(axis.high, sizes), 1) for axis in space]) > MAX_INT:
        known = ", ".join([f"{name} = {size:,}" for name, size in sizes.items()])
        raise NessieError(f"the space has more than {MAX_INT:,} indices",
                          hint=f"it is tried for {known}: --size says others")
    return sizes


def names_of(exp: ir.Exp) -> set[str]:
    return {name for name in free_names(exp) if not (name[0] == "i" and name[1:].isdigit())}


def section(title: str, lines: list[str]) -> str:
    return f"{title}\n" + "".join([f"  {line}\n" for line in lines])


def exps(index: tuple[ir.Exp, ...]) -> str:
    return ", ".join(map(shown, index))


def shown(exp: ir.Exp) -> str:
    """The expression as text for readers: a - 5, not a + -5; a - b, not a + -1 * b."""
    return show_exp(subtracting(exp))


def subtracting(exp: ir.Exp) -> ir.Exp:
    """The expression, which subtracts where it adds something times a negative constant."""
    match map_children(exp, subtracting):
        case ir.Op("+", (first, second)) as made:
            less = positive(second)
            return made if less is None else ir.Op("-", (first, less))
        case made:
            return made


def positive(exp: ir.Exp) -> ir.Exp | None:
    """The negation of a negative constant, or of its product with something; None of all else."""
    match exp:
        case ir.Const(int(number), kind) if MIN_INT < number < 0:
            return ir.Const(-number, kind)
        case ir.Op("*", (ir.Const(int(number), kind), of)) if MIN_INT < number < 0:
            return of if number == -1 else ir.Op("*", (ir.Const(-number, kind), of))
    return None


def shown_launch(made: Mapped) -> str:
    return f"grid ({exps(made.grid)}), block ({exps(made.block)})"


def in_sizes(made: Mapped, bounds: Mapping[str, ir.Exp] = MappingProxyType({})) -> Mapped:
    """The mapping, whose launch and loops are formulas of the space's sizes, and of what its bounds are."""
    known = dict(bounds)

    def formula(exp: ir.Exp) -> ir.Exp:
        return substitute(exp, {name: known[name] for name in free_names(exp) if name in known})
    for name, exp in made.host.items():
        known[name] = formula(exp)
    space = substitute_all(made.stages[0], bounds)
    grid, block = [tuple(map(formula, sizes)) for sizes in (made.grid, made.block)]
    loops = {name: formula(length) for name, length in made.loops.items()}
    return replace(made, stages=(space, *made.stages[1:]), grid=grid, block=block, loops=loops)


def shown_idle(made: Mapped, elements: ir.Exp) -> str:
    """How many threads have no index, as a formula of sizes."""
    if not made.guards:
        return "none"
    found = in_sizes(made)
    idle = INTS.minus(product((*found.grid, *found.block, *found.loops.values())), elements)
    return " ".join(show_exp(idle).split())


def product(sizes: Sequence[ir.Exp]) -> ir.Exp:
    made: ir.Exp = ONE
    for size in sizes:
        made = INTS.times(made, size)
    return made


def shown_recovery(made: Mapped) -> str:
    """How many operations find an index."""
    return shown_operations(*operations(made))


def stages(made: Mapped, of: Space) -> list[str]:
    """The space, and what each combinator makes of it."""
    called = ["Gen", *[head(step) for step in chain(made.mapping)]]
    width = max(map(len, called))
    return [f"{step:{width}}  {show_space(stage)}" for step, stage in zip(called, made.stages)]


def head(step: maps.Combinator) -> str:
    """The combinator without what it is of."""
    arguments = show_mapping(step)[len(type(step).__name__) + 1:-len(show_mapping(step.of)) - 1].rstrip(", ")
    return f"{type(step).__name__}({arguments})" if arguments else type(step).__name__


def lets(bound: Mapping[str, ir.Exp]) -> list[str]:
    return [f"{name} = {shown(exp)}" for name, exp in bound.items()]


def thread(made: Mapped) -> list[str]:
    """What a thread does: what it is passed, its loops, how it finds its index, when it has one."""
    lines = [f"passed {', '.join(made.passed)}"] if made.passed else []
    lines += [f"for {name} in 0 .. {show_exp(length)} - 1" for name, length in made.loops.items()]
    lines += lets(made.code)
    guards = " and ".join(map(shown, made.guards))
    return [*lines, f"{f'if {guards}: ' if guards else ''}iv = [{exps(made.index)}]"]


def checked_example(made: Mapped, of: Space, sizes: Mapping[str, int], places: list[tuple[Span, str]]) -> list[str]:
    try:
        return example(made, of, sizes, places)
    except ZeroDivisionError:
        raise NessieError("a bound of the space divides by 0") from None


def example(made: Mapped, of: Space, sizes: Mapping[str, int], places: list[tuple[Span, str]]) -> list[str]:
    """The launch for these sizes, how many threads have no index, and that the others have each one."""
    grid, block = launch_of(made, sizes)
    if over := beyond(grid, block):
        raise NessieError(f"no GPU has the launch for {shown_sizes(sizes) or 'these lengths'}: {over}", *places)
    loops = 1
    for length in made.loops.values():
        loops *= value(length, sizes_of(made, sizes))
    threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2] * loops
    lines = [f"{shown_sizes(sizes)}: " * bool(sizes) + f"grid {grid}, block {block}"]
    walking = f"{threads:,} thread{'s' * (threads != 1)}"
    if threads > MOST_WALKED:
        return [*lines, walking]
    if wrong := mistake(made, of, sizes):
        raise InternalError(f"for {shown_sizes(sizes)}: {wrong}")
    count = sum(1 for _ in indices(of, sizes))
    first = next(iter(walked(made, sizes)), None)
    lines.append(f"{walking}, {threads - count:,} of them without an index; the others have each one once"
                 if threads else "no threads: the space is empty")
    return [*lines, *([f"the first thread has iv = {list(first)}"] if first is not None else [])]


def shown_sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join([f"{name} = {size}" for name, size in sizes.items()])
