"""The host level's part of lambda_cu.check: blocks, runs, calls, and the entry."""
from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.base.widths import wide
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import check_cases
from nessie.lambda_cu.check_expressions import Place, check_expression, check_no_fold, distinct
from nessie.lambda_cu.layout import parameters
from nessie.lambda_cu.offers.rows import check_over
from nessie.lambda_cu.scope import results as results_of
from nessie.lambda_cu.scope import statements
from nessie.lambda_cu.text.printer_expressions import show_type
from nessie.lambda_cu.typing import (
    Scope,
    are_constants,
    check_constant,
    check_space,
    check_type,
    require,
    scalar_type,
)


@dataclass(frozen=True)
class Tables:
    """The tables that a program's functions are checked against."""
    kernels: Mapping[str, ir.Kernel]
    kernel_types: Mapping[str, tuple[ir.Type, ...]]
    functions: Mapping[str, ir.Function]
    scalars: Mapping[str, ir.ScalarFunction]
    sites: Collection[str]
    tunables: Collection[str] = ()


@dataclass
class Host(Place):
    """A place in a function. `constants` are the ints in scope that a let binds to a constant."""
    tables: Tables
    constants: dict[str, int] = field(default_factory=dict)


def check_function(function: ir.Function, tables: Tables) -> None:
    bound = [param for s in statements(function.body) for param in results_of(s)]
    taken = distinct((param.name, param) for param in (*function.params, *bound))
    host = Host(Scope({}, tables.scalars), taken, tables.sites, tables)
    bind_all(function.params, host)
    check_results(function.results, host)
    require(function.over is None or bool(function.apart), "only an offer is over a space")
    require(function.by is None or function.over is not None, "nobody walks what is over no space")
    if function.apart:
        check_offer(function, tables)
    if function.over is not None:
        check_space(function.over, host.scope)
    check_block(function.body, function.results, host)


def check_offer(function: ir.Function, tables: Tables) -> None:
    """What is called apart is there; it takes and gives what is offered, for one activation."""
    called = tables.functions.get(function.apart)
    if called is None:
        raise IllFormed(f"the program has no function {function.apart}")
    first = [function.params[0].type if function.params else "", function.results[0].type if function.results else ""]
    require(first == ["int", "bool"], "an offer takes first how many activations there are, and gives if it is done")
    if function.over is not None:
        check_over(function, called)
        return
    size = function.params[0].name
    for what, offered, its in (("takes", function.params[1:], called.params),
                               ("gives", function.results[1:], called.results)):
        found = [base_of(p.type, size) for p in offered]
        require(found == [base_of(p.type, "") for p in its], f"{function.apart} {what} other than what is offered")


def base_of(type_: ir.Type, size: str) -> tuple[str, bool]:
    """The type of an element, and whether there is an array of them for one activation; `size`: of all activations."""
    if isinstance(type_, ir.Array):
        own = type_.size != size
        return type_.base if own else wide(type_.base), own
    return type_, False


def check_results(results: tuple[ir.Param, ...], host: Host) -> None:
    """The results have different names; their types name parameters or earlier results."""
    distinct((result.name, result) for result in results)
    scope = host.scope.with_names({})
    for result in results:
        bring(result, scope)


def check_block(block: ir.Block, results: tuple[ir.Param, ...], host: Host) -> None:
    """The statements, in order; then the block's results, which have the types of `results`."""
    for statement in block.statements:
        check_statement(statement, host)
    agree("the block gives", results, block.results, host)
    for statement in block.statements:
        for result in results_of(statement):
            host.scope.names.pop(result.name, None)


def check_statement(statement: ir.Statement, host: Host) -> None:
    match statement:
        case ir.Run(results, kernel, arguments):
            check_run(results, kernel, arguments, host)
        case ir.Call(results, function, arguments):
            check_call(results, function, arguments, host)
        case ir.Effect(results, name, arguments, takes, gives):
            names = Names()
            agree(f"perform {name} gets", parameters(takes, names), arguments, host)
            check_given(f"perform {name}", results, parameters(gives, names), {})
            bind_all(results, host)
        case ir.HostLet(result, value):
            check_expression(value, host)
            check_no_fold(value, f"the let of {result.name}")
            type_ = scalar_type(value, host.scope)
            if wide(type_) != result.type:
                raise IllFormed(f"{result.name} : {show_type(result.type)} is bound to a value of {type_}")
            bind_all((result,), host)
            if isinstance(value, ir.Const) and isinstance(value.value, int):
                host.constants[result.name] = value.value
        case ir.Data(result, values):
            check_data(result, values, host.constants)
            bind_all((result,), host)
        case ir.Branch(results, condition, then, orelse):
            require(atom_type(condition, host) == "bool", "the condition of a branch is not a bool")
            check_block(then, results, host)
            check_block(orelse, results, host)
            bind_all(results, host)
        case ir.Choose(results, cases):
            check_cases(cases, host.scope, host.tables.tunables)
            for case in cases:
                check_block(case.block, results, host)
            bind_all(results, host)
        case _:
            raise IllFormed(f"{type(statement).__name__} is no statement")


def check_data(result: ir.Param, values: Sequence[int | float | bool | str], constants: Mapping[str, int]) -> None:
    type_ = result.type
    if not isinstance(type_, ir.Array):
        raise IllFormed(f"data {result.name} is not an array")
    size = constants.get(type_.size) if isinstance(type_.size, str) else type_.size
    require(size is not None and size + type_.plus == len(values),
            f"data {result.name} : {show_type(type_)} has {len(values)} elements")
    if not are_constants(values, type_.base):
        for value in values:
            check_constant(ir.Const(value, wide(type_.base)))
        raise IllFormed(f"data {result.name} : {show_type(type_)} has elements that do not fit")


def check_run(results: tuple[ir.Param, ...], name: str, arguments: tuple[ir.Atom, ...], host: Host) -> None:
    kernel = host.tables.kernels.get(name)
    if kernel is None:
        raise IllFormed(f"the program has no kernel {name}")
    sizes = agree(f"run {name} gets", kernel.params, arguments, host)
    given = tuple(map(ir.Param, kernel.returns, host.tables.kernel_types[name]))
    check_given(f"run {name}", results, given, sizes)
    bind_all(results, host)


def check_call(results: tuple[ir.Param, ...], name: str, arguments: tuple[ir.Atom, ...], host: Host) -> None:
    function = host.tables.functions.get(name)
    if function is None:
        raise IllFormed(f"the program has no function {name}")
    sizes = agree(f"call {name} gets", function.params, arguments, host)
    check_given(f"call {name}", results, function.results, sizes)
    bind_all(results, host)


def agree(what: str, params: tuple[ir.Param, ...], arguments: tuple[ir.Atom, ...], host: Host) -> dict[str, ir.Size]:
    """The arguments have the parameters' number and types; gives what the parameters are as sizes."""
    require(len(params) == len(arguments), f"{what} {len(arguments)} values, but {len(params)} are needed")
    sizes = {param.name: as_size(argument) for param, argument in zip(params, arguments, strict=True)
             if param.type == atom_type(argument, host) == "int"}
    for param, argument in zip(params, arguments, strict=True):
        check_argument(argument, what, param.name, with_size(param.type, sizes), host)
    return sizes


def check_argument(argument: ir.Atom, what: str, name: str, wanted: ir.Type, host: Host) -> None:
    found = atom_type(argument, host)
    if wanted != found:
        raise IllFormed(f"{what} {show_type(found)} for {name}, but {show_type(wanted)} is needed")


def check_given(what: str, results: tuple[ir.Param, ...], given: tuple[ir.Param, ...],
                sizes: dict[str, ir.Size]) -> None:
    """The names that are bound have the types of what is given, whose sizes are arguments or earlier results."""
    require(len(results) == len(given), f"{what} gives {len(given)} results, but {len(results)} names are bound")
    for result, value in zip(results, given, strict=True):
        check_result(result, what, value.type, sizes)
        if value.type == "int":
            sizes[value.name] = result.name


def check_result(result: ir.Param, what: str, given: ir.Type, sizes: Mapping[str, ir.Size]) -> None:
    size = given.size if isinstance(given, ir.Array) and result.name != "_" else 0
    if isinstance(size, str) and size not in sizes:
        raise IllFormed(f"{what} gives {show_type(given)}, but not its size {size} before it")
    type_ = with_size(given, sizes)
    if result.name != "_" and result.type != type_:
        raise IllFormed(f"{what} gives {show_type(type_)}, but {result.name} is {show_type(result.type)}")


def with_size(type_: ir.Type, sizes: Mapping[str, ir.Size]) -> ir.Type:
    if isinstance(type_, ir.Array) and isinstance(type_.size, str):
        return ir.Array(type_.base, sizes.get(type_.size, type_.size), type_.plus)
    return type_


def as_size(atom: ir.Atom) -> ir.Size:
    return atom.name if isinstance(atom, ir.Var) else int(atom.value)


def atom_type(atom: ir.Atom, host: Host) -> ir.Type:
    if isinstance(atom, ir.Const):
        if atom.type == "site":
            require(atom.value in host.sites, f"the program has no site {atom.value}")
            return atom.type
        check_constant(atom)
        return atom.type
    require(atom.name != "_", "_ is read")
    type_ = host.scope.names.get(atom.name)
    if type_ is None:
        raise IllFormed(f"{atom.name} is not in scope")
    return type_


def bind_all(params: tuple[ir.Param, ...], host: Host) -> None:
    """Bring the names into scope, one by one; `_` binds nothing."""
    for param in params:
        if param.name != "_":
            bring(param, host.scope)


def bring(param: ir.Param, scope: Scope) -> None:
    """Its type is one in this scope, into which it comes; `_` binds nothing."""
    check_type(param.type, scope)
    if param.name != "_":
        scope.names[param.name] = param.type


# The entry --------------------------------------------------------------------------------------


def check_entry(entry: ir.Entry, tables: Tables) -> None:
    """The entry's parameters and results are, in number and type, those of its layouts."""
    function = tables.functions.get(entry.function)
    if function is None:
        raise IllFormed(f"the program has no function {entry.function}")
    names, shared = Names(), dict[Hashable, str]()
    wanted = tuple(param for layout in entry.arguments for param in parameters(layout, names, shared=shared))
    compare("parameters", wanted, function.params)
    compare("results", parameters(entry.result, names), function.results)


def compare(what: str, wanted: tuple[ir.Param, ...], found: tuple[ir.Param, ...]) -> None:
    """Equal types, up to the names of sizes."""
    require(len(wanted) == len(found), f"the layouts have {len(wanted)} {what}, the function {len(found)}")
    sizes: dict[str, ir.Size] = {}
    for one, other in zip(wanted, found, strict=True):
        type_ = with_size(one.type, sizes)
        require(type_ == other.type, f"the layouts have {what} like {show_type(type_)} where the function has "
                                     f"{other.name} : {show_type(other.type)}")
        sizes[one.name] = other.name
