"""Thunk generators: what is computed at an index, written as loops statements and expressions.

    evaluate(code, tables, exp)      the values of a thread expression, one per component

A read at an index whose element registers hold (Code.known) is that register, any other read is a load. `if` stays
lazy: a branch that needs statements becomes one, two cheap expressions become a select. A failed check is recorded as
a key (site number, index) of which the least survives, and computing goes on with a zero: an index made of such a zero
is compared with its array's size before it is used, so nothing is read out of bounds after a failure.

A scalar function that has failed calls nothing more that can fail, and goes round no more: it returns zeros, and so do
scalar functions that have called it. So of what one element does, the first failure is the one that is known, and an
element that has failed ends. Recursion looks before each call: at its depth, at the stack, at the interrupt word.
"""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import InternalError
from nessie.base.widths import wide
from nessie.cudagen.host.device import DEPTH, NO_FAILURE, NO_STACK, STACK, TOO_DEEP, beyond_sites
from nessie.cudagen.kernels.code import Code, Value, error_key, integer, op, zero
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import parts
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import OPERATION, ROWS, result_type

CHEAP = 6                       # operators that are evaluated rather than branched around
COSTLY = frozenset(row.name for row in ROWS if row.cost != OPERATION)


@dataclass(frozen=True)
class Device:
    """The call of a scalar function: the device function, its results, and what it takes beyond its parameters."""
    name: str
    results: tuple[str, ...]
    reads: bool = False             # takes arrays, each with its size, and has a wary edition, for tainted arguments
    fails: bool = False             # takes the index, and has the error key as its last result
    polls: bool = False             # loops or recurs: takes the error words, which may end it
    nests: bool = False             # recurs, or calls what recurs: takes loops.NESTING


@dataclass(frozen=True)
class Tables:
    """The tables that thunks of a program may mention beside arrays and scalars."""
    sites: dict[str, int]
    scalar_functions: dict[str, Device]
    calls: dict[int, int] = field(default_factory=dict)     # numbers of scalar functions' calls, by identity
    wary: set[str] = field(default_factory=set)             # functions whose wary edition kernels call


def apply(code: Code, tables: Tables, thunk: ir.Thunk, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """The thunk's values with its parameters being these."""
    code.values.update(zip(thunk.params, arguments, strict=True))
    return evaluate(code, tables, thunk.body)


def compute_once(code: Code, tables: Tables, exp: ir.Exp, name: str) -> None:
    """Compute the expression, which the name may be bound to, now; until the end of the block, whoever computes it
    again uses what it was."""
    value = known = scalar(code, tables, exp)
    if isinstance(value.exp, loops.Op):
        known = code.once[value.exp] = code.let(name or "once", value)
    if name:
        code.values[name] = known


def after_lets(code: Code, tables: Tables, exp: ir.Exp) -> ir.Exp:
    """What the expression is after its Lets, which are computed."""
    while isinstance(exp, ir.Let):
        for name, value in zip(exp.names, evaluate(code, tables, exp.value), strict=True):
            if name != "_":
                code.values[name] = code.let(name, value)
        exp = exp.body
    return exp


def evaluate(code: Code, tables: Tables, exp: ir.Exp) -> tuple[Value, ...]:
    exp = after_lets(code, tables, exp)
    match exp:
        case ir.Const(constant_value, type_):
            return (Value(loops.Const(constant_value, type_), type_),)
        case ir.Var(name):
            return (variable(code, name),)
        case ir.Op(name, arguments):
            return (operator(code, name, tuple([scalar(code, tables, a) for a in arguments])),)
        case ir.Read(array, index):
            return (read(code, array, scalar(code, tables, index)),)
        case ir.If():
            return branch(code, tables, exp)
        case ir.Fold():
            return fold(code, tables, exp)
        case ir.Tuple(items):
            return tuple([scalar(code, tables, item) for item in items])
        case ir.Fail(site, type_):
            code.fail(tables.sites[site])
            return (Value(zero(type_), type_, tainted=True),)
        case ir.CallScalar():
            return call(code, tables, exp)
    raise TypeError(exp)


def scalar(code: Code, tables: Tables, exp: ir.Exp) -> Value:
    (value,) = evaluate(code, tables, exp)
    return value


def variable(code: Code, name: str) -> Value:
    if name in code.values:
        return code.values[name]
    if name not in code.scalars:
        raise InternalError(f"{name} is not known where a kernel reads it")
    return Value(code.scalar(name, code.scalars[name]), code.scalars[name])


def operator(code: Code, name: str, arguments: tuple[Value, ...]) -> Value:
    type_ = result_type(name, tuple(a.type for a in arguments))
    if type_ is None:
        raise InternalError(f"operator {name} does not apply to {', '.join(a.type for a in arguments)}")
    exp = loops.Op(name, tuple(a.exp for a in arguments))
    held = code.once.get(exp) if code.once else None
    return held or Value(exp, wide(type_), any(a.tainted for a in arguments))


def read(code: Code, array: str, index: Value) -> Value:
    sought = index.exp
    array, index = code.given.get(array, array), code.let("at", index)
    if isinstance(sought, loops.Op):
        code.once[sought] = index               # so that an element is known again
    held = code.known.get((array, index.exp))
    if held is not None:
        return held
    if array not in code.arrays:
        raise InternalError(f"a kernel reads {array}, which it makes itself, at another index than its own")
    type_ = code.arrays[array]
    base = wide(type_.base)
    if not index.tainted:
        return code.load(array, type_.base, index.exp)
    end = size_of(code, type_)
    result = code.var(f"{array}_at", base, zero(base))
    with code.block() as inside:
        value = code.load(array, type_.base, index.exp)
        code.add(loops.Set(result, value.exp))
    code.add(loops.If(op("and", op(">=", index.exp, integer(0)), op("<", index.exp, end)), tuple(inside)))
    return Value(loops.Name(result), base, tainted=True)


def size_of(code: Code, type_: ir.Array) -> loops.Exp:
    size = code.size(type_.size)
    return op("+", size, integer(type_.plus)) if type_.plus else size


def branch(code: Code, tables: Tables, exp: ir.If) -> tuple[Value, ...]:
    """Branches that only compute are both evaluated and one is selected, so that loops vectorise: where they are
    cheap, and where the other branch fails, since checks hardly ever fail."""
    condition = code.let("test", scalar(code, tables, exp.condition)).exp
    with code.block() as then:
        yes = evaluate(code, tables, exp.then)
    with code.block() as orelse:
        no = evaluate(code, tables, exp.orelse)
    for lets, values, other in ((then, yes, exp.orelse), (orelse, no, exp.then)):
        if (isinstance(other, ir.Fail) and computes(lets)) or cheap(lets, values):
            code.statements += lets
            lets.clear()
    if (not then and (not orelse or isinstance(exp.orelse, ir.Fail))) or (not orelse and isinstance(exp.then, ir.Fail)):
        if then:
            code.add(loops.If(condition, tuple(then)))
        if orelse:
            code.add(loops.If(op("not", condition), tuple(orelse)))
        return tuple(Value(op("select", condition, y.exp, n.exp), y.type, y.tainted or n.tainted)
                     for y, n in zip(yes, no, strict=True))
    names = [code.var("branch", y.type, zero(y.type)) for y in yes]
    then += [loops.Set(name, y.exp) for name, y in zip(names, yes, strict=True)]
    orelse += [loops.Set(name, n.exp) for name, n in zip(names, no, strict=True)]
    code.add(loops.If(condition, tuple(then), tuple(orelse)))
    return tuple(Value(loops.Name(name), y.type, y.tainted or n.tainted)
                 for name, y, n in zip(names, yes, no, strict=True))


def computes(statements: list[loops.Stmt]) -> bool:
    """Does nothing but give names to what operators make? Operators are total, so that may run at any time."""
    return all(isinstance(s, loops.Let) and not any(isinstance(e, (loops.Load, loops.Shuffle, loops.Vote, loops.Peers))
                                                    for e in parts(s.value)) for s in statements)


def cheap(statements: list[loops.Stmt], values: tuple[Value, ...]) -> bool:
    """Only computes, by few operators, none of them slow."""
    if not computes(statements):
        return False
    exps = [s.value for s in statements if isinstance(s, loops.Let)] + [value.exp for value in values]
    seen = 0
    for exp in exps:
        for part in parts(exp):
            if isinstance(part, loops.Op):
                seen += 1
                if part.op in COSTLY or seen > CHEAP:
                    return False
    return True


# Folds ------------------------------------------------------------------------------------------


def fold(code: Code, tables: Tables, exp: ir.Fold) -> tuple[Value, ...]:
    """A loop with a variable for each name."""
    count = code.let("count", scalar(code, tables, exp.count))
    start = evaluate(code, tables, exp.start)
    names = [code.var(name, v.type, v.exp) for name, v in zip(exp.names, start, strict=True)]
    index = code.fresh(exp.index)
    at = Value(loops.Name(index), "int", count.tainted)
    held = [Value(loops.Name(name), v.type, v.tainted or count.tainted) for name, v in zip(names, start, strict=True)]
    body, found = round_of(code, tables, exp, at, held)
    if any([v.tainted for v in found]):                 # so are the names in the next round
        held = [Value(v.exp, v.type, True) for v in held]
        body, found = round_of(code, tables, exp, at, held)
    code.add(loops.For(index, integer(0), count.exp, tuple(body)))
    return tuple(held)


def round_of(code: Code, tables: Tables, exp: ir.Fold, at: Value, held: list[Value]
             ) -> tuple[list[loops.Stmt], tuple[Value, ...]]:
    """One round, and what the names become in it."""
    code.values.update(zip((exp.index, *exp.names), (at, *held), strict=True))
    with code.block() as body:
        found = evaluate(code, tables, exp.body)
        if len(found) > 1:
            found = tuple([code.let("next", v) for v in found])
        for variable, v in zip(held, found, strict=True):
            assert isinstance(variable.exp, loops.Name)
            code.add(loops.Set(variable.exp.name, v.exp))
    return body, found


# Calls ------------------------------------------------------------------------------------------


def call(code: Code, tables: Tables, exp: ir.CallScalar) -> tuple[Value, ...]:
    device = tables.scalar_functions[exp.function]
    arguments = [scalar(code, tables, a) for a in exp.arguments]
    passed = [a.exp for a in arguments]
    for array in exp.arrays:
        passed += lent(code, code.given.get(array, array))
    if device.fails:
        leave_failed(code)
        passed.append(code.order_index)
    if device.nests:
        passed += nesting(code, tables, exp)
    if device.polls:
        passed += [words(code, "errors"), words(code, "interrupt")]
    names = [code.fresh(f"{device.name}_result") for _ in device.results]
    bound = list(names)
    if device.fails:
        bound.append(code.fresh("key"))
    name = device.name
    if device.reads and (code.wary if code.returns is not None else any([a.tainted for a in arguments])):
        tables.wary.add(exp.function)
        name = wary_name(name)
    code.add(loops.Call(tuple(bound), name, tuple(passed)))
    if device.fails and code.recording:
        code.add(loops.Set("failed", op("min", loops.Name("failed"), loops.Name(bound[-1]))))
        if code.returns is None:
            code.fails = True
        else:
            leave(code)
    tainted = device.fails or device.polls or any(a.tainted for a in arguments)
    return tuple(Value(loops.Name(n), t, tainted) for n, t in zip(names, device.results, strict=True))


def lent(code: Code, array: str) -> list[loops.Exp]:
    """An array as a scalar function takes it: itself and its size."""
    if array not in code.arrays:
        raise InternalError(f"a scalar function reads {array}, which the kernel makes itself")
    type_ = code.arrays[array]
    return [loops.Name(code.array(array, type_.base)), size_of(code, type_)]


def wary_name(device: str) -> str:
    return f"wary_{device}"


def words(code: Code, array: str) -> loops.Name:
    return loops.Name(code.array(array, "int", writable=True))


def leave_failed(code: Code) -> None:
    """A scalar function with checks before this returns if one has failed."""
    if code.returns is not None and code.fails:
        leave(code)


def leave(code: Code) -> None:
    code.fails = False
    code.add(loops.If(op("<", loops.Name("failed"), integer(NO_FAILURE)), (returned(code),)))


def returned(code: Code) -> loops.Return:
    """Return zeros, and the failure."""
    assert code.returns is not None
    return loops.Return((*[zero(type_) for type_ in code.returns], loops.Name("failed")))


def nesting(code: Code, tables: Tables, exp: ir.CallScalar) -> list[loops.Exp]:
    """The depth to which the called function may call in turn, and the end of the stack. A scalar function returns
    here rather than call too deep, or if it was interrupted; in a kernel is where recursion begins."""
    errors, frame = words(code, "errors").name, loops.Name(loops.FRAME)
    if code.returns is None:
        return [op("-", loops.Load(errors, integer(DEPTH)), integer(1)),
                op("-", frame, loops.Load(errors, integer(STACK)))]
    left, end = map(loops.Name, loops.NESTING)
    number, sites = tables.calls[id(exp)], len(tables.sites)
    deep, full = (op("+", error_key(beyond_sites(sites, what, number)), code.order_index)
                  for what in (TOO_DEEP, NO_STACK))
    too_deep, no_stack = op("<", left, integer(1)), op("<", frame, end)
    stopped = op("/=", loops.Load(words(code, "interrupt").name, integer(0), "volatile"), integer(0))
    key = op("select", too_deep, deep, op("select", no_stack, full, loops.Name("failed")))
    code.add(loops.If(op("or", op("or", too_deep, no_stack), stopped), (loops.Set("failed", key), returned(code))))
    return [op("-", left, integer(1)), end]
