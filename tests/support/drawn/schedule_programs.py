"""Random straight programs of flat lambda_cu that are well formed and touch all that fusion must get right: filters
and their survivors, segments, ranks, failures, scatters, scalars that the host looks at."""
from __future__ import annotations

import random

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope

ONE = ir.Const(1, "int")
ZERO = ir.Const(0, "int")


def op(name: str, *arguments: ir.Exp) -> ir.Exp:
    return ir.Op(name, arguments)


def thunk(params: tuple[str, ...], body: ir.Exp) -> ir.Thunk:
    return scope.thunk(params, body)


ADD = thunk(("x", "y"), op("+", ir.Var("x"), ir.Var("y")))
MAX = thunk(("x", "y"), op("max", ir.Var("x"), ir.Var("y")))
LAST = thunk(("x", "y"), ir.If(op("==", ir.Var("y"), ZERO), ir.Var("x"), ir.Var("y")))     # does not commute
OPERATORS = ((ADD, ZERO), (MAX, ir.Const(-2 ** 63, "int")), (LAST, ZERO))


class Writer:
    """Writes a function of ints, launch by launch."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kernels: list[ir.Kernel] = []
        self.statements: list[ir.Statement] = []
        self.sites: list[ir.Site] = []
        self.types: dict[str, ir.Type] = {"n": "int", "xs": ir.Array("int", "n"), "m": "int",
                                          "ls": ir.Array("int", "m")}
        self.spaces: list[ir.Space] = [ir.Flat("n"), ir.Flat("m")]
        self.number = 0

    def fresh(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def launch(self, soac: ir.Soac, results: list[tuple[str, ir.Type]]) -> None:
        """A kernel of its own for the binding; its parameters are called as their arguments."""
        used = list(scope.soac_names(soac))
        sized = dict.fromkeys([*(size for name in used for size in scope.type_names(self.types[name])), *used])
        params = sorted(sized, key=lambda name: isinstance(self.types[name], ir.Array))
        name = self.fresh("K")
        inner = {result: f"r{k}" for k, (result, _) in enumerate(results)}
        bind = ir.Bind(tuple(inner.values()), soac)
        self.kernels.append(ir.Kernel(name, tuple(ir.Param(p, self.types[p]) for p in params), (bind,),
                                      tuple(inner.values())))
        self.statements.append(ir.Run(tuple(ir.Param(*result) for result in results), name,
                                      tuple(map(ir.Var, params))))
        self.types.update(results)

    def arrays(self, size: ir.Size | None = None) -> list[str]:
        return [name for name, type_ in self.types.items() if isinstance(type_, ir.Array) and not type_.plus
                and (size is None or type_.size == size)]

    def params(self, space: ir.Space) -> tuple[str, ...]:
        return ("i",) if isinstance(space, ir.Flat) else ("s", "j", "i")

    def total(self, space: ir.Space) -> ir.Size:
        return space.size if isinstance(space, ir.Flat) else space.total

    def exp(self, space: ir.Space, depth: int = 2, fail: bool = True) -> ir.Exp:
        """An int at the index."""
        rng, size = self.rng, self.total(space)
        choice = rng.random()
        if depth == 0 or choice < 0.35:
            own = self.arrays(size)
            reads = own and rng.random() < 0.8
            return ir.Read(rng.choice(own), ir.Var("i")) if reads else ir.Const(rng.randint(-3, 3), "int")
        if choice < 0.42:
            return ir.Var(rng.choice(self.params(space)))
        if choice < 0.48 and not isinstance(space, ir.Flat):
            over = self.arrays(space.segments)
            return ir.Read(rng.choice(over), ir.Var("s")) if over else ir.Var("s")
        if choice < 0.55:
            scalars = [name for name, type_ in self.types.items() if type_ == "int"]
            return ir.Var(rng.choice(scalars))
        if choice < 0.62:
            array = rng.choice(self.arrays())
            type_ = self.types[array]
            assert isinstance(type_, ir.Array)
            index = self.exp(space, 0, False)
            bound: ir.Exp = ir.Var(type_.size) if isinstance(type_.size, str) else ir.Const(type_.size, "int")
            safe = op("and", op("<=", ZERO, ir.Var("at")), op("<", ir.Var("at"), bound))
            other = self.failure() if fail and rng.random() < 0.5 else ONE
            return ir.Let(("at",), index, ir.If(safe, ir.Read(array, ir.Var("at")), other))
        if choice < 0.68 and fail:
            return ir.If(op("<", self.exp(space, depth - 1, False), ir.Const(25, "int")), self.exp(space, 0, False),
                         self.failure())
        if choice < 0.78:
            return ir.If(self.test(space), self.exp(space, depth - 1, False), self.exp(space, depth - 1, fail))
        return op(rng.choice("+-*"), self.exp(space, depth - 1, fail), self.exp(space, depth - 1, fail))

    def failure(self) -> ir.Exp:
        site = f"e{len(self.sites)}"
        self.sites.append(ir.Site(site, f"failure {site}"))
        return ir.Fail(site, "int")

    def test(self, space: ir.Space) -> ir.Exp:
        return op(self.rng.choice(["<", ">", "==", "/="]), self.exp(space, 1, False), self.exp(space, 0, False))

    def step(self) -> None:
        """One launch, or one statement of the host."""
        rng = self.rng
        space = rng.choice(self.spaces[-3:] if rng.random() < 0.7 else self.spaces)
        size, params = self.total(space), self.params(space)
        body = thunk(params, self.exp(space))
        operator, identity = rng.choice(OPERATORS)
        kind = rng.choice(["map"] * 5 + ["reduce"] * 3 + ["scan", "filter", "filter", "partition", "permute", "once",
                                                          "host", "segments", "order", "zip"])
        made = ir.Array("int", size)
        match kind:
            case "map" if rng.random() < 0.3:
                both = thunk(params, ir.Tuple((body.body, self.exp(space))))
                self.launch(ir.Map(both, space), [(self.fresh("a"), made), (self.fresh("b"), made)])
            case "map":
                self.launch(ir.Map(body, space), [(self.fresh("a"), made)])
            case "reduce":
                result: ir.Type = "int" if isinstance(space, ir.Flat) else ir.Array("int", space.segments)
                self.launch(ir.Reduce(body, (identity,), operator, space), [(self.fresh("t"), result)])
            case "scan":
                self.launch(ir.Scan(body, (identity,), operator, space), [(self.fresh("c"), made)])
            case "filter":
                self.filter(space, body, thunk(params, self.test(space)))
            case "partition":
                t, f = self.fresh("k"), self.fresh("k")
                self.launch(ir.Partition(body, thunk(params, self.test(space)), space), [
                    (t, "int"), (f, "int"), (self.fresh("g"), ir.Array("int", t)),
                    (self.fresh("h"), ir.Array("int", f)), (self.fresh("p"), made)])
                self.spaces += [ir.Flat(t), ir.Flat(f)]
            case "permute":
                index = thunk(params, ir.If(self.test(space), ir.Var("i"), ir.Const(-1, "int")))
                mode = rng.choice(("last", "combined", "distinct"))
                plus = ir.Thunk(("x", "y"), op("+", ir.Var("x"), ir.Var("y")))
                self.launch(ir.ReduceByIndex(body, index, (ZERO,), plus, space, size, (ZERO,)) if mode == "combined"
                            else ir.Permute(body, index, space, size, (ZERO,), mode), [(self.fresh("q"), made)])
            case "once":
                scalars = [name for name, type_ in self.types.items() if type_ == "int"]
                body = op("+", ir.Var(rng.choice(scalars)), ir.Var(rng.choice(scalars)))
                self.launch(ir.Once(thunk((), body)), [(self.fresh("o"), "int")])
            case "host":
                scalars = [name for name, type_ in self.types.items() if type_ == "int"]
                name = self.fresh("z")
                value: ir.Exp = ir.Var(rng.choice(scalars))
                if rng.random() < 0.5:
                    value = op("+", value, ONE)
                if rng.random() < 0.3:
                    value = ir.If(op("<", value, ir.Const(40, "int")), value, self.failure())
                self.statements.append(ir.HostLet(ir.Param(name, "int"), value))
                self.types[name] = "int"
            case "segments":
                self.segments()
            case "zip":
                self.zip()
            case "order":
                self.launch(ir.Order(body, space, firsts=rng.random() < 0.5), [(self.fresh("d"), made)])

    def filter(self, space: ir.Space, value: ir.Thunk, predicate: ir.Thunk) -> None:
        k = self.fresh("k")
        results: list[tuple[str, ir.Type]] = [(k, "int"), (self.fresh("f"), ir.Array("int", k))]
        if not isinstance(space, ir.Flat):
            offsets = self.fresh("w")
            results.append((offsets, ir.Array("int", space.segments, 1)))
            self.spaces.append(ir.Irregular(space.segments, offsets, k))
        self.launch(ir.Filter(value, predicate, space), results)
        self.spaces.append(ir.Flat(k))

    def zip(self) -> None:
        """The host sees that two lengths are equal, so nothing asks again at an element."""
        flat = [space for space in self.spaces if isinstance(space, ir.Flat)]
        own, other = self.rng.sample(flat[:2] if self.rng.random() < 0.7 else flat, 2)
        equal = op("==", *(ir.Var(str(space.size)) for space in (own, other)))
        self.statements.append(ir.HostLet(ir.Param("_", "int"), ir.If(equal, ZERO, self.failure())))
        reads = [ir.Read(self.rng.choice(self.arrays(space.size)), ir.Var("i")) for space in (own, other)
                 if self.arrays(space.size)]
        self.launch(ir.Map(thunk(("i",), op("+", *reads) if len(reads) == 2 else ir.Var("i")), own),
                    [(self.fresh("a"), ir.Array("int", own.size))])

    def segments(self) -> None:
        """Segments over some flat space: lengths, their offsets, the total."""
        flat = [space for space in self.spaces if isinstance(space, ir.Flat)]
        over = self.rng.choice(flat)
        if self.rng.random() < 0.3:
            total = self.fresh("t")
            triple = op("*", ir.Var(str(over.size)), ir.Const(3, "int"))
            self.statements.append(ir.HostLet(ir.Param(total, "int"), triple))
            self.types[total] = "int"
            self.spaces.append(ir.Uniform(over.size, 3, total))
        else:
            length = op("and", self.exp(over, 1, False), ir.Const(3, "int"))
            offsets, total = self.fresh("w"), self.fresh("t")
            self.launch(ir.Scan(thunk(("i",), length), (ZERO,), ADD, over, total=True),
                        [(offsets, ir.Array("int", over.size, 1))])
            self.statements.append(ir.HostLet(ir.Param(total, "int"), ir.Read(offsets, ir.Var(str(over.size)))))
            self.types[total] = "int"
            self.spaces.append(ir.Irregular(over.size, offsets, total))
        if self.rng.random() < 0.5:
            self.spaces.append(ir.Flat(total))

    def program(self) -> ir.Program:
        """All that was made and a choice of it is returned: a pair of what fits the layouts."""
        rng = self.rng
        arrays = [name for name in self.arrays() if name not in ("xs", "ls")] or ["xs"]
        scalars = [name for name, type_ in self.types.items() if type_ == "int"]
        results: list[ir.Param] = []
        values: list[ir.Atom] = []
        layout: ir.Layout = ir.ScalarLayout("int")
        chosen = rng.sample(arrays, min(len(arrays), 3))
        for array in [arrays[-1], *(a for a in chosen if a != arrays[-1])]:
            type_ = self.types[array]
            assert isinstance(type_, ir.Array)
            size = f"size{len(results)}"
            results += [ir.Param(size, "int"), ir.Param(f"out{len(results)}", ir.Array("int", size))]
            values += [ir.Var(str(type_.size)), ir.Var(array)]
            layout = ir.PairLayout(ir.SeqLayout(ir.ScalarLayout("int")), layout)
        results.append(ir.Param("last", "int"))
        values.append(ir.Var(rng.choice(scalars)))
        params = tuple(ir.Param(name, self.types[name]) for name in ("n", "xs", "m", "ls"))
        function = ir.Function("main", params, tuple(results), ir.Block(tuple(self.statements), tuple(values)))
        seq = ir.SeqLayout(ir.ScalarLayout("int"))
        return ir.Program(tuple(self.sites), (), tuple(self.kernels), (function,), ir.Entry("main", (seq, seq), layout))


def random_program(seed: int, steps: int) -> ir.Program:
    writer = Writer(random.Random(seed))
    for _ in range(steps):
        writer.step()
    return writer.program()
