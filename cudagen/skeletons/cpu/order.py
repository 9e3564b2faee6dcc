"""ORDER: the keys come from a walk; each row is sorted by a thread, stably.

    short rows      each element counts those that come before it, eight elements at a time
    medium rows     a radix sort of words that have a key's first 32 bits and its position; where keys have more bits,
                    neighbours that are out of order then are inserted
    others          a radix sort, eight bits at a time, of as many bits as the row's keys differ in; rows, too, that
                    have too much to insert

Keys become ints that order as they do: of a float its bits, turned where it is negative, with one zero and one NaN,
which is the greatest. A long row that is in order already stays. A flat space is one row; a closed space gets its
offsets written out. Keys that an array has already are read there. Where the sorted keys are wanted, not their
positions, short rows have none, and others fetch them; those of a flat space are sorted by the target's library.
Firsts are found by hashing (skeletons.cpu.firsts).
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import InternalError
from nessie.base.widths import WIDE
from nessie.cudagen.kernels.code import identifier, integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import ArrayResult, Buffer, Phase
from nessie.cudagen.loops.printer import show_exp
from nessie.cudagen.loops.text import parse
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.cpu import firsts
from nessie.cudagen.skeletons.cpu.order_text import ABOUT, CHUNK, CODES, SHORT, sort_text
from nessie.cudagen.skeletons.cpu.walk import plan_walk
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.ops import OPS
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.spaces.segments import length_at
from nessie.lambda_cu.typing import SCALARS


def plan_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int, each: int) -> Module:
    """`width`: items a chunk of walks; `each`: of what computes no thunks."""
    soac, result = order_of(kernel)
    walks, keys, offsets = walks_of_keys(kernel, soac, result, (ir.Closed, ir.Nested))
    modules = [plan_walk(walk_of(walk, program), tables, width) for walk in walks]
    plan = modules[0].plans[0]
    size = next(b.size for phase in plan.phases for b in phase.buffers if b.name == keys)
    if given := keys_as_given(kernel, soac):
        modules, keys = modules[1:], given
    phases = [phase for module in modules for phase in module.plans[0].phases]
    functions: tuple[loops.Function, ...]
    base = walk_of(walks[0], program).bases[walks[0].returns[0]][0]
    name = identifier(kernel.name)
    sort = SortOfRows(name, keys, base, size, soac, offsets)
    if soac.firsts:
        made, functions = sort.firsts_of_all(result, each) if sort.flat else sort.firsts_of_rows(result)
    elif soac.values and sort.flat:
        library = f"sort_{'descending' if soac.descending else 'ascending'}"
        made = [Phase(library, named(keys, result), None, (Buffer(result, base, size),), library=True)]
        functions = ()
    else:
        made, functions = [sort.phase(result)], sort.functions()
    plan = replace(plan, phases=(*phases, *made), results=(ArrayResult(result),) * len(kernel.returns))
    return Module((*(f for module in modules for f in module.functions), *functions), (plan,))

SIZE, SEGMENTS, LENGTH = "all_elements", "all_segments", "row_length"       # parameters


@dataclass(frozen=True)
class SortOfRows:
    """The phases that sort the keys, which are of type `base`; `offsets`: '' where the space is flat or uniform."""
    name: str
    keys: str
    base: str
    size: loops.Exp
    soac: ir.Order
    offsets: str

    @property
    def flat(self) -> bool:
        return isinstance(self.soac.space, ir.Flat)

    @property
    def segments(self) -> loops.Exp:
        space = self.soac.space
        return integer(1) if isinstance(space, ir.Flat) else size_of(space.segments)

    @property
    def length(self) -> loops.Exp | None:
        """Of each row, where all have the same."""
        space = self.soac.space
        return size_of(space.length) if isinstance(space, ir.Uniform) else None

    def functions(self) -> tuple[loops.Function, ...]:
        turned = "plain"
        if self.soac.descending:
            turned = "plain == greatest ? plain : not(plain)" if self.base == "float" else "not(plain)"
        return self.parsed(sort_text(self.name, self.soac.values, turned=turned, **self.rows))

    @property
    def rows(self) -> dict[str, str]:
        """What texts say of the rows and their keys."""
        size, segments = text_of(self.size, SIZE), text_of(self.segments, SEGMENTS)
        given, low, high = declared(self.segments, SEGMENTS), "offsets[row]", "offsets[row + 1]"
        some = "true" if self.flat or self.length is not None else "offsets[chunk * each] < offsets[beyond]"
        if self.flat:
            given, low, high = declared(self.size, SIZE), "0", size
        elif self.length is not None:
            length = text_of(self.length, LENGTH)
            given, low, high = f"{given}{declared(self.length, LENGTH)}", f"row * {length}", f"low + {length}"
        else:
            given = f"{given}int[] offsets, "
        return {"given": given, "type": "int" if self.base == "float" else self.base, "segments": segments,
                "low": low, "high": high, "some": some, "code": CODES[self.base]}

    def parsed(self, text: str) -> tuple[loops.Function, ...]:
        return tuple(replace(f, about=ABOUT[f.name.removeprefix(f"{self.name}_")]) for f in parse(text).functions)

    def phase(self, result: str) -> Phase:
        """The sort, which leaves positions or values in `result`. Nothing else is taken where no row is long."""
        scratch = [f"{result}_{use}" for use in ("codes", "codes_2", "order_2")]
        codes, codes_2, order_2 = scratch
        buffers, arrays, order = [Buffer(result, self.base if self.soac.values else "int", self.size)], [], result
        if self.soac.values:
            arrays, order = [result], f"{result}_order"
            scratch.append(order)
        size = self.size
        if self.length is not None:
            size = op("*", size, op("min", integer(1), op("/", self.length, integer(SHORT + 1))))
        buffers += [Buffer(name, "int", size) for name in scratch]
        return self.by_rows("sort", (*arrays, codes, order, codes_2, order_2), tuple(buffers))

    def firsts_of_rows(self, result: str) -> tuple[list[Phase], tuple[loops.Function, ...]]:
        table, heads = f"{result}_table", f"{result}_heads"
        made = self.by_rows("firsts", (table, heads, result), self.of_tables(result, table, heads))
        return [made], self.firsts_functions(firsts.ROWS)

    def firsts_of_all(self, result: str, each: int) -> tuple[list[Phase], tuple[loops.Function, ...]]:
        """Those of a flat space, in chunks of so many elements; all but the first phase only if there are several."""
        table, heads, counts, parts, codes = (
            f"{result}_{use}" for use in ("table", "heads", "counts", "parts", "codes"))
        each = max(1, each // firsts.SHARE)
        chunks = count_of(self.size, each)
        several = op("min", integer(1), op("/", self.size, integer(each + 1)))
        counters = Buffer(counts, "int", op("*", integer(firsts.PARTS + 1), chunks))
        given = passed(self.size)

        def phase(function: str, arrays: tuple[str, ...], number: loops.Exp, *buffers: Buffer) -> Phase:
            return Phase(f"{self.name}_{function}", (*given, *named(*arrays)), number, buffers)

        made = [
            phase("firsts", (self.keys, table, heads, counts, result), chunks, counters,
                  *self.of_tables(result, table, heads)),
            phase("starts", (counts,), several),
            phase("parts", (self.keys, heads, counts, parts, codes), op("*", several, chunks),
                  *(Buffer(name, "int", op("*", several, self.size)) for name in (parts, codes))),
            phase("joined", (counts, parts, codes, table), op("*", several, integer(firsts.PARTS))),
            phase("found", (counts, parts, codes, result), op("*", several, chunks))]
        return made, self.firsts_functions(firsts.WHOLE, width=each, size=text_of(self.size, SIZE), parts=firsts.PARTS,
                                           counters=firsts.PARTS + 1, part_code=CODES[self.base].format("part_key"))

    def of_tables(self, result: str, table: str, heads: str) -> tuple[Buffer, ...]:
        return (Buffer(result, "int", self.size), Buffer(table, "int", op("*", integer(4), self.size)),
                Buffer(heads, "int", self.size))

    def firsts_functions(self, text: str, **more: Any) -> tuple[loops.Function, ...]:
        return self.parsed(text.format(
            name=self.name, small=firsts.SMALL, head_code=CODES[self.base].format("head_key"), chunk=CHUNK,
            number=firsts.GREATEST if self.base == "float" else "", **{
                **self.rows, "code": self.rows["code"].format("key")}, **more))

    def by_rows(self, function: str, arrays: tuple[str, ...], buffers: tuple[Buffer, ...]) -> Phase:
        if self.flat:
            sizes = passed(self.size)
        else:
            rows = loops.Name(self.offsets) if self.length is None else self.length
            sizes = (*passed(self.segments), *passed(rows))
        each = op("max", integer(1), op("min", integer(CHUNK), op("/", self.segments, integer(CHUNK))))
        chunks = op("/", op("+", self.segments, op("-", each, integer(1))), each)
        return Phase(f"{self.name}_{function}", (*sizes, *named(self.keys, *arrays)), chunks, buffers)


def size_of(size: ir.Size) -> loops.Exp:
    return integer(size) if isinstance(size, int) else loops.Name(size)


def passed(size: loops.Exp) -> tuple[loops.Exp, ...]:
    """The size as an argument; a constant is in the function's text."""
    return (size,) if isinstance(size, loops.Name) else ()


def declared(size: loops.Exp, name: str) -> str:
    """The parameter of this name for the size."""
    return f"int {name}, " if isinstance(size, loops.Name) else ""


def text_of(size: loops.Exp, name: str) -> str:
    """The size in a function's text: its parameter, whose name is none of the program's, or a constant."""
    return name if isinstance(size, loops.Name) else show_exp(size)


def named(*names: str) -> tuple[loops.Exp, ...]:
    return tuple(map(loops.Name, names))


def order_of(kernel: ir.Kernel) -> tuple[ir.Order, str]:
    """The kernel's only SOAC, and its result."""
    soac = kernel.binds[0].soac
    if len(kernel.binds) != 1 or not isinstance(soac, ir.Order):
        raise InternalError(f"kernel {kernel.name} fuses a sort, which is a library's work")
    return soac, kernel.binds[0].names[0]


def walks_of_keys(kernel: ir.Kernel, soac: ir.Order, result: str, written: tuple[type[Any], ...]
                  ) -> tuple[list[ir.Kernel], str, str]:
    """Kernels that make the keys and, over another space, the offsets of spaces of these classes; the names of the keys
    and of the offsets, '' where there are none."""
    keys, ends = f"{result}_keys", f"{result}_offsets"
    thunk = soac.thunk
    if is_narrow(thunk, kernel):
        thunk = replace(thunk, body=ir.Op("widened", (thunk.body,)))
    binds, offsets = [ir.Bind((keys,), ir.Map(thunk, soac.space))], ""
    if isinstance(soac.space, ir.Irregular):
        offsets = soac.space.offsets
    elif isinstance(soac.space, written):
        offsets = ends
        binds.append(ir.Bind((ends,), lengths_scan(soac.space)))
    return [ir.Kernel(kernel.name if at == 0 else f"{kernel.name}_offsets", kernel.params, (bind,), bind.names,
                      origin=kernel.origin) for at, bind in enumerate(binds)], keys, offsets


def keys_as_given(kernel: ir.Kernel, soac: ir.Order) -> str:
    """The parameter that has the keys as they are sorted, '' where they are computed."""
    body, size = soac.thunk.body, soac.space.size if isinstance(soac.space, ir.Flat) else soac.space.total
    if not isinstance(body, ir.Read) or body.index != ir.Var(soac.thunk.params[-1]):
        return ""
    whole = [ir.Array(base, size) for base in SCALARS]
    return next((p.name for p in kernel.params if p.name == body.array and p.type in whole), "")


def is_narrow(thunk: ir.Thunk, kernel: ir.Kernel) -> bool:
    """May the keys be narrower than what is computed with?"""
    return (any(isinstance(param.type, ir.Array) and param.type.base in WIDE for param in kernel.params)
            or any(isinstance(e, ir.Op) and OPS[e.op].result in WIDE for e in subexpressions(thunk.body)))


def lengths_scan(space: ir.Segmented) -> ir.Scan:
    """The offsets of segments with a closed form: the SCAN, with its total, of their lengths."""
    thunk = scope.thunk(("#segment",), length_at(space, ir.Var("#segment")))
    plus = ir.Thunk(("a", "b"), ir.Op("+", (ir.Var("a"), ir.Var("b"))))
    return ir.Scan(thunk, (ir.Const(0, "int"),), plus, ir.Flat(space.segments), total=True)
