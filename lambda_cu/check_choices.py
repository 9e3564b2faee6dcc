"""The part of lambda_cu.check that choices and their tunables have."""
from __future__ import annotations

from collections.abc import Collection, Sequence

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import is_tunable
from nessie.lambda_cu.text.printer_expressions import show_exp
from nessie.lambda_cu.typing import Scope, require

LAST = "items"
MOST = 4                        # versions beside the last
COMPARISONS = ("<=", ">=", "<", ">")
ARITHMETIC = ("+", "*")
COMPARED = ("n", "total", "share", "few", *ir.STATISTICS)


def version_of(tunable: ir.Tunable) -> str:
    """The version whose condition has the tunable."""
    return tunable.name.rpartition(".")[2].removesuffix(f"_{tunable.of}")


def check_tunable(tunable: ir.Tunable) -> None:
    require(is_tunable(tunable.name), "its name is not FUNCTION.BINDING.VERSION")
    require(tunable.of in COMPARED, f"it is compared with {tunable.of}, which is none of {', '.join(COMPARED)}")
    require(0 <= tunable.value <= ir.UNKNOWN, f"{tunable.value} is no threshold")


def check_cases(cases: Sequence[ir.Case], scope: Scope, tunables: Collection[str]) -> None:
    """The cases have different names; all but the last have conditions."""
    require(bool(cases) and cases[-1].name == LAST, f"the last case of a choice is not {LAST}")
    require(len(cases) <= MOST + 1, f"a choice has {len(cases) - 1} versions beside {LAST}, and at most {MOST} may be")
    names = [case.name for case in cases]
    require(len(set(names)) == len(names), f"two cases of a choice have one name: {', '.join(names)}")
    for case in cases[:-1]:
        if case.condition is None:
            raise IllFormed(f"the case {case.name} has no condition, and is not the last")
        check_condition(case.condition, scope, tunables)
    require(cases[-1].condition is None, f"{LAST} has a condition")


def check_condition(exp: ir.Exp, scope: Scope, tunables: Collection[str]) -> None:
    """Comparisons, joined by `and` and `or`; a statistic stands on the left of <=."""
    match exp:
        case ir.Op("and" | "or", parts):
            for part in parts:
                check_condition(part, scope, tunables)
        case ir.Op("<=", (ir.CallScalar(function, (), (array,)), bound)) if function in ir.STATISTICS:
            type_ = scope.names.get(array)
            require(isinstance(type_, ir.Array) and (type_.base, type_.plus) == ("int", 1),
                    f"{function} is asked of {array}, which has no offsets of segments")
            check_int(bound, scope, tunables)
        case ir.Op(op, sides) if op in COMPARISONS:
            for side in sides:
                check_int(side, scope, tunables)
        case _:
            raise IllFormed(f"a case has the condition {show_exp(exp)}, which compares nothing")


def check_int(exp: ir.Exp, scope: Scope, tunables: Collection[str]) -> None:
    """An int: a constant, a name in scope, a tunable, or sums and products of them."""
    match exp:
        case ir.Const(_, "int"):
            return
        case ir.Var(name) if is_tunable(name):
            require(name in tunables, f"the program has no tunable {name}")
        case ir.Var(name):
            require(scope.names.get(name) == "int", f"{name}, in a condition, is no int in scope")
        case ir.Op(op, parts) if op in ARITHMETIC:
            for part in parts:
                check_int(part, scope, tunables)
        case ir.CallScalar(function) if function in ir.STATISTICS:
            raise IllFormed(f"{function} does not stand on the left of <=")
        case _:
            raise IllFormed(f"a condition compares {show_exp(exp)}")
