"""Scalar functions of a program -> loops functions of kind 'device'.

A call of itself in tail position becomes a jump back: the parameters are assigned anew and the loop goes round. Such a
loop has no known bound, so now and then it looks whether the run was interrupted, and whether it has gone round more
often than it may. Any other recursion is a call of the device function (cudagen.kernels.thunks says what it looks at
before). It takes the thread's stack, which CUDA's threads do not have: there it is refused.
"""
from __future__ import annotations

from nessie.base.call_graph import callees_first, components
from nessie.base.source import Unsupported, user_span
from nessie.cudagen.host.device import ENDLESS, FAILURE, NO_FAILURE, POLL_EVERY, ROUNDS, beyond_sites
from nessie.cudagen.kernels.code import Code, Value, error_key, identifier, integer, op, zero
from nessie.cudagen.kernels.thunks import Device, Tables, after_lets, evaluate, leave_failed, scalar, wary_name
from nessie.cudagen.loops import nodes as loops
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.running.recursion import counts_up, going_round, tail_calls
from nessie.lambda_cu.scope import calls_in, inner_calls


def tables_of(program: ir.Program, recursion: bool = True) -> Tables:
    """The sites' numbers, and how each scalar function is called; without `recursion`, such as loops only."""
    calls = graph_of(program)
    functions = {f.name: f for f in program.scalar_functions}
    devices: dict[str, Device] = {}
    for component in components(calls):                 # callees first
        members = [functions[name] for name in component]
        recurs = len(component) > 1 or not only_loops(members[0])
        if recurs and not recursion:
            raise refusal(members[0])
        callees = [devices[other] for name in component for other in calls[name] if other in devices]
        nests = recurs or any([d.nests for d in callees])
        failing = nests or any([d.fails for d in callees]) or any([fails(f.body) for f in members])
        polls = nests or any([d.polls for d in callees]) or component[0] in calls[component[0]]
        for f in members:
            devices[f.name] = Device(device_name(f), f.results, bool(f.arrays), failing, polls, nests)
    return Tables({site.name: number for number, site in enumerate(program.sites)}, devices,
                  {id(call): number for number, call in enumerate(inner_calls(program.scalar_functions))})


def device_name(f: ir.ScalarFunction) -> str:
    return f"scalar_{identifier(f.name)}"


def graph_of(program: ir.Program) -> dict[str, list[str]]:
    """The scalar functions that each one calls."""
    return {f.name: sorted(set(called(calls_in(f.body)))) for f in program.scalar_functions}


def device_functions(program: ir.Program, tables: Tables) -> tuple[loops.Function, ...]:
    """The device function of every scalar function, in the editions that are called; the called before the callers."""
    functions = {f.name: f for f in program.scalar_functions}
    order = callees_first(graph_of(program))[0]
    made = {(name, wary): device_function(functions[name], tables, wary) for name in reversed(order)
            for wary in (False, True) if not wary or name in tables.wary}
    missing = tables.wary - {name for name, wary in made if wary}
    while missing:
        made.update({(name, True): device_function(functions[name], tables, True) for name in sorted(missing)})
        missing = tables.wary - {name for name, wary in made if wary}
    return tuple([made[name, wary] for name in order for wary in (False, True) if (name, wary) in made])


def refusal(f: ir.ScalarFunction) -> Unsupported:
    span = user_span(f.origin)
    return Unsupported(f"{f.name} calls itself otherwise than as its last step, inside an apply-to-each",
                       *([(span, "defined here")] if span else []))


def called(calls: list[ir.CallScalar]) -> list[str]:
    return [call.function for call in calls]


def only_loops(f: ir.ScalarFunction) -> bool:
    """Is every call of itself its last step?"""
    return called(calls_in(f.body)).count(f.name) == called(tail_calls(f.body)).count(f.name)


def fails(exp: ir.Exp) -> bool:
    return any(isinstance(e, ir.Fail) for e in subexpressions(exp))


def device_function(f: ir.ScalarFunction, tables: Tables, wary: bool) -> loops.Function:
    """The function in the edition that trusts its arguments, or in the wary one."""
    device = tables.scalar_functions[f.name]
    code = Code({}, {})
    code.wary = wary
    parameters = [loops.Parameter(code.fresh(p.name), str(p.type)) for p in f.params]
    for p in f.arrays:
        parameters += array_parameters(code, p)
    if device.fails:
        parameters.append(loops.Parameter(code.fresh("index"), "int"))
        code.order_index, code.returns = loops.Name(parameters[-1].name), f.results
        code.add(loops.Var("failed", "int", integer(NO_FAILURE)))
    if device.nests:
        parameters += [loops.Parameter(name, "int") for name in loops.NESTING]
    if device.polls:
        parameters += [loops.Parameter(name, "int", True, True) for name in ("errors", "interrupt")]
    results = [Value(loops.Name(p.name), p.type, wary) for p in parameters[:len(f.params)]]
    if (again := going_round(f)) is not None:
        endless = None if counts_up(f) else beyond_sites(len(tables.sites), ENDLESS, tables.calls[id(again)])
        values = repeat(code, tables, f, results, endless)
    else:
        code.values.update({p.name: v for p, v in zip(f.params, results, strict=True)})
        values = evaluate(code, tables, f.body)
    key = (loops.Name("failed"),) if device.fails else ()
    code.add(loops.Return(tuple(v.exp for v in values) + key))
    name = wary_name(device.name) if wary else device.name
    return loops.Function(name, "device", tuple(parameters), tuple(code.statements),
                          f.results + (("int",) if device.fails else ()), origin=f.origin)


def array_parameters(code: Code, param: ir.Param) -> list[loops.Parameter]:
    """An array that the function is given, and its size."""
    array, base = code.fresh(param.name), str(param.type)
    size = code.fresh(f"{array}_size")
    code.given[param.name] = array
    code.arrays[array] = ir.Array(base, size)
    code.values[size] = Value(loops.Name(size), "int")
    return [loops.Parameter(array, base, True), loops.Parameter(size, "int")]


def repeat(code: Code, tables: Tables, f: ir.ScalarFunction, arguments: list[Value],
           endless: int | None) -> tuple[Value, ...]:
    """The body in a loop, for a function that calls itself in tail position; `endless`: the site of too many rounds,
    None if the loop certainly ends."""
    current = [code.var(p.name, a.type, a.exp) for p, a in zip(f.params, arguments, strict=True)]
    results = [code.var("result", t, zero(t)) for t in f.results]
    running = code.var("running", "bool", loops.Const(True, "bool"))
    rounds = code.var("rounds", "int", integer(0))
    with code.block() as body:
        code.values.update({p.name: Value(loops.Name(c), a.type, a.tainted)
                            for p, c, a in zip(f.params, current, arguments, strict=True)})
        step(code, tables, f, f.body, current, results, running)
        code.add(loops.Set(rounds, op("+", loops.Name(rounds), integer(1))))
        poll(code, rounds, running, endless)
    code.add(loops.While(loops.Name(running), tuple(body)))
    return tuple(Value(loops.Name(r), t) for r, t in zip(results, f.results, strict=True))


def step(code: Code, tables: Tables, f: ir.ScalarFunction, exp: ir.Exp, current: list[str], results: list[str],
         running: str) -> None:
    """One round: either the results are set, or the parameters for the next round."""
    exp = after_lets(code, tables, exp)
    match exp:
        case ir.If(condition, then, orelse):
            test = scalar(code, tables, condition).exp
            with code.block() as yes:
                step(code, tables, f, then, current, results, running)
            with code.block() as no:
                step(code, tables, f, orelse, current, results, running)
            code.add(loops.If(test, tuple(yes), tuple(no)))
        case ir.CallScalar(name, arguments) if name == f.name:
            values = [scalar(code, tables, a) for a in arguments]
            leave_failed(code)
            assign(code, current, values)
        case _:
            assign(code, results, list(evaluate(code, tables, exp)))
            code.add(loops.Set(running, loops.Const(False, "bool")))


def assign(code: Code, names: list[str], values: list[Value]) -> None:
    """All at once: a value may mention a variable that is assigned before it."""
    held = []
    for name, value in zip(names, values, strict=True):
        temporary = code.fresh(f"{name}_next")
        code.add(loops.Let(temporary, value.type, value.exp))
        held.append(temporary)
    for name, temporary in zip(names, held, strict=True):
        code.add(loops.Set(name, loops.Name(temporary)))


def poll(code: Code, rounds: str, running: str, site: int | None) -> None:
    """Stop when the interrupt word is set, or set it after too many rounds, which is an error of the site, if any."""
    stop = loops.Set(running, loops.Const(False, "bool"))
    with code.block() as look:
        if site is not None:
            code.add(loops.If(op(">", loops.Name(rounds), loops.Load("errors", integer(ROUNDS))), (
                loops.Atomic("min", "errors", integer(FAILURE), error_key(site)),
                loops.Store("interrupt", integer(0), integer(1)))))
        code.add(loops.If(op("/=", loops.Load("interrupt", integer(0), "volatile"), integer(0)), (stop,)))
    turn = op("and", loops.Name(rounds), integer(POLL_EVERY - 1))
    code.add(loops.If(op("==", turn, integer(0)), tuple(look)))
