"""The validator of loops: enforces the invariants in the header of cudagen.loops.nodes, and (plan_check) of
cudagen.loops.plan."""
from __future__ import annotations

import re

from nessie.base.source import IllFormed
from nessie.base.widths import WIDE, wide
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import (
    TEAMS,
    WARP,
    Atomic,
    Barrier,
    Call,
    Const,
    Exp,
    For,
    Function,
    If,
    Let,
    LoadPair,
    Name,
    Note,
    Parameter,
    Part,
    Pause,
    Prefetch,
    Return,
    Set,
    Shared,
    Stmt,
    Store,
    StorePair,
    Var,
    While,
)
from nessie.cudagen.loops.plan_check import check_plans
from nessie.cudagen.loops.typing import (
    SPECIAL,
    Scope,
    lookup,
    not_cuda,
    only_cuda,
    require,
    seen_by_all,
    type_of,
    want,
)

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
CALLED = ("device", "apart")
SCALARS = ("int", "float", "bool", "char")
ELEMENTS = (*SCALARS, *WIDE)
ATOMIC_TYPES = {"add": ("int", "float", "uint32"), "exchange": ("int", "float"),
                "min": ("int",), "max": SCALARS, "cas": ("int",)}


def check(module: Module) -> None:
    """IllFormed, naming function and invariant, unless the module is well formed."""
    functions: dict[str, Function] = {}
    for function in module.functions:
        define(function, functions)
    for function in module.functions:
        check_function(function, functions)
    check_plans(module.plans, functions)


def define(function: Function, functions: dict[str, Function]) -> None:
    require(function.name not in functions, "two functions have one name")
    functions[function.name] = function


def check_function(function: Function, functions: dict[str, Function]) -> None:
    try:
        FunctionCheck(function, functions).check()
    except IllFormed as error:
        error.args = (f"function {function.name}: {error}",)
        raise


class FunctionCheck:
    """The check of one function: `bound` are the names it has bound anywhere so far."""

    def __init__(self, function: Function, functions: dict[str, Function]) -> None:
        self.function, self.functions = function, functions
        self.bound: set[str] = set()

    def check(self) -> None:
        function = self.function
        require(IDENTIFIER.match(function.name) is not None, f"{function.name!r} is no identifier")
        require(function.kind in ("host", "cuda", "device", "apart"), f"kind {function.kind} does not exist")
        require(function.kind in CALLED or not function.results, f"kind {function.kind} has no results")
        require(all(r in SCALARS for r in function.results), "results are scalars")
        scope = Scope(function.kind)
        for parameter in function.parameters:
            self.parameter(parameter, scope)
        self.leading_shared(function.body, scope)
        ends = self.block(function.body, scope)
        require(ends or not function.results, "a path ends without Return")

    def parameter(self, parameter: Parameter, scope: Scope) -> None:
        self.bind(parameter.name)
        require(parameter.type in (ELEMENTS if parameter.array else SCALARS), f"type {parameter.type} does not exist")
        require(parameter.array or not parameter.writable, f"{parameter.name} is writable, but no array")
        (scope.arrays if parameter.array else scope.scalars)[parameter.name] = parameter.type
        if parameter.writable:
            scope.writable.add(parameter.name)

    def leading_shared(self, body: tuple[Stmt, ...], scope: Scope) -> None:
        for statement in body:
            if not isinstance(statement, Shared):
                return
            self.shared(statement, scope)

    def shared(self, statement: Shared, scope: Scope) -> None:
        require(self.function.kind != "device", "a device function has Shared")
        require(statement.size > 0, f"shared array {statement.name} is empty")
        self.bind(statement.name)
        scope.arrays[statement.name] = statement.type
        scope.writable.add(statement.name)
        scope.shared.add(statement.name)

    def bind(self, name: str) -> None:
        require(IDENTIFIER.match(name) is not None, f"{name!r} is no identifier")
        require(name not in SPECIAL, f"{name} is a special name, it cannot be bound")
        require(name not in self.bound, f"{name} is bound twice")
        self.bound.add(name)

    def block(self, body: tuple[Stmt, ...], scope: Scope) -> bool:
        """Checks the statements in order, binding in `scope`. True if no path reaches the end."""
        ended = False
        for statement in body:
            ended = self.statement(statement, scope, ended)
        return ended

    def inner(self, body: tuple[Stmt, ...], scope: Scope) -> bool:
        """Check a block whose names are gone after it."""
        before, arrays = len(scope.scalars), len(scope.arrays)
        ended = self.block(body, scope)
        while len(scope.scalars) > before:
            scope.variables.discard(scope.scalars.popitem()[0])
        while len(scope.arrays) > arrays:
            scope.writable.discard(scope.arrays.popitem()[0])
        return ended

    def statement(self, statement: Stmt, scope: Scope, ended: bool) -> bool:
        """True if no path goes on after the statement."""
        require(not ended, "a statement follows where every path has returned")
        match statement:
            case Let(name, type_, value) | Var(name, type_, value):
                want(f"value of {name}", type_of(value, scope), type_)
                self.scalar(name, type_, scope)
                if isinstance(statement, Var):
                    scope.variables.add(name)
            case Set(name, value):
                require(name in scope.variables, f"{name} is set, but no var {name} is in scope")
                want(f"value of {name}", type_of(value, scope), scope.scalars[name])
            case Store(array, index, value, release):
                type_ = self.target(array, scope)
                want("index", type_of(index, scope), "int")
                want("stored value", type_of(value, scope), wide(type_))
                if release:
                    only_cuda(scope, "release")
                    seen_by_all(scope, "release", array)
                    want("what is released", type_, "int")
            case StorePair(array, index, first, second):
                self.pair(array, index, scope)
                want("the first of a pair", type_of(first, scope), "int")
                type_of(second, scope)
            case LoadPair((first, second), type_, array, index):
                self.pair(array, index, scope)
                require(type_ in SCALARS, f"type {type_} does not exist")
                self.scalar(first, "int", scope)
                self.scalar(second, type_, scope)
            case Part(name, type_, array, offset):
                not_cuda(scope, "Part")
                lookup(array, scope.arrays, "array")
                require(type_ in ELEMENTS, f"type {type_} does not exist")
                want("offset", type_of(offset, scope), "int")
                self.bind(name)
                scope.arrays[name] = type_
                if array in scope.writable:
                    scope.writable.add(name)
            case Prefetch(array, index):
                not_cuda(scope, "Prefetch")
                lookup(array, scope.arrays, "array")
                want("index", type_of(index, scope), "int")
            case For() | While() | If():
                return self.compound(statement, scope)
            case Atomic():
                self.atomic(statement, scope)
            case Call():
                self.call(statement, scope)
            case Return(values):
                types = tuple(type_of(v, scope) for v in values)
                require(types == self.function.results, f"returns {types}, not {self.function.results}")
                return True
            case Shared(name):
                require(name in self.top(), f"shared array {name} is not at the top")
            case Barrier(warp, lanes):
                only_cuda(scope, "Barrier")
                require(lanes in TEAMS and (warp or lanes == WARP), f"{lanes} lanes do not meet by themselves")
            case Pause() | Note():
                only_cuda(scope, type(statement).__name__)
        return False

    def top(self) -> set[str]:
        """The shared arrays that stand where they must."""
        names = set()
        for statement in self.function.body:
            if not isinstance(statement, Shared):
                break
            names.add(statement.name)
        return names

    def scalar(self, name: str, type_: str, scope: Scope) -> None:
        self.bind(name)
        scope.scalars[name] = type_

    def target(self, array: str, scope: Scope) -> str:
        """The type of an array that is written."""
        type_ = lookup(array, scope.arrays, "array")
        require(array in scope.writable, f"array {array} is not writable")
        return type_

    def pair(self, array: str, index: Exp, scope: Scope) -> None:
        only_cuda(scope, "a pair")
        seen_by_all(scope, "a pair", array)
        want("what has pairs", self.target(array, scope), "int")
        want("index", type_of(index, scope), "int")

    def compound(self, statement: For | While | If, scope: Scope) -> bool:
        match statement:
            case For(index, low, high, body, step):
                for bound in (low, high, step):
                    want("a bound of a loop", type_of(bound, scope), "int")
                positive = isinstance(step, Name) or (isinstance(step, Const) and int(step.value) > 0)
                require(positive, f"the step of loop {index} is no positive constant or name")
                self.scalar(index, "int", scope)
                self.inner(body, scope)
                del scope.scalars[index]
                return False
            case While(condition, body):
                want("condition", type_of(condition, scope), "bool")
                self.inner(body, scope)
                return condition == Const(True, "bool")
            case If(condition, then, orelse):
                want("condition", type_of(condition, scope), "bool")
                ends = [self.inner(branch, scope) for branch in (then, orelse)]
                return all(ends)
        raise TypeError(statement)

    def atomic(self, statement: Atomic, scope: Scope) -> None:
        type_ = self.target(statement.array, scope)
        want("index", type_of(statement.index, scope), "int")
        require(statement.op in ATOMIC_TYPES, f"atomic {statement.op} does not exist")
        require(type_ in ATOMIC_TYPES[statement.op], f"atomic {statement.op} does not apply to {type_}")
        if statement.op == "max" and type_ != "int":
            only_cuda(scope, f"atomic max of {type_}")
            seen_by_all(scope, f"atomic max of {type_}", statement.array)
            require(statement.result is None, f"atomic max of {type_} has no result")
        if type_ == "uint32":
            only_cuda(scope, "atomic add of uint32")
            require(statement.result is None, "atomic add of uint32 has no result")
        if statement.ordered:
            only_cuda(scope, "ordered")
            seen_by_all(scope, "ordered", statement.array)
            require(statement.op == "add" and type_ == "int", "what is ordered is no add of ints")
        require((statement.op == "cas") == (statement.compare is not None), "cas, and only cas, compares")
        for value in (statement.value, statement.compare):
            if value is not None:
                want("value of an atomic", type_of(value, scope), wide(type_))
        if statement.result is not None:
            self.scalar(statement.result, type_, scope)

    def call(self, statement: Call, scope: Scope) -> None:
        callee = self.functions.get(statement.function)
        if callee is None or callee.kind not in CALLED:
            raise IllFormed(f"calls {statement.function}, which is no device function of the module")
        require(callee.kind == "device" or scope.kind in ("host", "apart"),
                f"a function of kind {scope.kind} calls {callee.name}, of kind apart")
        require(len(statement.arguments) == len(callee.parameters), f"{callee.name} is called with too few or many")
        written: list[str] = []
        passed: list[str] = []
        for argument, parameter in zip(statement.arguments, callee.parameters, strict=True):
            if not parameter.array:
                want(f"argument {parameter.name}", type_of(argument, scope), parameter.type)
                continue
            name = argument.name if isinstance(argument, Name) else ""
            want(f"argument {parameter.name}", lookup(name, scope.arrays, "array"), parameter.type)
            require(not parameter.writable or name in scope.writable, f"array {name} is not writable")
            passed.append(name)
            written += [name] if parameter.writable else []
        require(all(passed.count(name) == 1 for name in written), "a writable array is passed twice")
        require(len(statement.names) == len(callee.results), f"{callee.name} has {len(callee.results)} results")
        for name, type_ in zip(statement.names, callee.results, strict=True):
            self.scalar(name, type_, scope)
