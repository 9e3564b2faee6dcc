"""Says why lengths have no step polynomial, in words of the program. What stands in the way may lie behind an array
that flattening has stored.

    {.. [0:i/k] ..}                     i/k may fail, so it is stored: "a divisor is a name or ..."
    partition(v, {4^d : d in ..})       4^d is stored: "a power has another base than 2"
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.flatten.ranges.ranges import items
from nessie.flatten.ranges.step_forms import numbered_form
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import Domain
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.rows import IN_ROW
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import map_children
from nessie.lambda_cu.spaces.steps import NoForm

MAY_FAIL = "a length is computed by something that may fail"
FURTHER_OUT = "a length depends on a position further out"
POWER = "_power_times"          # the library's function of the name


def reason(emitter: Emitter, domain: Domain, error: NoForm) -> str:
    """Return why a length over the domain has no form."""
    match error.part:
        case ir.Read(array) if array in emitter.reasons:
            return emitter.reasons[array]
        case ir.Read(array, index) if array in emitter.makers:
            soac, place, count = emitter.makers[array]
            if isinstance(soac, ir.Map) and soac.space == domain.space and index == domain.here().i:
                parts = items(soac.thunk.body, count)
                if parts is not None:
                    return of_stored(emitter, domain, unchecked(parts[place]))
            if not isinstance(soac, ir.Map):
                return "a length is computed from a sequence, as by a sum"
        case ir.CallScalar(function):
            return ("a power has another base than 2" if function.startswith(POWER) else
                    "a length is computed by a function that recurs")
        case ir.Op(_, (_, ir.Var(size))) if size in lengths_around(domain):
            return FURTHER_OUT
        case ir.Var(named) if named in domain.params:
            return FURTHER_OUT
    return str(error)


def of_stored(emitter: Emitter, domain: Domain, exp: ir.Exp) -> str:
    """Return why the elements of an array have no form, or are stored though they have one."""
    ranges = Context(emitter, domain).ranges
    try:
        numbered_form(ranges, exp, emitter.types, () if domain.is_flat else IN_ROW)
    except NoForm as error:
        return reason(emitter, domain, error)
    return MAY_FAIL


def unchecked(exp: ir.Exp) -> ir.Exp:
    """Return the expression without its checks."""
    if isinstance(exp, ir.If) and isinstance(exp.orelse, ir.Fail):
        return unchecked(exp.then)
    return map_children(exp, unchecked)


def lengths_around(domain: Domain | None) -> Iterator[ir.Size]:
    """Yield the lengths of rows that are divided by to find in which row an element is."""
    while domain is not None:
        if isinstance(domain.space, ir.Uniform):
            yield from domain.space.axes
        domain = domain.parent
