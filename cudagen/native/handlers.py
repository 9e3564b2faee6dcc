"""The machine that runs the host level in native code, as LLVM's text: a loop, and a handler for each kind of record.

    define ptr @take(ptr %state, ptr %frame, ptr %at)       what a handler looks like: the record is `at`, and it gives
                                                            the next one, or null, when it leaves to Python
    run(state)                                              handlers, record by record, until one leaves; which says why
    table(addresses)                                        writes the handlers' addresses, in the order of NAMES

The text is the same for every program: it is made once for a processor, and kept on disk; after long work also
optimised. Each handler is a function here, whose docstring says which operands its record has.
nessie.cudagen.native.words has the words they work on.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from nessie.base.values import DTYPES
from nessie.base.widths import SIGNED
from nessie.cudagen.cpu.text.operators import TYPES, Value, apply
from nessie.cudagen.host.device import FAILURE, NO_FAILURE
from nessie.cudagen.host.limits import HANDLE as HANDLE_BYTES
from nessie.cudagen.native.words import CODE, FRAME, OTHERS, SHIFT, STATE, WORD
from nessie.cudagen.native.writer import Writer
from nessie.lambda_cu.ops import FUNCTIONS, ROWS, result_type

SIGNATURE = "ptr %state, ptr %frame, ptr %at"
MEMORY = {8: "i64", 4: "i32", 2: "i16", 1: "i8"}                      # elements by their bytes


# Scalars ----------------------------------------------------------------------------------------


def operator(w: Writer, op: str, type_: str) -> None:
    """Operands: the result, then the operator's."""
    arity = next(row.arity for row in ROWS if row.name == op)
    given = []
    for number in range(arity):
        if type_ in ("bool", "char"):
            given.append(Value(w.emit(f"trunc i64 {w.slot(2 + number)} to {TYPES[type_]}"), type_))
        else:
            given.append(Value(w.slot(2 + number, TYPES[type_]), type_))
    found = apply(w, op, tuple(given))
    if found.type in ("bool", "char"):
        w.fill_slot(1, w.emit(f"zext {TYPES[found.type]} {found.text} to i64"))
    else:
        w.fill_slot(1, found.text, TYPES[found.type])
    w.go(2 + arity)


def constant(w: Writer) -> None:
    """Operands: slot, value."""
    w.fill_slot(1, w.operand(2))
    w.go(3)


def move(w: Writer) -> None:
    """Operands: to, from."""
    w.fill_slot(1, w.slot(2))
    w.go(3)


def zero(w: Writer) -> None:
    """Operands: first slot, how many."""
    first = w.operand(1)
    w.each(w.operand(2), lambda i: w.set_word("%frame", w.op("add", first, i), 0))
    w.go(3)


def address(w: Writer) -> None:
    """Operands: slot, and the slot whose address it gets."""
    w.fill_slot(1, w.place("%frame", w.operand(2)), "ptr")
    w.go(3)


def read(w: Writer, base: str) -> None:
    """Operands: slot, array, index. What is out of range is Python's to report; what is narrow becomes wide."""
    width = DTYPES[base].itemsize
    handle, index = w.slot(2, "ptr"), w.slot(3)
    w.where(w.test("uge", index, w.part(handle, "length")), lambda: w.leave("index"))
    loaded = w.load(w.place(w.part(handle, "address", "ptr"), index, MEMORY[width]), MEMORY[width])
    if base == "float32":
        single = w.emit(f"bitcast i32 {loaded} to float")
        w.fill_slot(1, w.emit(f"fpext float {single} to double"), "double")
    elif width == WORD:
        w.fill_slot(1, loaded)
    else:
        extended = "sext" if base in SIGNED else "zext"
        w.fill_slot(1, w.emit(f"{extended} {MEMORY[width]} {loaded} to i64"))
    w.go(4)


# Ways -------------------------------------------------------------------------------------------


def jump(w: Writer) -> None:
    """Operand: how many words on."""
    w.go(w.operand(1))


def unless(w: Writer) -> None:
    """Operands: condition, how many words on if it is 0."""
    w.go(w.emit(f"select i1 {w.test('eq', w.slot(1), 0)}, i64 {w.operand(2)}, i64 3"))


def count(w: Writer) -> None:
    """Operand: so many statements come."""
    w.add_state("steps", w.operand(1))
    w.go(2)


def poll(w: Writer) -> None:
    """Python is asked, when it is time to, or when the run is interrupted."""
    interrupted = w.test("ne", w.word(w.state("interrupt", "ptr"), 0), 0)
    due = w.test("slt", w.add_state("polls", -1), 0)
    w.where(w.either(interrupted, due), lambda: w.leave("poll"))
    w.go(1)


def ask(w: Writer) -> None:
    """Python does what stands there."""
    w.leave("asked", 1)


def fail(w: Writer) -> None:
    """Operand: the number of the site whose check fails."""
    w.leave("site", 2)


def done(w: Writer) -> None:
    w.leave("done", 1)


def enter(w: Writer) -> None:
    """Operands: code, words of the frame, bytes that the function takes while it waits (without arrays), how many
    arrays it holds meanwhile, how many arguments; those arrays; from where to where each argument goes. Behind the
    record: how many results, and their slots."""
    code, words, arrays, arguments = w.word("%at", 1, "ptr"), w.operand(2), w.operand(4), w.operand(5)
    running, calls = running_in_circle(w, code)
    w.where(w.either(w.test("sge", w.state("depth"), w.state("most_depth")),
                     w.test("sge", calls, w.word(code, CODE.index("most"))),
                     w.test("sgt", w.state("waiting"), w.state("most_waiting"))), lambda: w.leave("deep"))
    frame = w.place("%frame", words)
    behind = w.place(frame, w.word(code, CODE.index("words")))
    w.where(w.test("ugt", behind, w.state("end", "ptr"), "ptr"), lambda: w.leave("room"))
    waits = bytes_waiting(w, w.operand(3), arrays)
    w.add_state("waiting", waits)
    first = w.op("add", arrays, 6)

    def pass_on(i: str) -> None:
        at = w.op("add", first, w.op("shl", i, 1))
        value = w.word("%frame", w.word("%at", at))
        w.set_word(frame, w.word("%at", w.op("add", at, 1)), value)
    w.each(arguments, pass_on)
    results = w.after(w.op("add", first, w.op("shl", arguments, 1)))
    for name, value, type_ in (("caller", words, "i64"), ("results", results, "ptr"), ("waits", waits, "i64"),
                               ("code", code, "ptr")):
        w.set_word(frame, FRAME.index(name), value, type_)
    w.store(w.op("add", calls, 1), running)
    w.set_state("frame", frame, "ptr")
    depth = w.add_state("depth", 1)
    w.set_state("deepest", w.external("llvm.smax.i64", "i64", f"i64 {depth}", f"i64 {w.state('deepest')}"))
    w.do(f"ret ptr {w.place(code, len(CODE))}")


def running_in_circle(w: Writer, code: str) -> tuple[str, str]:
    """Where the running calls of the code's circle of recursion are counted, and how many there are."""
    place = w.place(w.state("circles", "ptr"), w.word(code, CODE.index("circle")))
    return place, w.load(place)


def bytes_waiting(w: Writer, scalars: str, arrays: str) -> str:
    """As nessie.cudagen.host.limits has it."""
    total = w.variable(scalars)

    def add_share(i: str) -> None:
        handle = w.word("%frame", w.word("%at", w.op("add", i, 6)), "ptr")
        w.store(w.op("add", w.load(total), w.op("udiv", HANDLE_BYTES, w.part(handle, "uses"))), total)
    w.each(arrays, add_share)
    return w.load(total)


def give(w: Writer) -> None:
    """Operands: how many results, and their slots; they go to those that the call names."""
    results, code = w.word("%frame", FRAME.index("results"), "ptr"), w.word("%frame", FRAME.index("code"), "ptr")
    caller = w.place("%frame", w.op("sub", 0, w.word("%frame", FRAME.index("caller"))))
    w.add_state("waiting", w.op("sub", 0, w.word("%frame", FRAME.index("waits"))))
    w.add_state("depth", -1)
    running, calls = running_in_circle(w, code)
    w.store(w.op("add", calls, -1), running)
    number = w.operand(1)

    def hand_over(i: str) -> None:
        value = w.word("%frame", w.word("%at", w.op("add", i, 2)))
        w.set_word(caller, w.word(results, w.op("add", i, 1)), value)
    w.each(number, hand_over)
    w.set_state("frame", caller, "ptr")
    w.do(f"ret ptr {w.place(results, w.op('add', number, 1))}")


# Arrays -----------------------------------------------------------------------------------------


def hold(w: Writer) -> None:
    """Operand: array."""
    add_use(w, w.slot(1, "ptr"))
    w.go(2)


def add_use(w: Writer, handle: str) -> None:
    w.set_part(handle, "uses", w.op("add", w.part(handle, "uses"), 1))


def drop(w: Writer) -> None:
    """Operand: array. After its last use its block is free; if it is Python's, Python is told later."""
    handle = w.slot(1, "ptr")
    uses = w.op("add", w.part(handle, "uses"), -1)
    w.set_part(handle, "uses", uses)
    w.where(w.test("ne", uses, 0), lambda: w.go(2))
    class_ = w.part(handle, "class")

    def others() -> None:
        w.set_part(handle, "next", w.state("dropped"))
        w.set_state("dropped", handle, "ptr")
        w.go(2)
    w.where(w.test("eq", class_, OTHERS), others)
    add_block(w, class_, w.part(handle, "address", "ptr"))
    w.set_part(handle, "next", w.state("handles"))
    w.set_state("handles", handle, "ptr")
    w.go(2)


def class_of(w: Writer, size: str) -> tuple[str, str, str]:
    """The size class of so many bytes; its size is the second, from 5 to 8, shifted left by the third."""
    less = w.op("add", w.external("llvm.umax.i64", "i64", f"i64 {size}", f"i64 {4 << SHIFT}"), -1)
    shift = w.op("sub", 61, w.external("llvm.ctlz.i64", "i64", f"i64 {less}", "i1 false"))
    quarters = w.op("add", w.op("lshr", less, shift), 1)            # of the class's power of two
    return w.op("add", w.op("shl", w.op("add", shift, -SHIFT), 2), w.op("add", quarters, -4)), quarters, shift


def free_block(w: Writer, class_: str, quarters: str, shift: str) -> tuple[str, str]:
    """The list of free blocks of a class (see class_of), and the first of them: there is one, or the host is asked for
    one."""
    list_ = w.op("add", class_, STATE.index("blocks"))
    block = w.word("%state", list_, "ptr")

    def refill() -> None:
        w.set_state("wanted", w.op("shl", quarters, shift))
        w.leave("memory")
    w.where(w.test("eq", block, "null", "ptr"), refill)
    return list_, block


def add_block(w: Writer, class_: str, block: str) -> None:
    """To the free blocks of a class."""
    list_ = w.op("add", class_, STATE.index("blocks"))
    w.set_word(block, 0, w.word("%state", list_))
    w.set_word("%state", list_, block, "ptr")


def take(w: Writer) -> None:
    """Operands: slot of the array, slot of its length, bytes of an element."""
    length = w.slot(2)
    class_, quarters, shift = class_of(w, w.op("mul", length, w.operand(3)))
    list_, block = free_block(w, class_, quarters, shift)
    handle = w.state("handles", "ptr")
    w.where(w.test("eq", handle, "null", "ptr"), lambda: w.leave("handles"))
    w.set_word("%state", list_, w.word(block, 0))
    w.set_state("handles", w.part(handle, "next"))
    w.set_part(handle, "address", block, "ptr")
    for name, value in (("length", length), ("uses", "1"), ("class", class_)):
        w.set_part(handle, name, value)
    w.fill_slot(1, handle, "ptr")
    w.go(4)


def reuse(w: Writer) -> None:
    """Operands: slot, array, slot of a length, bytes of an element, how many words on if the array's memory is taken
    for so many: if nothing but this holds it, it is ours, and large enough."""
    handle, length = w.slot(2, "ptr"), w.slot(3)
    alone = w.test("eq", w.part(handle, "uses"), 1)
    needed, _, _ = class_of(w, w.op("mul", length, w.operand(4)))
    room = w.test("sge", w.part(handle, "class"), needed)           # OTHERS is less than any

    def same() -> None:
        add_use(w, handle)
        w.set_part(handle, "length", length)
        w.fill_slot(1, handle, "ptr")
        w.go(w.operand(5))
    w.where(w.emit(f"and i1 {alone}, {room}"), same)
    w.go(6)


def shorten(w: Writer) -> None:
    """Operands: array, slot of a length, bytes of an element. It is so long from now on, in less memory if what it has
    is twice as much as it needs. Nobody else holds it yet."""
    handle, length = w.slot(1, "ptr"), w.slot(2)
    size = w.op("mul", length, w.operand(3))
    class_, quarters, shift = class_of(w, size)
    old, large = w.part(handle, "class"), w.part(handle, "address", "ptr")

    def less() -> None:
        list_, block = free_block(w, class_, quarters, shift)
        w.set_word("%state", list_, w.word(block, 0))
        copy_bytes(w, block, large, size)
        add_block(w, old, large)
        w.set_part(handle, "address", block, "ptr")
        w.set_part(handle, "class", class_)
    w.where(w.test("sle", w.op("add", class_, 4), old), less)
    w.set_part(handle, "length", length)
    w.go(4)


def copy_bytes(w: Writer, to: str, of: str, size: str) -> None:
    w.declared["memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 {size}, i1 false)")


def fill(w: Writer, width: int) -> None:
    """Operands: array, slot of the value."""
    handle, value = w.slot(1, "ptr"), w.slot(2)
    start = w.part(handle, "address", "ptr")
    if width != WORD:
        value = w.emit(f"trunc i64 {value} to {MEMORY[width]}")
    w.each(w.part(handle, "length"), lambda i: w.store(value, w.place(start, i, MEMORY[width]), MEMORY[width]))
    w.go(3)


def copy(w: Writer) -> None:
    """Operands: array, and the one whose elements it begins with, bytes of an element. The copied elements count."""
    to, of = w.slot(1, "ptr"), w.slot(2, "ptr")
    size = w.op("mul", w.part(of, "length"), w.operand(3))
    copy_bytes(w, w.part(to, "address", "ptr"), w.part(of, "address", "ptr"), size)
    w.add_state("elements", w.part(to, "length"))
    w.go(4)


def constant_array(w: Writer) -> None:
    """Operands: slot, handle: 0 until Python has made it, for as long as the run lasts."""
    handle = w.word("%at", 2, "ptr")
    w.where(w.test("eq", handle, "null", "ptr"), lambda: w.leave("asked"))
    add_use(w, handle)
    w.fill_slot(1, handle, "ptr")
    w.go(3)


# Launches ---------------------------------------------------------------------------------------


def pack(w: Writer) -> None:
    """Operands: first slot, how many words; of each the slot, twice, and 1 more if it is an array, whose address it
    is."""
    first, number = w.operand(1), w.operand(2)

    def one(i: str) -> None:
        said = w.word("%at", w.op("add", i, 3))
        held = w.word("%frame", w.op("lshr", said, 1))
        place = w.place("%frame", w.op("add", i, first))
        w.store(held, place)
        w.where(w.test("ne", w.op("and", said, 1), 0),
                lambda: w.store(w.part(w.emit(f"inttoptr i64 {held} to ptr"), "address"), place))
    w.each(number, one)
    w.go(w.op("add", number, 3))


def phase(w: Writer) -> None:
    """Operands: the function's number, slot of how many chunks, first slot of its words, how many chunks at most are
    run here: more are Python's to run; slot of how many chains they make."""
    chunks = w.slot(2)

    def many() -> None:
        w.set_state("wanted", chunks)
        w.leave("chunks", 6)
    w.where(w.test("sgt", chunks, w.operand(4)), many)
    function = w.word(w.state("functions", "ptr"), w.operand(1), "ptr")
    w.do(f"call void {function}(i64 0, i64 {chunks}, ptr {w.place('%frame', w.operand(3))})")
    w.go(6)


def launched(w: Writer) -> None:
    """Operand: slot of how many elements there were. A failed check is reported at once."""
    w.add_state("launches", 1)
    w.add_state("elements", w.slot(1))
    w.set_state("last", "%at", "ptr")
    found = w.word(w.state("errors", "ptr"), FAILURE)
    w.where(w.test("ne", found, NO_FAILURE), lambda: w.leave("failed"))
    w.go(2)


# The machine ------------------------------------------------------------------------------------


def operators() -> Iterator[tuple[str, Callable[[Writer], None]]]:
    """Those whose results are the same everywhere; the C library's functions are Python's to call."""
    for row in ROWS:
        if row not in FUNCTIONS:
            for type_ in row.types:
                if result_type(row.name, (type_,) * row.arity) is not None:
                    yield f"{row.name} {type_}", partial(operator, op=row.name, type_=type_)


HANDLERS: dict[str, Callable[[Writer], None]] = {
    **{f.__name__: f for f in (constant, move, zero, address, jump, unless, count, poll, ask, fail, done, enter, give,
                               hold, drop, take, reuse, shorten, copy, constant_array, pack, phase, launched)},
    **{f"read {base}": partial(read, base=base) for base in DTYPES},
    **{f"fill {width}": partial(fill, width=width) for width in MEMORY},
    **dict(operators()),
}
NAMES = tuple(HANDLERS)

MACHINE = """
define i64 @run(ptr %state) {
entry:
  %resume = getelementptr i64, ptr %state, i64 {at}
  %first = load ptr, ptr %resume
  br label %next
next:
  %at = phi ptr [ %first, %entry ], [ %then, %next ]
  %frame = load ptr, ptr %state
  %handler = load ptr, ptr %at
  %then = call ptr %handler(ptr %state, ptr %frame, ptr %at)
  %leaves = icmp eq ptr %then, null
  br i1 %leaves, label %end, label %next
end:
  %reason = getelementptr i64, ptr %state, i64 {why}
  %why = load i64, ptr %reason
  ret i64 %why
}
"""


def text() -> str:
    """The machine."""
    parts, declared = [], dict[str, str]()
    start = MACHINE.replace("{at}", str(STATE.index("at"))).replace("{why}", str(STATE.index("why")))
    table = ["define void @table(ptr %addresses) {"]
    for number, (name, handler) in enumerate(HANDLERS.items()):
        writer = Writer(declared)
        handler(writer)
        header = f"define internal ptr @handler.{number}({SIGNATURE}) {{"
        parts.append("\n".join([f"; {name}", header, *writer.allocas, *writer.lines, "}"]))
        table += [f"  %place.{number} = getelementptr ptr, ptr %addresses, i64 {number}",
                  f"  store ptr @handler.{number}, ptr %place.{number}"]
    return "\n\n".join([start, *parts, "\n".join([*table, "  ret void", "}"]),
                        "\n".join(sorted(declared.values()))]) + "\n"
