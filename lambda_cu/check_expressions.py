"""The thread level's part of lambda_cu.check: expressions, of the host too, thunks and scalar functions."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import children, subexpressions
from nessie.lambda_cu.running.recursion import tail_calls
from nessie.lambda_cu.scope import binds, free_names
from nessie.lambda_cu.typing import ELEMENTS, SCALARS, Scope, require, shown, type_of, widened


@dataclass
class Place:
    """The surroundings of an expression: the names in scope, the names that none inside it may bind, the program's
    sites."""
    scope: Scope
    taken: set[str]
    sites: Collection[str]


def distinct(bound: Iterable[tuple[str, object]]) -> set[str]:
    """The names, each bound once; `_` binds nothing. Each comes with what binds it."""
    found: set[str] = set()
    for name, binder in bound:
        add_new(binder, name, found)
    return found


def add_new(binder: object, name: str, found: set[str]) -> None:
    require(name not in found, f"{name} is bound twice")
    if name != "_":
        found.add(name)


def check_expression(exp: ir.Exp, place: Place) -> None:
    """Sites exist, tuples have not one item, `_` is not read; no let or fold binds a name that is taken or that one
    around it binds."""
    match exp:
        case ir.Fail(site, _):
            require(site in place.sites or place.scope.names.get(site) == "site", f"the program has no site {site}")
        case ir.Tuple((_,)):
            raise IllFormed("a tuple has one item")
        case ir.Var("_") | ir.Read("_", _):
            raise IllFormed("_ is read")
        case ir.CallScalar():
            require("_" not in exp.arrays, "_ is read")
        case ir.Let() | ir.Fold():
            for part in children(exp)[:-1]:
                check_expression(part, place)
            names, binder = binds(exp), "let" if isinstance(exp, ir.Let) else "fold"
            for name in sorted(distinct((name, exp) for name in names)):
                require(name not in place.taken, f"{binder} binds {name}, which is bound already")
            place.taken.update(names)
            check_expression(exp.body, place)
            place.taken.difference_update(names)
            return
    for part in children(exp):
        check_expression(part, place)


def check_thunk(thunk: ir.Thunk, place: Place) -> None:
    params = distinct((name, thunk) for name in thunk.params)
    for name in sorted(params):
        require(name not in place.taken, f"the parameter {name} is a name of the kernel too")
    using = set(thunk.using)
    require(len(using) == len(thunk.using), "using lists a name twice")
    for name in thunk.using:
        require(name in place.scope.names, f"using lists {name}, which is not in scope")
    free = set(free_names(thunk.body)) - params - {"_"}
    for name in sorted(free - using):
        raise IllFormed(f"a thunk reads {name}, which its using does not list")
    for name in sorted(using - free):
        raise IllFormed(f"using lists {name}, which the thunk does not read")
    place.taken.update(params)
    check_expression(thunk.body, place)
    place.taken.difference_update(params)


def check_no_fold(exp: ir.Exp, where: str) -> None:
    require(not any(isinstance(e, ir.Fold) for e in subexpressions(exp)), f"a fold is in {where}, outside of thunks")


def check_scalar(param: ir.Param) -> None:
    require(param.type in SCALARS, f"the parameter {param.name} is not a scalar")


def check_scalar_function(function: ir.ScalarFunction, functions: Mapping[str, ir.ScalarFunction],
                          sites: Collection[str]) -> None:
    for param in function.params:
        check_scalar(param)
    for param in function.arrays:
        require(param.type in ELEMENTS, f"the elements of {param.name} have no type")
    taken = distinct((param.name, param) for param in (*function.params, *function.arrays))
    scope = Scope({param.name: param.type for param in function.params if param.name != "_"}, functions)
    scope.names.update((param.name, ir.Array(str(param.type), "_")) for param in function.arrays if param.name != "_")
    check_expression(function.body, Place(scope, taken, sites))
    check_no_fold(function.body, f"the scalar function {function.name}")
    own = tuple([param.name for param in function.arrays])
    for call in tail_calls(function.body):
        require(call.function != function.name or call.arrays == own,
                f"{function.name} goes round with other arrays than its own")
    types = type_of(function.body, scope)
    require(widened(types) == function.results,
            f"the body gives {shown(types)}, but the results are {shown(function.results)}")
