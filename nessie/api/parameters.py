"""The parameters of a function, by their names in NESL: arguments by keyword, and the signature that Python shows."""
from __future__ import annotations

import inspect
import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from nessie.base.names import shown_name
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.text.nearest import nearest
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Fun, Pair, Type
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_expression
from nessie.typing import nodes as typed
from nessie.typing.environment import Entry, Environment


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, empty for a pattern; its type; its default, if it has one."""
    name: str
    type: Type
    default: syntax.Exp | None = None


class Written:
    """A default value, which is shown as it is written."""

    def __init__(self, exp: syntax.Exp) -> None:
        self.text = show_expression(exp)

    def __repr__(self) -> str:
        return self.text


def parameters_of(entry: Entry, environment: Environment) -> list[Parameter]:
    """The parameters of a function, in their order."""
    function, scheme = environment.program.function(entry.name), entry.scheme.type
    assert isinstance(scheme, Fun)
    patterns, rest, type_ = [], function.parameter if function else None, scheme.argument
    for _ in range(entry.arity - 1):
        if not isinstance(type_, Pair):
            break
        first = rest.first if isinstance(rest, typed.PairPattern) else None
        patterns.append((first, type_.first))
        rest, type_ = rest.second if isinstance(rest, typed.PairPattern) else None, type_.second
    patterns.append((rest, type_))
    defaults = dict(entry.defaults)
    return [Parameter(name, part, defaults.get(name)) for pattern, part in patterns
            for name in [shown_name(pattern.name) if isinstance(pattern, typed.NamePattern) else ""]]


def arranged(function: str, entry: Entry, environment: Environment, given: Sequence[Any],
             named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the parameters without defaults, in their order, those for others that are given by position,
    and by name the rest."""
    if not named:
        return list(given), {}
    parameters = parameters_of(entry, environment)
    here = [(span, "defined here") for span in entry.origin[:1]]
    names = [parameter.name for parameter in parameters]
    by_name = {name.lower(): value for name, value in named.items()}
    for name in by_name:
        if name not in names or not name:
            known = ", ".join(name for name in names if name)
            near = nearest(name, [name for name in names if name])
            raise NessieError(f"{function} has no parameter {name}", *here,
                              hint=f"did you mean {near}?" if near else f"it has {known or 'none with a name'}")
        if names.index(name) < len(given):
            raise NessieError(f"{name} of {function} is given twice", *here,
                              hint=f"it is argument {names.index(name) + 1}")
    arguments = list(given)
    for place in range(len(given), len(parameters)):
        if parameters[place].default is not None:
            break
        if names[place] not in by_name:
            raise NessieError(f"{function} is not given {names[place] or f'argument {place + 1}'}", *here)
        arguments.append(by_name.pop(names[place]))
    return arguments, by_name


def signature_of(entry: Entry, environment: Environment) -> inspect.Signature:
    """The signature that inspect.signature shows; types are NESL's, as texts. A parameter whose name Python cannot use
    goes in by its position, and so do those before it."""
    assert isinstance(entry.scheme.type, Fun)
    parameters = parameters_of(entry, environment)
    usable = [bool(p.name) and p.name.isidentifier() and not keyword.iskeyword(p.name) for p in parameters]
    positional = max([place for place, known in enumerate(usable) if not known], default=-1)
    shown = [inspect.Parameter(
        parameter.name if known else f"argument_{place + 1}",
        inspect.Parameter.POSITIONAL_ONLY if place <= positional else inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=inspect.Parameter.empty if parameter.default is None else Written(parameter.default),
        annotation=show_scheme(parameter.type))
        for place, (parameter, known) in enumerate(zip(parameters, usable, strict=True))]
    shown.append(inspect.Parameter("target", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None"))
    return inspect.Signature(shown, return_annotation=show_scheme(entry.scheme.type.result))
