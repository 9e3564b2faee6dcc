"""Tells of the choices that a run makes between versions, as users know their sizes and thresholds.

    choices(fused)[0].versions      (("pulled", "#is * 8 <= #xs"), ("items", ""))
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.check_choices import version_of
from nessie.lambda_cu.layout import bound_parameters
from nessie.lambda_cu.parts import CONDITIONS
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.text.printer_expressions import show_exp
from nessie.schedule.explain.notes import ChoiceExplained
from nessie.schedule.legality.witness import OFFSETS


def choices(program: ir.Program) -> tuple[ChoiceExplained, ...]:
    """The choices of a program whose thresholds are those of its tunables."""
    return tuple([explained(program, function, statement) for function in program.functions
                  for statement in scope.statements(function.body) if isinstance(statement, ir.Choose)])


def explained(program: ir.Program, function: ir.Function, choice: ir.Choose) -> ChoiceExplained:
    name = choice_name(function, choice)
    asked = {name for exp in CONDITIONS.of(choice) for name in scope.free_names(exp)}
    values: dict[str, ir.Exp] = {t.name: ir.Const(t.value, "int") for t in program.tunables}
    known = known_in(program, function)
    names = {**known.sizes, **known.rows}
    versions = [(case.name, "" if case.condition is None else condition(case.condition, values, names))
                for case in choice.cases]
    thresholds = [(version_of(t), t.of, t.value) for t in program.tunables if t.name in asked]
    return ChoiceExplained(user_span(choice.origin), name, tuple(versions), tuple(thresholds))


def choice_name(function: ir.Function, choice: ir.Choose) -> str:
    """FUNCTION.BINDING"""
    return scope.version_name(function.name, choice.results, "").removesuffix(".")


def condition(exp: ir.Exp, tunables: Mapping[str, ir.Exp], names: Mapping[str, str]) -> str:
    """The condition in words that users know: #is * 8 <= #xs and longest(rows) <= 64."""
    text = " ".join(show_exp(substitute(exp, tunables)).split())
    return renamed(text.replace("&", ""), names)


# What users know of a function's parameters -------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """The `sizes` of sequences, as users know them: n is #xs, and of rows #flatten(rows). `rows`: by the array that
    tells where they lie, v_offsets, the sequence whose rows they are, v; by the length that all have, longest(v)."""
    sizes: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)

    def note(self, layout: ir.Layout, params: Iterator[str], depth: int = 0) -> str:
        """Note the sequences of one argument; return the name of its first payload, which is the argument's name."""
        match layout:
            case ir.SeqLayout(element):
                bounds = [next(params) for _ in bound_parameters(layout, Names(), "x", "n" if depth else None)]
                size = next(params)
                name = self.note(element, params, depth + 1)
                self.sizes[size] = f"#{flattened(name, depth)}"
                if bounds and layout.form in ("dense", "uniform"):
                    of = flattened(name, depth - 1)
                    self.rows[bounds[0]] = of if layout.form == "dense" else f"longest({of})"
                return name
            case ir.PairLayout(first, second):
                name = self.note(first, params, depth)
                self.note(second, params, depth)
                return name
        return next(params)


def known_in(program: ir.Program, function: ir.Function) -> Known:
    """What users know of the entry's parameters; of another function's, whose layouts are gone, what names tell."""
    known = Known()
    if function.name == program.entry.function:
        params = iter([param.name for param in function.params])
        for layout in program.entry.arguments:
            known.note(layout, params)
        return known
    offsets = [param.name for param in function.params if param.name.endswith(OFFSETS)]
    return Known(names_of_sizes(function.params), {name: name.removesuffix(OFFSETS) for name in offsets})


def names_of_sizes(params: Iterable[ir.Param]) -> dict[str, str]:
    """The sizes of arrays among the parameters, as their names tell: #xs; of rows, #rows and #flatten(rows)."""
    arrays = {param.name: param.type for param in params if isinstance(param.type, ir.Array)}
    return {str(type_.size): f"#{name.removesuffix(OFFSETS)}" if type_.plus else
            f"#flatten({name})" if f"{name}{OFFSETS}" in arrays else f"#{name}"
            for name, type_ in reversed(arrays.items())}


def flattened(name: str, times: int) -> str:
    return "flatten(" * times + name + ")" * times


def names_in(program: ir.Program) -> dict[str, str]:
    """The sizes of the entry's arrays, as users know them."""
    return names_of_sizes(next(f for f in program.functions if f.name == program.entry.function).params)


def renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[\w']+", lambda found: names.get(found[0], found[0]), text)
