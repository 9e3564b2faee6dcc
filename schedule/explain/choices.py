"""Tells of the choices that a run makes between versions, as users know their sizes and thresholds.

    choices(fused)[0].versions      (("pulled", "#is * 8 <= #xs"), ("items", ""))
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from nessie.base.source import user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.check_choices import version_of
from nessie.lambda_cu.parts import CONDITIONS
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.text.printer_expressions import show_exp
from nessie.schedule.explain.notes import ChoiceExplained
from nessie.schedule.legality.witness import OFFSETS


def choices(program: ir.Program) -> tuple[ChoiceExplained, ...]:
    """The choices of a program whose thresholds are those of its tunables."""
    return tuple([explained(function, statement, program.tunables) for function in program.functions
                  for statement in scope.statements(function.body) if isinstance(statement, ir.Choose)])


def explained(function: ir.Function, choice: ir.Choose, tunables: Sequence[ir.Tunable]) -> ChoiceExplained:
    name = choice_name(function, choice)
    asked = {name for exp in CONDITIONS.of(choice) for name in scope.free_names(exp)}
    values: dict[str, ir.Exp] = {t.name: ir.Const(t.value, "int") for t in tunables}
    names = names_of_sizes(function.params)
    versions = [(case.name, "" if case.condition is None else condition(case.condition, values, names))
                for case in choice.cases]
    thresholds = [(version_of(t), t.of, t.value) for t in tunables if t.name in asked]
    return ChoiceExplained(user_span(choice.origin), name, tuple(versions), tuple(thresholds))


def choice_name(function: ir.Function, choice: ir.Choose) -> str:
    """FUNCTION.BINDING"""
    return scope.version_name(function.name, choice.results, "").removesuffix(".")


def condition(exp: ir.Exp, tunables: Mapping[str, ir.Exp], names: Mapping[str, str]) -> str:
    """The condition in words that users know: #is * 8 <= #xs and longest(rows) <= 64."""
    text = " ".join(show_exp(substitute(exp, tunables)).split())
    return renamed(re.sub(rf"&(\w+?){OFFSETS}\b", r"\1", text), names)


def names_of_sizes(params: Iterable[ir.Param]) -> dict[str, str]:
    """The sizes of arrays among the parameters, as users know them: #xs; of rows, #rows and #flatten(rows)."""
    arrays = {param.name: param.type for param in params if isinstance(param.type, ir.Array)}
    return {str(type_.size): f"#{name.removesuffix(OFFSETS)}" if type_.plus else
            f"#flatten({name})" if f"{name}{OFFSETS}" in arrays else f"#{name}"
            for name, type_ in reversed(arrays.items())}


def names_in(program: ir.Program) -> dict[str, str]:
    """The entry's sizes, as users know them."""
    return names_of_sizes(next(f for f in program.functions if f.name == program.entry.function).params)


def renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[\w']+", lambda found: names.get(found[0], found[0]), text)
