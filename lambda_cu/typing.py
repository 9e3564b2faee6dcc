"""Types of lambda_cu: of expressions, given what the names in scope are, and of what a binding binds.

An expression has a tuple of scalar types, of one item unless it is a tuple. What has no type raises IllFormed.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.base.widths import FITTING, WIDE, wide
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import OPS, result_type
from nessie.lambda_cu.scope import free_names, indices, outer_axes
from nessie.lambda_cu.spaces.rows import has_row
from nessie.lambda_cu.text.printer_expressions import show_type

Types = tuple[str, ...]

SCALARS = ("int", "float", "bool", "char")
ELEMENTS = (*SCALARS, *WIDE)
PYTHON: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float,), "bool": (bool,), "char": (str,)}


@dataclass
class Scope:
    """The types of the names in scope, and the program's scalar functions by name."""
    names: dict[str, ir.Type] = field(default_factory=dict)
    functions: Mapping[str, ir.ScalarFunction] = field(default_factory=dict)

    def with_names(self, names: Mapping[str, ir.Type]) -> Scope:
        return Scope({**self.names, **names}, self.functions)


def functions_of(program: ir.Program) -> dict[str, ir.ScalarFunction]:
    return {function.name: function for function in program.scalar_functions}


# Expressions ------------------------------------------------------------------------------------


def type_of(exp: ir.Exp, scope: Scope) -> Types:
    """The types of the expression's components."""
    match exp:
        case ir.Const(_, name):
            check_constant(exp)
            return (name,)
        case ir.Var(name):
            return (scalar_named(name, scope),)
        case ir.Op(op, arguments):
            return (operator_type(op, tuple([scalar_type(argument, scope) for argument in arguments])),)
        case ir.Read(array, index):
            require(wide(scalar_type(index, scope)) == "int", f"the index of {array} is not an int")
            return (array_named(array, scope).base,)
        case ir.If():
            return if_types(exp, scope)
        case ir.Let():
            return let_types(exp, scope)
        case ir.Fold():
            return fold_types(exp, scope)
        case ir.Tuple(items):
            return tuple([scalar_type(item, scope) for item in items])
        case ir.Fail(_, name):
            require(name in SCALARS, f"{name} is no scalar type")
            return (name,)
        case ir.CallScalar():
            return call_types(exp, scope)
    raise IllFormed(f"{type(exp).__name__} is no expression")


def scalar_type(exp: ir.Exp, scope: Scope) -> str:
    """The type of an expression that must be a single scalar."""
    types = type_of(exp, scope)
    require(len(types) == 1, "a tuple stands where a scalar is needed")
    return types[0]


def if_types(exp: ir.If, scope: Scope) -> Types:
    require(scalar_type(exp.condition, scope) == "bool", "the condition of an if is not a bool")
    then, orelse = type_of(exp.then, scope), type_of(exp.orelse, scope)
    if then != orelse:
        if widened(then) != widened(orelse):
            raise IllFormed(f"the branches of an if have the types {shown(then)} and {shown(orelse)}")
        return tuple([one if one == other else wide(one) for one, other in zip(then, orelse, strict=True)])
    return then


def let_types(exp: ir.Let, scope: Scope) -> Types:
    types = type_of(exp.value, scope)
    require(len(types) == len(exp.names), f"let ({', '.join(exp.names)}) binds a value of {len(types)} components")
    return types_inside(exp.body, zip(exp.names, types, strict=True), scope)


def fold_types(exp: ir.Fold, scope: Scope) -> Types:
    """What goes round is as wide as values are computed with."""
    require(scalar_type(exp.count, scope) == "int", "the count of a fold is not an int")
    types = widened(type_of(exp.start, scope))
    require(len(types) == len(exp.names), f"fold ({', '.join(exp.names)}) begins with {len(types)} components")
    found = types_inside(exp.body, [(exp.index, "int"), *zip(exp.names, types, strict=True)], scope)
    require(widened(found) == types, f"a fold begins with {shown(types)}, but goes on with {shown(found)}")
    return types


def types_inside(body: ir.Exp, bound: Iterable[tuple[str, str]], scope: Scope) -> Types:
    """The types of a body for which these names are bound. The scope is changed for the body and then restored, so
    that long chains of lets take linear time."""
    inner = dict(bound)
    outer = {name: scope.names.get(name) for name in inner}
    scope.names.update((name, type_) for name, type_ in inner.items() if name != "_")
    result = type_of(body, scope)
    for name, type_or_none in outer.items():
        if type_or_none is None:
            scope.names.pop(name, None)
        else:
            scope.names[name] = type_or_none
    return result


def call_types(call: ir.CallScalar, scope: Scope) -> Types:
    name = call.function
    function = scope.functions.get(name)
    if function is None:
        raise IllFormed(f"{name} is no scalar function of the program")
    arguments = tuple([scalar_type(argument, scope) for argument in call.arguments])
    expected = tuple([str(param.type) for param in function.params])
    require(widened(arguments) == expected, f"{name} takes {shown(expected)}, but gets {shown(arguments)}")
    arrays = tuple([array_named(array, scope).base for array in call.arrays])
    wanted = tuple([str(param.type) for param in function.arrays])
    require(arrays == wanted, f"{name} reads arrays of {shown(wanted)}, but gets such of {shown(arrays)}")
    return function.results


def operator_type(op: str, arguments: Types) -> str:
    result = result_type(op, arguments)
    if result is None:
        require(op in OPS, f"{op} is no operator")
        raise IllFormed(f"the operator {op} does not apply to {shown(arguments)}")
    return result


def check_constant(exp: ir.Const) -> None:
    good = exp.type in SCALARS and type(exp.value) in PYTHON[exp.type]
    require(good, f"{exp.value!r} is no constant of the type {exp.type}")
    if exp.type == "char":
        require(len(str(exp.value)) == 1, f"{exp.value!r} is not one character")
    if isinstance(exp.value, int):
        require(MIN_INT <= exp.value <= MAX_INT, f"{exp.value} is outside the ints")


def are_constants(values: Sequence[Any], type_: str) -> bool:
    """The conditions of check_constant, for many values at once, elements of any type."""
    if type_ in FITTING:
        low, high = FITTING[type_]
        return are_constants(values, wide(type_)) and (not values or (min(values) >= low and max(values) <= high))
    type_ = wide(type_)
    if type_ not in SCALARS or not set(PYTHON[type_]).issuperset(map(type, values)):
        return False
    if type_ == "char":
        return not set(map(len, values)) - {1}
    return type_ != "int" or not values or (min(values) >= MIN_INT and max(values) <= MAX_INT)


def scalar_named(name: str, scope: Scope) -> str:
    type_ = scope.names.get(name)
    if type_ is None:
        raise IllFormed(f"{name} is not in scope")
    if isinstance(type_, ir.Array):
        raise IllFormed(f"{name} is an array, not a scalar")
    return type_


def array_named(name: str, scope: Scope) -> ir.Array:
    type_ = scope.names.get(name)
    if type_ is None:
        raise IllFormed(f"{name} is not in scope")
    if not isinstance(type_, ir.Array):
        raise IllFormed(f"{name} is a scalar, not an array")
    return type_


# Spaces -----------------------------------------------------------------------------------------


def elements(space: ir.Space) -> ir.Size:
    """The number of indices of the space."""
    return space.size if isinstance(space, ir.Flat) else space.total


def index_count(space: ir.Space) -> int:
    """The number of parameters of a thunk over the space."""
    return len(indices(space))


def check_space(space: ir.Space, scope: Scope) -> None:
    """Every size is an int in scope; offsets are ints, one more than the segments."""
    match space:
        case ir.Flat(size):
            sizes: tuple[ir.Size, ...] = (size,)
        case ir.Uniform(segments, length, total, outer):
            sizes = (segments, length, total, *outer)
            require(len(outer) != 1, "a space has one outer axis, which its segments are")
        case ir.Closed(segments, terms, total):
            sizes = (segments, total)
            require(bool(terms), "a closed space has no term: it is uniform")
            for term in terms:
                check_term(term, scope)
        case ir.Nested(rows, lengths, sums, total):
            sizes = (total,)
            require(has_row(rows), "the rows of a nested space are not uniform or of lengths that rise by a number")
            require(bool(lengths and sums), "a nested space has no term: it is uniform")
            require(all(isinstance(c, ir.Binomial) and c.first == 0 and not c.doubling for c in lengths),
                    "the lengths of a nested space are no polynomials of the row's number")
            check_space(rows, scope)
            for term in (*lengths, *sums):
                check_term(term, scope)
        case ir.Irregular(segments, offsets, total):
            sizes = (segments, total)
            require(array_named(offsets, scope) == ir.Array("int", segments, 1),
                    f"{offsets} is not [int; {segments}+1], the offsets of {segments} segments")
        case _:
            raise IllFormed(f"{space!r} is no space")
    for size in sizes:
        check_size(size, scope)


def check_term(term: ir.Term, scope: Scope) -> None:
    check_size(term.first, scope)
    match term:
        case ir.Binomial(_, coefficients, _):
            require(bool(coefficients), "a term of a closed space has no coefficients")
            factors: tuple[ir.Size, ...] = coefficients
        case ir.Floor(_, factor, offset, divisor):
            require(divisor > 1, f"a term of a closed space is divided by {divisor}, which is not more than 1")
            check_size(offset, scope)
            factors = (factor,)
    for size in factors:
        check_scalar_size(size, scope)


def check_size(size: ir.Size, scope: Scope) -> None:
    check_scalar_size(size, scope)
    require(not isinstance(size, int) or size >= 0, f"the size {size} is negative")


def check_scalar_size(size: ir.Size, scope: Scope) -> None:
    if isinstance(size, str):
        require(scalar_named(size, scope) == "int", f"the size {size} is not an int")


def check_type(type_: ir.Type, scope: Scope) -> None:
    """A scalar, or an array of scalars whose size is in scope."""
    if isinstance(type_, ir.Array):
        require(type_.base in ELEMENTS, f"{type_.base} is no type of elements")
        require(type_.plus in (0, 1), "an array has its size or one element more")
        check_size(type_.size, scope)
    else:
        require(type_ in SCALARS, f"{type_} is no scalar type")


# SOACs ------------------------------------------------------------------------------------------


def thunk_types(thunk: ir.Thunk, params: Types, scope: Scope) -> Types:
    """The types of the thunk's results, its parameters having these types."""
    if len(thunk.params) != len(params):
        raise IllFormed(f"a thunk has the parameters ({', '.join(thunk.params)}), but {len(params)} are needed")
    inner = {name: scope.names[name] for name in thunk.using if name in scope.names}
    inner.update(zip(thunk.params, params, strict=True))
    return type_of(thunk.body, Scope(inner, scope.functions))


def index_thunk_types(thunk: ir.Thunk, space: ir.Space, scope: Scope) -> Types:
    return thunk_types(thunk, ("int",) * index_count(space), scope)


def check_interior(interior: ir.Interior | None, space: ir.Space, types: Types, scope: Scope) -> None:
    """Its thunk gives what the SOAC's gives, or, where that chooses between narrow numbers and wide ones, narrow ones;
    a segmented space's has rows, and its range is one of each segment."""
    if interior is None:
        return
    flat = isinstance(space, ir.Flat)
    require((interior.rows is None) == flat, f"the interior of a {'flat' if flat else 'segmented'} space has "
            f"{'no ' if flat else ''}rows")
    outer = outer_axes(space)
    walks = [] if interior.rows is None else [(interior.rows, 0, max(len(outer), 1))]
    for bounds, params, axes in (*walks, (interior.range, 0 if flat else len(outer) + 1, 1)):
        found = thunk_types(bounds, ("int",) * params, scope)
        require(found == ("int", "int") * axes, f"an interior is from an int to before an int, not {shown(found)}")
    check_inside(interior.thunk, "interior", space, types, scope)


def check_parts(parts: tuple[ir.Part, ...], space: ir.Space, types: Types, scope: Scope) -> None:
    """They are of a space whose axes each have one length, and boxes: their ranges are the same for all segments."""
    axes = (space.size,) if isinstance(space, ir.Flat) else space.axes if isinstance(space, ir.Uniform) else ()
    require(bool(axes) or not parts, "only spaces whose axes each have one length have parts")
    for part in parts:
        inside = part.inside
        check_interior(inside, space, types, scope)
        require(not set(free_names(inside.range.body)) & set(inside.range.params), "a part's range differs by segments")
        require(len(part.steps) == len(part.widths) == len(axes), f"a part has {len(axes)} steps and widths")
        require(all([1 <= width <= step for step, width in zip(part.steps, part.widths, strict=True)]),
                "a part's step is less than 1, or its width no number from 1 to that")


def check_inside(thunk: ir.Thunk, what: str, space: ir.Space, types: Types, scope: Scope) -> None:
    found = index_thunk_types(thunk, space, scope)
    require(len(found) == len(types) and all([type_ in (one, wide) for type_, one, wide
                                              in zip(types, found, widened(found), strict=True)]),
            f"the thunk gives {shown(types)}, but its {what} {shown(found)}")


def monoid_types(soac: ir.Reduce | ir.Scan | ir.ReduceByIndex, types: Types, scope: Scope) -> Types:
    """The carrier of the SOAC: what its thunk gives, its identity and its operator agree about it."""
    types = widened(types)
    identity = widened(tuple(scalar_type(exp, scope) for exp in soac.identity))
    require(identity == types, f"the thunk gives {shown(types)}, but the identity is {shown(identity)}")
    operator = thunk_types(soac.operator, types + types, scope)
    require(widened(operator) == types, f"the operator takes {shown(types)} twice, but gives {shown(operator)}")
    return types


def predicate_type(thunk: ir.Thunk, space: ir.Space, scope: Scope) -> None:
    require(index_thunk_types(thunk, space, scope) == ("bool",), "a predicate does not give a bool")


def bound_types(bind: ir.Bind, scope: Scope) -> tuple[ir.Type, ...]:
    """The types of what the binding binds, in order. Arrays of a FILTER have the bound count as size."""
    soac, names = bind.soac, bind.names
    if not isinstance(soac, ir.Once):
        check_space(soac.space, scope)
    match soac:
        case ir.Map(thunk, space, interior, parts):
            types = index_thunk_types(thunk, space, scope)
            check_interior(interior, space, types, scope)
            check_parts(parts, space, types, scope)
            return arrays(types, elements(space))
        case ir.Reduce(thunk, space=space, interior=interior, parts=parts):
            types = index_thunk_types(thunk, space, scope)
            check_interior(interior, space, types, scope)
            check_parts(parts, space, types, scope)
            types = monoid_types(soac, types, scope)
            return types if isinstance(space, ir.Flat) else arrays(types, segments(space))
        case ir.Scan(thunk, _, _, space, total):
            require(not total or isinstance(space, ir.Flat), "only a flat SCAN has its total at the end")
            types = monoid_types(soac, index_thunk_types(thunk, space, scope), scope)
            return arrays(types, elements(space), int(total))
        case ir.Filter(value, predicate, space):
            predicate_type(predicate, space, scope)
            survivors = arrays(index_thunk_types(value, space, scope), count_name(names, 0))
            return ("int", *survivors, *offsets_type(space))
        case ir.Partition(value, predicate, space):
            predicate_type(predicate, space, scope)
            types = index_thunk_types(value, space, scope)
            return ("int", "int", *arrays(types, count_name(names, 0)), *arrays(types, count_name(names, 1)),
                    ir.Array("int", elements(space)))
        case ir.Permute() | ir.ReduceByIndex():
            return write_types(soac, scope)
        case ir.Once(thunk):
            return widened(thunk_types(thunk, (), scope))
        case ir.Order(thunk, space, descending, values, firsts):
            types = index_thunk_types(thunk, space, scope)
            require(len(types) == 1, "ORDER has one key")
            require(not (firsts and (values or descending)), "firsts of an ORDER are positions in no order")
            return arrays(widened(types) if values else ("int",), elements(space))
    raise IllFormed(f"{type(soac).__name__} is no SOAC")


def write_types(soac: ir.Write, scope: Scope) -> tuple[ir.Type, ...]:
    types = index_thunk_types(soac.value, soac.space, scope)
    index = widened(index_thunk_types(soac.index, soac.space, scope))
    require(index == ("int",), "the index to write to is not an int")
    check_size(soac.size, scope)
    if isinstance(soac, ir.ReduceByIndex):
        types = widened(types)
    require(len(soac.before) == len(types), f"{len(types)} values are written where {len(soac.before)} are before")
    sized = None if isinstance(soac, ir.Permute) and soac.mode == "distinct" else soac.size
    before = tuple(element_before(exp, type_, sized, scope) for exp, type_ in zip(soac.before, types, strict=True))
    require(before == types, f"{shown(types)} are written where {shown(before)} are before")
    if isinstance(soac, ir.Permute):
        require(soac.mode in ("distinct", "all", "last"), f"{soac.mode} is no mode of PERMUTE")
    else:
        monoid_types(soac, types, scope)
    return arrays(types, soac.size)


def element_before(exp: ir.Exp, type_: str, size: ir.Size | None, scope: Scope) -> str:
    """The type of what places hold before something of the type is written there: a constant's, or an array's (of this
    size, if any)."""
    if isinstance(exp, ir.Const):
        found = scalar_type(exp, scope)
        return type_ if found == wide(type_) else found
    array = scope.names.get(exp.name) if isinstance(exp, ir.Var) else None
    if not isinstance(array, ir.Array) or array.plus or size not in (None, array.size):
        raise IllFormed(f"what is there before is a constant or an array{f' of {size} elements' if size else ''}")
    return array.base


def segments(space: ir.Space) -> ir.Size:
    if isinstance(space, ir.Flat):
        raise IllFormed("a flat space has no segments")
    return space.segments


def offsets_type(space: ir.Space) -> tuple[ir.Array, ...]:
    """The survivors' offsets that a segmented FILTER gives too."""
    return () if isinstance(space, ir.Flat) else (ir.Array("int", space.segments, 1),)


def count_name(names: tuple[str, ...], at: int) -> str:
    return names[at] if at < len(names) else "_"


def widened(types: Types) -> Types:
    """The types that values of these have where they are computed with."""
    return tuple([wide(type_) for type_ in types])


def arrays(types: Types, size: ir.Size, plus: int = 0) -> tuple[ir.Array, ...]:
    return tuple(ir.Array(base, size, plus) for base in types)


# Messages ---------------------------------------------------------------------------------------


def require(condition: bool, message: str) -> None:
    if not condition:
        raise IllFormed(message)


def shown(types: tuple[ir.Type, ...]) -> str:
    inside = ", ".join([show_type(t) for t in types])
    return inside if len(types) == 1 else f"({inside})"
