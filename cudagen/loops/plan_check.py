"""The validator of plans: enforces the invariants in the header of cudagen.loops.plan, no more and no less."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nessie.base.source import IllFormed
from nessie.base.widths import WIDE, wide
from nessie.cudagen.loops.nodes import CHUNK_RANGE, Const, Exp, Function, Load, Name, Op, Parameter, Store
from nessie.cudagen.loops.plan import (
    CELL_STRIDE,
    EPOCH,
    LIBRARY,
    SHARED,
    SIZE_CONDITIONS,
    SIZE_OPERATORS,
    WORKERS,
    Buffer,
    Input,
    Phase,
    Plan,
    Result,
    ScalarResult,
    Shape,
)
from nessie.cudagen.loops.typing import SPECIAL, constant_type, require, want
from nessie.cudagen.loops.walk import statements
from nessie.lambda_cu.check import within

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
WORDS = ("int", "float")                # types whose elements are words of 8 bytes


def check_plans(plans: tuple[Plan, ...], functions: Mapping[str, Function]) -> None:
    """IllFormed, naming plan and invariant, unless the plans are well formed; the functions are."""
    names = set[str]()
    for number, plan in enumerate(plans):
        check_plan(plan, names, functions)
        if plan.alone is not None:
            with within(f"plan {plan.name}"):
                check_alone(plan, {p.name: p for p in plans[number + 1:]}.get(plan.alone.plan))


def check_alone(plan: Plan, alone: Plan | None) -> None:
    """`alone`: the plan behind it that does the same for one chunk."""
    require(alone is not None, "no plan behind it does the same for one chunk")
    assert alone is not None
    require(alone.alone is None and alone.parameters == plan.parameters,
            f"{alone.name} is to do the same, and has other parameters")
    require(results_of(alone) == results_of(plan), f"{alone.name} is to do the same, and has other results")


def results_of(plan: Plan) -> list[tuple[str, bool]]:
    """The types of the plan's results, and whether they are arrays."""
    bases = {buffer.name: buffer.base for phase in plan.phases for buffer in phase.buffers}
    return [(r.base, False) if isinstance(r, ScalarResult) else (bases.get(r.buffer, ""), True) for r in plan.results]


def check_plan(plan: Plan, names: set[str], functions: Mapping[str, Function]) -> None:
    """`names`: those of plans before it."""
    require(plan.name not in names, "two plans have one name")
    names.add(plan.name)
    with within(f"plan {plan.name}"):
        PlanCheck(plan, functions).check()


class PlanCheck:
    """The check of one plan, phase by phase: what has been bound and stored so far."""

    def __init__(self, plan: Plan, functions: Mapping[str, Function]) -> None:
        self.plan, self.functions = plan, functions
        self.scalars: dict[str, str] = {WORKERS: "int", EPOCH: "int"}
        self.arrays: dict[str, str] = {}
        self.stored: set[tuple[int, str]] = set()       # cells, and the types that are stored there
        self.kinds: set[str] = set()
        self.kept: set[str] = set()

    def check(self) -> None:
        for parameter in self.plan.parameters:
            self.parameter(parameter)
        for parameter in self.plan.parameters:
            if parameter.size is not None:
                self.size(parameter.size, f"the size of {parameter.name}")
        if self.plan.alone is not None:
            self.size(self.plan.alone.chunks, "the number of chunks")
        for phase in self.plan.phases:
            with within(f"phase {phase.function}"):
                self.phase(phase)
        require(not self.kept or self.kinds == {"cuda"}, "a buffer is kept, which only GPUs do")
        self.size(self.plan.elements, "the number of elements")
        for result in self.plan.results:
            self.result(result)

    def parameter(self, parameter: Input) -> None:
        self.bind(parameter.name, parameter.base, self.scalars if parameter.size is None else self.arrays)

    def result(self, result: Result) -> None:
        if isinstance(result, ScalarResult):
            require((result.slot, result.base) in self.stored,
                    f"no phase stores the {result.base} {result.name} in cells[{result.slot}]")
            return
        require(result.buffer in self.buffers(), f"result {result.buffer} is no buffer")
        require(result.buffer not in self.kept, f"result {result.buffer} is kept")
        base = self.arrays[result.buffer]
        require(result.last is None or (result.last, base) in self.stored,
                f"no phase stores the last {base} of {result.buffer} in cells[{result.last}]")
        if result.length is not None:
            self.size(result.length, f"the length of {result.buffer}")

    def bind(self, name: str, base: str, names: dict[str, str]) -> None:
        require(IDENTIFIER.match(name) is not None, f"{name!r} is no identifier")
        require(name not in (*SHARED, *SPECIAL), f"{name} is a special name, it cannot be bound")
        require(name not in self.scalars and name not in self.arrays, f"{name} is bound twice")
        names[name] = base

    def buffers(self) -> set[str]:
        return self.arrays.keys() - {p.name for p in self.plan.parameters}

    # Phases -------------------------------------------------------------------------------------

    def phase(self, phase: Phase) -> None:
        for buffer in phase.buffers:
            self.buffer(buffer)
        if phase.chunks is not None:
            self.size(phase.chunks, "the number of chunks")
        if phase.shape is not None:
            self.shape(phase.shape, phase)
        if phase.library:
            self.library(phase)
            return
        function = self.functions.get(phase.function)
        if function is None or function.kind == "device":
            raise IllFormed("it is no host or cuda function of the module")
        self.kind(function.kind)
        first = chunk_range(function)
        if function.kind == "host":
            require(bool(first) == (phase.chunks is not None),
                    "a function is called in chunks if, and only if, it begins with the range of chunks")
        require(bool(first) or not phase.in_order, "only chunks of the CPU have an order")
        if phase.chains is not None:
            require(phase.in_order, "only what has an order has chains")
            self.size(phase.chains, "the number of chains")
        self.arguments(phase, function.parameters[first:], function.kind)
        self.stored.update(self.stores(phase, function, first))

    def shape(self, shape: Shape, phase: Phase) -> None:
        self.kind("cuda")
        require(phase.chunks is None, "a function whose launch has a shape is called once")
        for what, sizes in (("blocks", shape.grid), ("threads", shape.block)):
            require(len(sizes) == 3, f"a launch has three numbers of {what}")
            for size in sizes:
                self.size(size, f"the number of {what}")

    def kind(self, kind: str) -> None:
        self.kinds.add(kind)
        require(len(self.kinds) == 1, f"phases of kind {' and '.join(sorted(self.kinds))} are in one plan")

    def buffer(self, buffer: Buffer) -> None:
        self.size(buffer.size, f"the size of {buffer.name}")
        require(buffer.base in CELL_STRIDE or buffer.base in WIDE, f"type {buffer.base} does not exist")
        if buffer.fill is not None:
            constant_type(buffer.fill, wide(buffer.base))
        if buffer.copy:
            given = {p.name: p for p in self.plan.parameters}.get(buffer.copy)
            require(given is not None and given.size is not None and given.base == buffer.base,
                    f"{buffer.name} is a copy of {buffer.copy}, which is no array parameter of its type")
            require(buffer.fill is None, f"{buffer.name} is a copy, and filled")
        if buffer.kept:
            require(buffer.base == "int", f"{buffer.name} is kept, and not of ints")
            require(buffer.fill is None and not buffer.copy, f"{buffer.name} is kept, and begins with something else")
            self.kept.add(buffer.name)
        self.bind(buffer.name, buffer.base, self.arrays)

    def library(self, phase: Phase) -> None:
        """The values may be of any type."""
        require(phase.function in LIBRARY, "the library has no such function")
        self.kind("host")
        require(phase.chunks is None, "functions of the library are called once")
        named = [a.name for a in phase.arguments if isinstance(a, Name)]
        base = self.arrays.get(named[0], "") if named else ""
        self.arguments(phase, (Parameter("values", base, True), Parameter("sorted", base, True, True)), "host")

    def arguments(self, phase: Phase, parameters: tuple[Parameter, ...], kind: str) -> None:
        require(len(phase.arguments) == len(parameters),
                f"it takes {len(parameters)} arguments, and gets {len(phase.arguments)}")
        passed: list[str] = []
        written: list[str] = []
        for argument, parameter in zip(phase.arguments, parameters, strict=True):
            if not parameter.array:
                self.scalar(argument, parameter, kind)
                continue
            name = self.array(argument, parameter)
            passed.append(name)
            written += [name] if parameter.writable else []
        for name in written:
            require(name in self.buffers() or name in SHARED, f"{name} is written, but given")
            require(passed.count(name) == 1 or name == "cells", f"{name} is written, and passed twice")

    def scalar(self, argument: Exp, parameter: Parameter, kind: str) -> None:
        if isinstance(argument, Name) and argument.name in self.scalars:
            want(f"argument {parameter.name}", self.scalars[argument.name], parameter.type)
            return
        require(kind == "cuda", f"argument {parameter.name} is no scalar parameter of the plan")
        want(f"argument {parameter.name}", "int", parameter.type)
        self.size(argument, f"argument {parameter.name}")

    def array(self, argument: Exp, parameter: Parameter) -> str:
        """Its name."""
        name, what = argument.name if isinstance(argument, Name) else "", f"argument {parameter.name}"
        if name in SHARED:
            want(what, parameter.type if name == "cells" else "int", parameter.type)
            return name
        require(name in self.arrays, f"{what} is no array of the plan")
        found = self.arrays[name]
        if not (found in WORDS and parameter.type in WORDS):
            want(what, found, parameter.type)
        return name

    # Sizes and cells ----------------------------------------------------------------------------

    def size(self, exp: Exp, what: str) -> None:
        match exp:
            case Const(value, "int"):
                constant_type(value, "int")
            case Name(name):
                require(self.scalars.get(name) == "int", f"{what} reads {name}, which is no int parameter")
            case Load("cells", Const(int() as slot), ""):
                require((slot, "int") in self.stored,
                        f"{what} reads cells[{slot}], where no phase before it stores an int")
            case Op(op, (left, right)) if op in SIZE_OPERATORS:
                self.size(left, what)
                self.size(right, what)
            case Op("select", (condition, then, orelse)):
                self.condition(condition, what)
                self.size(then, what)
                self.size(orelse, what)
            case _:
                raise IllFormed(f"{what} is none that is made of ints, int parameters, cells and "
                                f"{' '.join(SIZE_OPERATORS)}")

    def condition(self, exp: Exp, what: str) -> None:
        match exp:
            case Op("and", (left, right)):
                self.condition(left, what)
                self.condition(right, what)
            case Op(op, (left, right)) if op in SIZE_CONDITIONS:
                self.size(left, what)
                self.size(right, what)
            case _:
                raise IllFormed(f"{what} is selected by what is no comparison of sizes")

    def stores(self, phase: Phase, function: Function, first: int) -> Iterator[tuple[int, str]]:
        """The cells that the function stores, with their types."""
        types = {p.name: p.type for p, a in zip(function.parameters[first:], phase.arguments, strict=True)
                 if a == Name("cells")}
        for statement in statements(function.body):
            match statement:
                case Store(array, Const(int() as at), _) if array in types:
                    slot, rest = divmod(at, CELL_STRIDE[types[array]])
                    require(rest == 0 and slot < self.plan.cells,
                            f"it stores {array}[{at}], where none of the {self.plan.cells} cells begins")
                    yield slot, types[array]


def chunk_range(function: Function) -> int:
    """The number of parameters that are the range of chunks: two or none."""
    names = tuple([p.name for p in function.parameters[:2]])
    return 2 if function.kind == "host" and names == CHUNK_RANGE else 0
