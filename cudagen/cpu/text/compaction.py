"""Loops that keep some elements, several at a time, where a processor moves the lanes of a vector (AVX2, AVX-512).

    for (i = low; i < high; i += 1) {
      float x = xs[i];                              x, holds: of four elements, or eight
      bool holds = x < h;                           those of x that hold go to the first lanes,
      int rank = count;                      ->     and all lanes to ys[count ..]
      ys[rank] = x;                                 count grows by the bits of holds
      count = count + btoi(holds);
    }

It is what skeletons.survivors makes of a FILTER: what does not survive is overwritten by what comes next. Up to an
element there are as many survivors as elements at most, so there is room for all lanes; or a limit is given.

    AVX2        four lanes, moved as a table says. Near a limit they are stored one by one. The rest of the elements,
                three at most, take the loop as it was.
    AVX-512     eight lanes, moved by an instruction for it. Where there is a limit, only those that survive are stored,
                and these lie before it. The rest of the elements are one vector more, of which some lanes live: so few
                elements take no loop at all.
"""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.cudagen.cpu.rewrites.ranges import fixed, moved_by
from nessie.cudagen.cpu.text.expressions import Expressions
from nessie.cudagen.cpu.text.operators import COMPARED, COMPUTED, TYPES, Value
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.nodes import Const, Exp, For, If, Let, Load, Name, Op, Set, Stmt, Store
from nessie.cudagen.loops.walk import all_parts, changed_names

LANES = 4
WIDE_LANES = 8
WIDE = frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq"})
KEPT = ("int", "float")                         # types of elements that are as wide as a lane
TYPED = (*KEPT, "bool")
TABLE = "@compaction"
LETTERS = {"int": "i64", "float": "f64", "bool": "i8"}      # in names of functions on vectors


# What fits ----------------------------------------------------------------------------------------


@dataclass
class Compaction:
    """What is known of a loop that can go by vectors: `vectors` are the names of what differs from element to element,
    with their types; `moved`, of them, what the index is plus something fixed; `alike` is the same for all, though the
    loop says it; `ranks` are names for what `counts`, variables, hold; these count the elements where a condition
    holds."""
    changing: set[str]
    vectors: dict[str, str]
    moved: dict[str, Exp]
    alike: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, str] = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)


def compaction_of(loop: For, printer: Expressions) -> Compaction | None:
    """What the loop does, if it does nothing else."""
    found = Compaction({loop.index, *changed_names(loop.body)}, {loop.index: "int"}, {loop.index: integer(0)})
    if loop.step != integer(1) or not all([takes(found, s, printer) for s in loop.body]):
        return None
    read = {part.array for part in all_parts(loop.body) if isinstance(part, Load)}
    sound = set(found.ranks.values()) <= set(found.counts) and read.isdisjoint(found.stored)
    return found if found.stored and sound else None


def takes(found: Compaction, statement: Stmt, printer: Expressions) -> bool:
    match statement:
        case Let(name, "int", Name(count)) if count in printer.variables and count not in found.counts:
            found.ranks[name] = count
            return True
        case Let(name, type_, value) if is_alike(value, found):
            found.changing.discard(name)
            found.alike[name] = type_
            return True
        case Let(name, type_, value) if type_ in TYPED:
            by = moved_by(value, found.moved, found.changing) if type_ == "int" else None
            if by is not None:
                found.moved[name] = by
            found.vectors[name] = type_
            return type_of(value, found, printer) == type_
        case Store(array, Name(rank), value) if rank in found.ranks:
            found.stored.add(array)
            return printer.arrays[array] in KEPT and type_of(value, found, printer) == printer.arrays[array]
        case If(Op("<", (Name(rank), limit)), then, ()) if rank in found.ranks and fixed(limit, found.changing):
            return all([isinstance(s, Store) and s.index == Name(rank) and takes(found, s, printer) for s in then])
        case Set(name, Op("+", (Name(same), Op("btoi", (Name(holds),))))) if name == same and name not in found.counts:
            found.counts[name] = holds
            return found.vectors.get(holds) == "bool"
    return False


def is_alike(exp: Exp, found: Compaction) -> bool:
    """Is it the same for all elements?"""
    match exp:
        case Name(name):
            return name not in found.changing
        case Load(_, index, ""):
            return is_alike(index, found)
        case Op(_, arguments):
            return all([is_alike(a, found) for a in arguments])
    return isinstance(exp, Const)


def type_of(exp: Exp, found: Compaction, printer: Expressions) -> str | None:
    """The expression's type, if it can be computed in vectors."""
    match exp:
        case Const(_, type_) if type_ in TYPED:
            return type_
        case Name(name) if name in found.vectors:
            return found.vectors[name]
        case Name(name) if name not in found.changing:
            type_ = found.alike.get(name) or printer.variables.get(name) or printer.names[name].type
            return type_ if type_ in TYPED else None
        case Load(array, index, "") if printer.arrays[array] in TYPED:
            return None if moved_by(index, found.moved, found.changing) is None else printer.arrays[array]
        case Op(name, (a, b)):
            types = type_of(a, found, printer), type_of(b, found, printer)
            if types[0] != types[1]:
                return None
            if name in COMPARED and types[0] in KEPT:
                return "bool"
            return types[0] if types[0] in COMPUTED.get(name, ()) else None
        case Op("not", (a,)):
            return "bool" if type_of(a, found, printer) == "bool" else None
    return None


# The text -----------------------------------------------------------------------------------------


def vector(type_: str, lanes: int) -> str:
    return f"<{lanes} x {TYPES[type_]}>"


def by_vectors(printer: Expressions, loop: For, found: Compaction, features: frozenset[str]) -> str | None:
    """Write the loop over vectors. Return where the rest begins, if there may be one."""
    masked = features >= WIDE
    writer = (Masked if masked else Writer)(printer, loop, found)
    low, high = printer.value(loop.low).text, printer.value(loop.high).text
    last = printer.emit(f"sub i64 {high}, {writer.lanes}")
    n, index, before = printer.number(), f"%{loop.index}.first", printer.current
    printer.end(f"br label %vectors.{n}")
    printer.label(f"vectors.{n}")
    printer.do(f"{index} = phi i64 [ {low}, %{before} ], [ {index}.next, %next.{n} ]")
    printer.do(f"{index}.inside = icmp sle i64 {index}, {last}")
    printer.end(f"br i1 {index}.inside, label %body.{n}, label %done.{n}")
    printer.label(f"body.{n}")
    printer.names[loop.index] = Value(index, "int")
    writer.body()
    printer.end(f"br label %next.{n}")
    printer.label(f"next.{n}")
    printer.do(f"{index}.next = add nsw i64 {index}, {writer.lanes}")
    printer.end(f"br label %vectors.{n}")
    printer.label(f"done.{n}")
    if not masked:
        return index
    left = printer.emit(f"sub i64 {high}, {index}")
    some = printer.emit(f"icmp sgt i64 {left}, 0")
    printer.end(f"br i1 {some}, label %rest.{n}, label %over.{n}")
    printer.label(f"rest.{n}")
    printer.names[loop.index] = Value(index, "int")
    Masked(printer, loop, found, left).body()
    printer.end(f"br label %over.{n}")
    printer.label(f"over.{n}")
    return None


class Writer:
    """Writes what happens to the elements of a vector. `known`: the registers that hold vectors."""
    lanes = LANES

    def __init__(self, printer: Expressions, loop: For, found: Compaction) -> None:
        self.printer, self.loop, self.found = printer, loop, found
        self.known: dict[str, str] = {}

    def body(self) -> None:
        for statement in self.loop.body:
            match statement:
                case Let(name, _, value) if name in self.found.alike:
                    self.printer.names[name] = self.printer.value(value)
                case Let(name, _, value) if name not in self.found.ranks:
                    self.known[name] = self.vector(value)[0]
                case Store(array, Name(rank), value):
                    self.whole(array, rank, self.kept(rank, value))
                case If(Op(_, (Name(rank), limit)), then):
                    self.up_to(rank, self.printer.value(limit).text, [s for s in then if isinstance(s, Store)])
                case Set(name, _):
                    self.count(name)

    def of(self, type_: str) -> str:
        return vector(type_, self.lanes)

    def vector(self, exp: Exp) -> tuple[str, str]:
        """The register that holds the expression's values, and its type."""
        printer = self.printer
        match exp:
            case Name(name) if name in self.known:
                return self.known[name], self.found.vectors[name]
            case Name(name) if name == self.loop.index:
                steps = ", ".join([f"i64 {lane}" for lane in range(self.lanes)])
                return printer.emit(f"add {self.of('int')} {self.alike(printer.names[name])}, <{steps}>"), "int"
            case Load(array, index):
                return self.load(array, index)
            case Op("not", (a,)):
                ones = self.alike(Value("true", "bool"))
                return printer.emit(f"xor {self.of('bool')} {self.vector(a)[0]}, {ones}"), "bool"
            case Op(name, (a, b)):
                (left, type_), (right, _) = self.vector(a), self.vector(b)
                if name in COMPARED:
                    of_ints, of_floats = COMPARED[name]
                    instruction = f"fcmp {of_floats}" if type_ == "float" else f"icmp {of_ints}"
                    return printer.emit(f"{instruction} {self.of(type_)} {left}, {right}"), "bool"
                return printer.emit(f"{COMPUTED[name][type_]} {self.of(type_)} {left}, {right}"), type_
        value = printer.value(exp)
        return self.alike(value), value.type

    def alike(self, value: Value) -> str:
        """The same value in all lanes."""
        type_ = self.of(value.type)
        first = self.printer.emit(f"insertelement {type_} poison, {TYPES[value.type]} {value.text}, i64 0")
        return self.printer.emit(f"shufflevector {type_} {first}, {type_} poison, <{self.lanes} x i32> zeroinitializer")

    def load(self, array: str, index: Exp) -> tuple[str, str]:
        printer, type_, pointer = self.printer, self.printer.arrays[array], self.pointer(array, index)
        if type_ == "bool":
            loaded = printer.emit(f"load <{self.lanes} x i8>, ptr {pointer}, align 1")
            return printer.emit(f"icmp ne <{self.lanes} x i8> {loaded}, zeroinitializer"), type_
        return printer.emit(f"load {self.of(type_)}, ptr {pointer}, align 8"), type_

    def pointer(self, array: str, index: Exp) -> str:
        by = moved_by(index, self.found.moved, self.found.changing)
        assert by is not None
        return self.printer.pointer(array, op("+", Name(self.loop.index), by))

    # Survivors ------------------------------------------------------------------------------

    def holding(self, holds: str) -> str:
        """The elements where it holds."""
        return self.known[holds]

    def mask(self, holds: str) -> str:
        """A bit for each lane."""
        bits = self.printer.emit(f"bitcast {self.of('bool')} {self.holding(holds)} to i{self.lanes}")
        return self.printer.emit(f"zext i{self.lanes} {bits} to i64")

    def count(self, name: str) -> None:
        bits = self.mask(self.found.counts[name])
        more = self.printer.external("llvm.ctpop.i64", "i64", f"i64 {bits}")
        total = self.printer.emit(f"add i64 {self.rank(name)}, {more}")
        self.printer.do(f"store i64 {total}, ptr %{name}")

    def rank(self, count: str) -> str:
        return self.printer.value(Name(count)).text

    def kept(self, rank: str, value: Exp) -> tuple[str, str]:
        """The values of the elements that survive, in the first lanes."""
        printer = self.printer
        register, type_ = self.vector(value)
        printer.declared[TABLE] = table()
        places = printer.emit(f"getelementptr [{2 ** LANES} x <8 x i32>], ptr {TABLE}, i64 0, "
                              f"i64 {self.mask(self.found.counts[self.found.ranks[rank]])}")
        order = printer.emit(f"load <8 x i32>, ptr {places}, align 32")
        halves = printer.emit(f"bitcast {self.of(type_)} {register} to <8 x i32>")
        moved = printer.emit(f"call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> {halves}, <8 x i32> {order})")
        printer.declared["llvm.x86.avx2.permd"] = "declare <8 x i32> @llvm.x86.avx2.permd(<8 x i32>, <8 x i32>)"
        return printer.emit(f"bitcast <8 x i32> {moved} to {self.of(type_)}"), type_

    def at_rank(self, array: str, rank: str, type_: str, lane: int = 0) -> str:
        place = self.rank(self.found.ranks[rank])
        place = self.printer.emit(f"add i64 {place}, {lane}") if lane else place
        return self.printer.emit(f"getelementptr inbounds {TYPES[type_]}, ptr %{array}, i64 {place}")

    def whole(self, array: str, rank: str, kept: tuple[str, str]) -> None:
        values, type_ = kept
        self.printer.do(f"store {self.of(type_)} {values}, ptr {self.at_rank(array, rank, type_)}, align 8")

    def up_to(self, rank: str, limit: str, stores: list[Store]) -> None:
        """Store in front of the limit: all lanes where there is room for them, else those that have."""
        printer, n = self.printer, self.printer.number()
        kept = [(store.array, self.kept(rank, store.value)) for store in stores]
        left = printer.emit(f"sub i64 {limit}, {self.rank(self.found.ranks[rank])}")
        room = printer.emit(f"icmp sge i64 {left}, {LANES}")
        printer.end(f"br i1 {room}, label %whole.{n}, label %lanes.{n}")
        printer.label(f"whole.{n}")
        for array, found in kept:
            self.whole(array, rank, found)
        printer.end(f"br label %stored.{n}")
        printer.label(f"lanes.{n}")
        for lane in range(LANES - 1):
            fits = printer.emit(f"icmp sgt i64 {left}, {lane}")
            printer.end(f"br i1 {fits}, label %lane.{n}.{lane}, label %stored.{n}")
            printer.label(f"lane.{n}.{lane}")
            for array, (values, type_) in kept:
                one = printer.emit(f"extractelement {self.of(type_)} {values}, i64 {lane}")
                printer.do(f"store {TYPES[type_]} {one}, ptr {self.at_rank(array, rank, type_, lane)}")
        printer.end(f"br label %stored.{n}")
        printer.label(f"stored.{n}")


class Masked(Writer):
    """Writes it with eight lanes, moved by an instruction. `left`: elements there are, where they may be fewer."""
    lanes = WIDE_LANES

    def __init__(self, printer: Expressions, loop: For, found: Compaction, left: str | None = None) -> None:
        super().__init__(printer, loop, found)
        self.live = "" if left is None else self.first(left)

    def first(self, count: str) -> str:
        """The first lanes, so many, at most all."""
        numbers = ", ".join([f"i64 {lane}" for lane in range(self.lanes)])
        return self.printer.emit(f"icmp sgt {self.of('int')} {self.alike(Value(count, 'int'))}, <{numbers}>")

    def load(self, array: str, index: Exp) -> tuple[str, str]:
        if not self.live:
            return super().load(array, index)
        printer, type_ = self.printer, self.printer.arrays[array]
        pointer, held = self.pointer(array, index), f"<{self.lanes} x {'i8' if type_ == 'bool' else TYPES[type_]}>"
        masked = f"llvm.masked.load.v{self.lanes}{LETTERS[type_]}"
        align = f"i32 {1 if type_ == 'bool' else 8}"
        loaded = self.call(masked, held, f"ptr {pointer}", align, self.mask_of(self.live), f"{held} zeroinitializer")
        return (printer.emit(f"icmp ne {held} {loaded}, zeroinitializer") if type_ == "bool" else loaded), type_

    def mask_of(self, lanes: str) -> str:
        return f"{self.of('bool')} {lanes}"

    def call(self, name: str, result: str, *arguments: str) -> str:
        types = ", ".join([a.rsplit(" ", 1)[0] for a in arguments])
        self.printer.declared[name] = f"declare {result} @{name}({types})"
        call = f"call {result} @{name}({', '.join(arguments)})"
        if result != "void":
            return self.printer.emit(call)
        self.printer.do(call)
        return ""

    def holding(self, holds: str) -> str:
        """The elements, of those that there are, where it holds."""
        known = self.known[holds]
        return self.printer.emit(f"and {self.of('bool')} {known}, {self.live}") if self.live else known

    def kept(self, rank: str, value: Exp) -> tuple[str, str]:
        register, type_ = self.vector(value)
        holds, held = self.holding(self.found.counts[self.found.ranks[rank]]), self.of(type_)
        moved = self.call(f"llvm.x86.avx512.mask.compress.v{self.lanes}{LETTERS[type_]}", held,
                          f"{held} {register}", f"{held} zeroinitializer", self.mask_of(holds))
        return moved, type_

    def whole(self, array: str, rank: str, kept: tuple[str, str]) -> None:
        if self.live:
            self.survivors(array, rank, kept)
        else:
            super().whole(array, rank, kept)

    def up_to(self, rank: str, limit: str, stores: list[Store]) -> None:
        for store in stores:
            self.survivors(store.array, rank, self.kept(rank, store.value))

    def survivors(self, array: str, rank: str, kept: tuple[str, str]) -> None:
        """Store the elements that survive, and nothing beyond them."""
        values, type_ = kept
        printer, held = self.printer, self.of(type_)
        bits = self.mask(self.found.counts[self.found.ranks[rank]])
        count = printer.external("llvm.ctpop.i64", "i64", f"i64 {bits}")
        beyond = printer.emit(f"shl i64 1, {count}")
        ones = printer.emit(f"trunc i64 {printer.emit(f'sub i64 {beyond}, 1')} to i{self.lanes}")
        mask = printer.emit(f"bitcast i{self.lanes} {ones} to {self.of('bool')}")
        self.call(f"llvm.masked.store.v{self.lanes}{LETTERS[type_]}", "void", f"{held} {values}",
                  f"ptr {self.at_rank(array, rank, type_)}", "i32 8", self.mask_of(mask))


def table() -> str:
    """For each set of lanes, as bits: the halves of these lanes, in order, and then whatever."""
    rows = []
    for bits in range(2 ** LANES):
        lanes = [lane for lane in range(LANES) if bits >> lane & 1]
        halves = [half for lane in lanes for half in (2 * lane, 2 * lane + 1)]
        rows.append("<8 x i32> <" + ", ".join([f"i32 {half}" for half in halves + [0] * (8 - len(halves))]) + ">")
    return f"{TABLE} = internal constant [{2 ** LANES} x <8 x i32>] [{', '.join(rows)}], align 32"
