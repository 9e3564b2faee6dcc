"""ORDER: the keys come from a walk; each row is sorted by a thread, stably.

    short rows      insertion
    medium rows     a radix sort of words that have a key's first 32 bits and its position; where keys have more bits,
                    neighbours that are out of order then are inserted
    others          a radix sort, eight bits at a time, of as many bits as the row's keys differ in; rows, too, that
                    have too much to insert

Keys become ints that order as they do: of a float its bits, turned where it is negative, with one zero and one NaN,
which is the greatest. A row that is in order already stays. A flat space is one row; a uniform or affine space gets
its offsets written out. Where the sorted keys are wanted, not their positions, they are gathered at the end; those of a
flat space are sorted by the target's library. Firsts are found by hashing (skeletons.cpu.firsts).
"""
from __future__ import annotations

from dataclasses import replace

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
from nessie.cudagen.skeletons.cpu.firsts import FIRSTS, GREATEST, SMALL
from nessie.cudagen.skeletons.cpu.order_text import ABOUT, CODES, GATHER, ROWS, sort_text
from nessie.cudagen.skeletons.cpu.walk import plan_walk
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import OPS
from nessie.lambda_cu.parts import subexpressions


def plan_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int) -> Module:
    soac, result = order_of(kernel)
    walks, keys, offsets = walks_of_keys(kernel, soac, result)
    modules = [plan_walk(walk_of(walk, program), tables, width) for walk in walks]
    phases = [phase for module in modules for phase in module.plans[0].phases]
    size = next(b.size for phase in phases for b in phase.buffers if b.name == keys)
    functions: tuple[loops.Function, ...]
    base = walk_of(walks[0], program).bases[keys][0]
    name = identifier(kernel.name)
    sort = SortOfRows(name, keys, base, size, soac, offsets)
    if soac.firsts:
        made, functions = [sort.firsts_phase(result)], sort.firsts()
    elif soac.values and not offsets:
        library = f"sort_{'descending' if soac.descending else 'ascending'}"
        made = [Phase(library, named(keys, result), None, (Buffer(result, base, size),), library=True)]
        functions = ()
    elif soac.values:
        order = f"{result}_order"
        made, functions = [sort.phase(order), sort.gather(order, result, width)], sort.functions(width)
    else:
        made, functions = [sort.phase(result)], sort.functions(width)[:1]
    plan = replace(modules[0].plans[0], phases=(*phases, *made), results=(ArrayResult(result),) * len(kernel.returns))
    return Module((*(f for module in modules for f in module.functions), *functions), (plan,))


@dataclass(frozen=True)
class SortOfRows:
    """The phases that sort the keys, which are of type `base`; `offsets`: '' where the space is flat."""
    name: str
    keys: str
    base: str
    size: loops.Exp
    soac: ir.Order
    offsets: str

    @property
    def segments(self) -> loops.Exp:
        space = self.soac.space
        if isinstance(space, ir.Flat):
            return integer(1)
        return integer(space.segments) if isinstance(space.segments, int) else loops.Name(space.segments)

    def functions(self, width: int) -> tuple[loops.Function, ...]:
        turned = "plain"
        if self.soac.descending:
            turned = "plain == greatest ? plain : not(plain)" if self.base == "float" else "not(plain)"
        return self.parsed(sort_text(self.name, turned=turned, **self.rows) + GATHER.format(
            name=self.name, given=declared(self.size), type=self.base, width=width, size=show_exp(self.size)))

    def firsts(self) -> tuple[loops.Function, ...]:
        return self.parsed(FIRSTS.format(name=self.name, small=SMALL, head_code=CODES[self.base].format("head_key"),
                                         chunk=ROWS, number=GREATEST if self.base == "float" else "", **self.rows))

    @property
    def rows(self) -> dict[str, str]:
        """What texts say of the rows and their keys."""
        flat = not self.offsets
        return {"given": declared(self.size) if flat else f"{declared(self.segments)}int[] offsets, ",
                "type": "int" if self.base == "float" else self.base, "segments": show_exp(self.segments),
                "low": "0" if flat else "offsets[row]", "high": show_exp(self.size) if flat else "offsets[row + 1]",
                "code": CODES[self.base].format("key")}

    def parsed(self, text: str) -> tuple[loops.Function, ...]:
        return tuple(replace(f, about=ABOUT[f.name.removeprefix(f"{self.name}_")]) for f in parse(text).functions)

    def phase(self, order: str) -> Phase:
        """The sort, which leaves positions in `order`."""
        scratch = [f"{self.keys}_{use}" for use in ("codes", "codes_2", "order_2")]
        buffers = tuple([Buffer(name, "int", self.size) for name in (order, *scratch)])
        codes, codes_2, order_2 = scratch
        return self.by_rows("sort", (codes, order, codes_2, order_2), buffers)

    def firsts_phase(self, result: str) -> Phase:
        table, heads = f"{self.keys}_table", f"{self.keys}_heads"
        buffers = (Buffer(result, "int", self.size), Buffer(table, "int", op("*", integer(4), self.size)),
                   Buffer(heads, "int", self.size))
        return self.by_rows("firsts", (table, heads, result), buffers)

    def by_rows(self, function: str, arrays: tuple[str, ...], buffers: tuple[Buffer, ...]) -> Phase:
        sizes = (*passed(self.segments), loops.Name(self.offsets)) if self.offsets else passed(self.size)
        chunks = op("/", op("+", self.segments, integer(ROWS - 1)), integer(ROWS))
        return Phase(f"{self.name}_{function}", (*sizes, *named(self.keys, *arrays)), chunks, buffers)

    def gather(self, order: str, result: str, width: int) -> Phase:
        chunks = op("/", op("+", self.size, integer(width - 1)), integer(width))
        return Phase(f"{self.name}_gather", (*passed(self.size), *named(self.keys, order, result)), chunks,
                     (Buffer(result, self.base, self.size),))


def passed(size: loops.Exp) -> tuple[loops.Exp, ...]:
    """The size as an argument; a constant is in the function's text."""
    return (size,) if isinstance(size, loops.Name) else ()


def declared(size: loops.Exp) -> str:
    return f"int {size.name}, " if isinstance(size, loops.Name) else ""


def named(*names: str) -> tuple[loops.Exp, ...]:
    return tuple(map(loops.Name, names))


def order_of(kernel: ir.Kernel) -> tuple[ir.Order, str]:
    """The kernel's only SOAC, and its result."""
    soac = kernel.binds[0].soac
    if len(kernel.binds) != 1 or not isinstance(soac, ir.Order):
        raise InternalError(f"kernel {kernel.name} fuses a sort, which is a library's work")
    return soac, kernel.binds[0].names[0]


def walks_of_keys(kernel: ir.Kernel, soac: ir.Order, result: str) -> tuple[list[ir.Kernel], str, str]:
    """Kernels that make the keys and, over another space, the offsets of segments that have a closed form; the names of
    the keys and of the offsets, '' where there are no segments."""
    keys, ends = f"{result}_keys", f"{result}_offsets"
    thunk = soac.thunk
    if is_narrow(thunk, kernel):
        thunk = replace(thunk, body=ir.Op("widened", (thunk.body,)))
    binds, offsets = [ir.Bind((keys,), ir.Map(thunk, soac.space))], ""
    match soac.space:
        case ir.Irregular(_, given, _):
            offsets = given
        case ir.Uniform(segments, _, _) | ir.Affine(segments, _, _, _):
            offsets = ends
            binds.append(ir.Bind((ends,), lengths_scan(soac.space, segments)))
    return [ir.Kernel(kernel.name if at == 0 else f"{kernel.name}_offsets", kernel.params, (bind,), bind.names,
                      origin=kernel.origin) for at, bind in enumerate(binds)], keys, offsets


def is_narrow(thunk: ir.Thunk, kernel: ir.Kernel) -> bool:
    """May the keys be narrower than what is computed with?"""
    return (any(isinstance(param.type, ir.Array) and param.type.base in WIDE for param in kernel.params)
            or any(isinstance(e, ir.Op) and OPS[e.op].result in WIDE for e in subexpressions(thunk.body)))


def lengths_scan(space: ir.Uniform | ir.Affine, segments: ir.Size) -> ir.Scan:
    """The offsets of segments with a closed form: the SCAN, with its total, of their lengths."""
    def atom(size: ir.Size) -> ir.Exp:
        return ir.Const(size, "int") if isinstance(size, int) else ir.Var(size)

    def names(*sizes: ir.Size) -> tuple[str, ...]:
        return tuple(size for size in sizes if isinstance(size, str))

    match space:
        case ir.Uniform(_, length, _):
            thunk = ir.Thunk(("s",), atom(length), names(length))
        case ir.Affine(_, slope, offset, _):
            length_at = ir.Op("+", (ir.Op("*", (atom(slope), ir.Var("s"))), atom(offset)))
            thunk = ir.Thunk(("s",), length_at, names(slope, offset))
    plus = ir.Thunk(("a", "b"), ir.Op("+", (ir.Var("a"), ir.Var("b"))))
    return ir.Scan(thunk, (ir.Const(0, "int"),), plus, ir.Flat(segments), total=True)
