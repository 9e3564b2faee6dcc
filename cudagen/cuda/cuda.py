"""Pass: print loops as CUDA C++ text: the functions of kind 'cuda' and 'device'; 'host' ones are left out.

The text needs no header. int is long long, float double, char int; a bool is one byte. A kernel is extern "C" and takes
its parameters in order. Arrays alias nothing (__restrict__); of one that other threads change or look at meanwhile,
here or in a function that it is passed to, that is not said, lest a compiler moves accesses to it across those that
order them. A device function f is f_device, since CUDA has many functions of its own; with several results it gives a
struct. Compile with --fmad=false where results must have the same bits as elsewhere.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

from nessie.base.ints import MIN_INT
from nessie.base.names import Names
from nessie.base.text.layout import Doc, Mark, join, render
from nessie.base.values import DTYPES
from nessie.base.widths import WIDE, single, wide
from nessie.cudagen.cuda.operators import (
    ELEMENTS,
    HELPERS,
    PAIR,
    PRODUCT,
    SELECT,
    TYPES,
    UNARY,
    Piece,
    apply,
    as_double,
    helpers_of,
    is_constant,
    on_singles,
    within,
)
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import (
    PLACES,
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
    Load,
    LoadPair,
    Name,
    Note,
    Op,
    Parameter,
    Pause,
    Peers,
    Return,
    Set,
    Shared,
    Shuffle,
    Stmt,
    Store,
    StorePair,
    Var,
    Vote,
    While,
)
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.loops.walk import arrays_in_common, bound_names, called, read_names
from nessie.lambda_cu.ops import result_type

TILE = 8 << 10                  # bytes of shared memory with which a function is bound to registers for
BLOCKS = 4                      # blocks at a time
WIDTH = 116                     # of a function's first lines
DEEPEST = 30                    # deeper statements are not indented more
SPECIAL_BITS = {"blockIdx": 31, "gridDim": 31, "blockDim": 11, "threadIdx": 10}
MASK = "0xffffffffu"
SHUFFLES = {"down": "__shfl_down_sync", "up": "__shfl_up_sync", "index": "__shfl_sync"}
WORD = "unsigned long long"
Access = Load | Store | Atomic | LoadPair | StorePair

# Words of C++ and names of CUDA that a loops name may not be.
WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr continue
    decltype default delete do double else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register return short
    signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq abs acos asin atan atan2 cbrt ceil copysign cos cosh exp exp2 fabs floor
    fmod hypot log log10 log2 main max min pow round sin sinh sqrt tan tanh trunc warpSize
"""
RESERVED = frozenset(WORDS.split()) | frozenset(HELPERS) | {PAIR}


def cuda(module: Module) -> str:
    """The module's kernels and device functions, after the helpers that they use."""
    return render(document(module))


def document(module: Module) -> Doc:
    """The text, each function marked."""
    return printed(module, FunctionPrinter)


def printed(module: Module, printer: Callable[..., FunctionPrinter]) -> Doc:
    """The text of functions that such a printer prints, each marked."""
    functions = [f for f in module.functions if f.kind != "host"]
    names = Names(RESERVED)
    named = {f.name: names.fresh(f.name if f.kind == "cuda" else f"{f.name}_device") for f in functions}
    in_common = arrays_in_common(functions)
    shaped = {phase.function: phase.shape.most_threads for plan in module.plans for phase in plan.phases if phase.shape}
    printers = [printer(f, {g.name: g for g in functions}, named, in_common[f.name], shaped.get(f.name, 0))
                for f in functions]
    bodies = [printer.show() for printer in printers]
    prototypes = [line for at, p in enumerate(printers) if p.function.kind == "device"
                  for line in p.prototype(any(p.function.name in called(q.function.body) for q in printers[:at]))]
    parts: list[Doc] = [commented(module.about)] if module.about else []
    parts += helpers_of("\n".join(bodies))
    parts += ["\n".join(prototypes)] if prototypes else []
    for body, function in zip(bodies, functions, strict=True):
        about = commented(function.about) + "\n" if function.about else ""
        parts.append((about, Mark(body, function)))
    return (join("\n\n", parts), "\n")


def commented(text: str) -> str:
    return "\n".join(f"// {line}".rstrip() for line in text.splitlines())


class FunctionPrinter:
    """Prints one function. `names` maps a loops name to its C++ name, `types` every name to its (element) type;
    `in_common`: its arrays that other threads change or look at meanwhile; `most_threads`: of a block, where the launch
    has a shape, else 0."""
    begins = " {"
    opens, closes = " {", "}"                   # a loop's body

    def __init__(self, function: Function, functions: dict[str, Function], named: dict[str, str],
                 in_common: set[str], most_threads: int) -> None:
        self.function, self.functions, self.named = function, functions, named
        self.most_threads = most_threads
        self.supply = Names(RESERVED | set(named.values()))
        bound = [*(p.name for p in function.parameters), *bound_names(function.body)]
        self.names = {name: self.supply.fresh(name) for name in sorted(bound, key=lambda n: n in self.supply.taken)}
        self.types = {p.name: p.type for p in function.parameters}
        self.read, self.in_common = read_names(function.body), in_common
        self.variables: set[str] = set()
        self.singles: set[str] = set()          # names of floats that are declared as singles
        self.lines: list[str] = []
        self.depth = 0

    def prototype(self, early: bool) -> Iterator[str]:
        """Before a device function's definition: the struct of its results; and itself, if it is called `early`."""
        if len(self.function.results) > 1:
            fields = " ".join(f"{TYPES[r]} r{k};" for k, r in enumerate(self.function.results))
            yield f"struct {self.result()} {{ {fields} }};"
        if early:
            yield self.header() + ";"

    def show(self) -> str:
        self.line(self.header() + self.begins)
        self.block(self.function.body)
        self.line("}")
        return "\n".join(self.lines)

    def header(self) -> str:
        start = f'extern "C" __global__{self.bounds()}' if self.function.kind == "cuda" else "static __device__"
        text = f"{start} {self.result()} {self.named[self.function.name]}("
        column = len(text)
        for at, parameter in enumerate(self.function.parameters):
            shown = self.parameter(parameter)
            if at:
                fits = column + len(shown) < WIDTH
                text, column = (text + ", ", column + 2) if fits else (text + ",\n    ", 4)
            text, column = text + shown, column + len(shown)
        return text + ")"

    def bounds(self) -> str:
        """How few registers compilers should do with: so few that a block of the launch's shape can run; or, where it
        has a tile in shared memory, that BLOCKS run at a time."""
        if self.most_threads:
            return f" __launch_bounds__({self.most_threads})"
        shared = sum([DTYPES[s.type].itemsize * s.size for s in self.function.body if isinstance(s, Shared)])
        return f" __launch_bounds__({THREADS}, {BLOCKS})" if shared >= TILE else ""

    def result(self) -> str:
        return result_text(self.function, self.named)

    def parameter(self, parameter: Parameter) -> str:
        if not parameter.array:
            return f"{TYPES[parameter.type]} {self.names[parameter.name]}"
        const = "" if parameter.writable else "const "
        restrict = "" if parameter.name in self.in_common else "__restrict__ "
        return f"{const}{ELEMENTS[parameter.type]} *{restrict}{self.names[parameter.name]}"

    # Statements -----------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("  " * min(self.depth, DEEPEST) + text)

    def block(self, body: tuple[Stmt, ...]) -> None:
        self.depth += 1
        for statement in body:
            match statement:
                case For() | While() | If():
                    self.compound(statement)
                case Call(names, function, arguments):
                    self.call(names, self.functions[function], arguments)
                case LoadPair():
                    self.load_pair(statement)
                case Note(text):
                    self.line(f"// {text}")
                case _:
                    self.line(self.simple(statement) + ";")
        self.depth -= 1

    def simple(self, statement: Stmt) -> str:
        """A statement that is one line, without its semicolon."""
        match statement:
            case Let(name, type_, value):
                piece = self.piece(value)
                if piece.single and not is_constant(piece):
                    self.singles.add(name)
                    return f"const float {self.bind(name, type_)} = {unwrapped(piece.single)}"
                return f"const {TYPES[type_]} {self.bind(name, type_)} = {piece.text}"
            case Var(name, type_, initial):
                self.variables.add(name)
                return f"{TYPES[type_]} {self.bind(name, type_)} = {self.text(initial)}"
            case Set(name, value):
                return f"{self.names[name]} = {self.text(value)}"
            case Store(value=value, release=True):
                return f"store_release(&{self.place(statement)}, {self.text(value)})"
            case Store(array, value=value) if self.types[array] in WIDE:
                piece, type_ = self.piece(value), ELEMENTS[self.types[array]]
                narrow = unwrapped(piece.single) if piece.single else f"({type_}){within(piece, UNARY)}"
                return f"{self.place(statement)} = {narrow}"
            case Store(value=value):
                return f"{self.place(statement)} = {self.text(value)}"
            case StorePair(_, _, first, second):
                return f"store_pair(&{self.place(statement)}, {self.text(first)}, {as_word(self.piece(second))})"
            case Shared(name, type_, size):
                return f"__shared__ {ELEMENTS[type_]} {self.bind(name, type_)}[{size}]"
            case Atomic(result=None):
                return self.atomic(statement)
            case Atomic(array=array, result=str() as result):
                type_ = self.types[array]
                return f"const {TYPES[type_]} {self.bind(result, type_)} = {self.atomic(statement)}"
            case Pause():
                return "__nanosleep(20)"
            case Barrier(warp, lanes):
                return f"__syncwarp({mask_of(lanes) if lanes < WARP else ''})" if warp else "__syncthreads()"
            case Return(values):
                listed = ", ".join([self.text(v) for v in values])
                return f"return {{{listed}}}" if len(values) > 1 else f"return {listed}".rstrip()
        raise TypeError(statement)

    def bind(self, name: str, type_: str) -> str:
        self.types[name] = type_
        return self.names[name]

    def compound(self, statement: For | While | If) -> None:
        match statement:
            case For(index, low, high, body, step):
                i = self.bind(index, "int")
                bounds = [self.bound(index, "end", high), self.bound(index, "step", step)]
                inits = ", ".join([f"{i} = {self.text(low)}", *(f"{n} = {text}" for n, text in bounds if n != text)])
                (end, _), (by, _) = bounds
                self.loop(f"for (long long {inits}; {i} < {end}; {i} += {by})", body)
            case While(condition, body):
                self.loop(f"while ({self.text(condition)})", body)
            case If(condition, then, orelse):
                self.line(f"if ({self.text(condition)}) {{")
                self.block(then)
                if orelse:
                    self.line("} else {")
                    self.block(orelse)
                self.line("}")

    def loop(self, head: str, body: tuple[Stmt, ...]) -> None:
        self.line(head + self.opens)
        self.block(body)
        self.line(self.closes)

    def bound(self, index: str, what: str, exp: Exp) -> tuple[str, str]:
        """The text to use for a loop's bound, and what it is first set to: the same if it cannot change."""
        text = self.text(exp)
        if isinstance(exp, Const) or (isinstance(exp, Name) and exp.name not in self.variables):
            return text, text
        return self.supply.fresh(f"{self.names[index]}_{what}"), text

    def atomic(self, atomic: Atomic) -> str:
        type_, value, place = self.types[atomic.array], self.text(atomic.value), f"&{self.place(atomic)}"
        bits = f"({WORD})__double_as_longlong({value})" if type_ == "float" else f"({WORD})({value})"
        if atomic.ordered:
            return f"atomic_add_ordered({place}, {value})"
        match atomic.op, type_:
            case ("add", "float"):
                return f"atomicAdd({place}, {value})"
            case ("add", "uint32"):
                return f"atomicAdd({place}, (unsigned)({value}))"
            case "max", ("float" | "bool"):
                return f"atomic_{type_}_max({place}, {value})"
            case "max", "char":
                return f"atomicMax({place}, {value})"
            case ("min" | "max"), _:
                return f"{'atomicMin' if atomic.op == 'min' else 'atomicMax'}({place}, (long long)({value}))"
            case "exchange", "float":
                return f"__longlong_as_double((long long)atomicExch(({WORD} *){place}, {bits}))"
            case ("add" | "exchange"), _:
                return f"(long long){'atomicAdd' if atomic.op == 'add' else 'atomicExch'}(({WORD} *){place}, {bits})"
            case "cas", _ if atomic.compare is not None:
                compare = self.text(atomic.compare)
                return f"(long long)atomicCAS(({WORD} *){place}, ({WORD})({compare}), {bits})"
        raise TypeError(atomic)

    def call(self, names: tuple[str, ...], function: Function, arguments: tuple[Exp, ...]) -> None:
        listed = ", ".join([self.names[argument.name] if parameter.array and isinstance(argument, Name)
                           else self.text(argument)
                           for parameter, argument in zip(function.parameters, arguments, strict=True)])
        call = self.called(f"{self.named[function.name]}({listed})")
        read = [(at, name) for at, name in enumerate(names) if name in self.read]
        types = function.results
        if not read:
            self.line(call + ";")
        elif len(names) == 1:
            self.line(f"const {TYPES[types[0]]} {self.bind(names[0], types[0])} = {call};")
        else:
            several = self.supply.fresh("results")
            self.line(f"const {result_text(function, self.named)} {several} = {call};")
            for at, name in read:
                self.line(f"const {TYPES[types[at]]} {self.bind(name, types[at])} = {several}.r{at};")

    def called(self, call: str) -> str:
        return call

    def load_pair(self, load: LoadPair) -> None:
        pair = self.supply.fresh("pair")
        self.line(f"const {PAIR} {pair} = load_pair(&{self.place(load)});")
        for name, type_, word in zip(load.names, ("int", load.type), ("first", "second"), strict=True):
            if name in self.read:
                self.line(f"const {TYPES[type_]} {self.bind(name, type_)} = {of_word(type_, f'{pair}.{word}')};")

    # Expressions ----------------------------------------------------------------------------

    def text(self, exp: Exp) -> str:
        return self.piece(exp).text

    def piece(self, exp: Exp) -> Piece:
        match exp:
            case Const(value, type_):
                return constant(value, type_)
            case Name(name) if name in PLACES:
                what, _, direction = name.partition("_")
                return Piece(f"(long long){what}.{direction or 'x'}", "int", UNARY, SPECIAL_BITS[what])
            case Name(name) if name in self.singles:
                return as_double(self.names[name])
            case Name(name):
                return Piece(self.names[name], self.types[name])
            case Load():
                return self.load(exp)
            case Shuffle():
                return self.shuffle(exp)
            case Peers(name, bits):
                return Piece(f"lanes_alike({self.names[name]}, {bits})", "int", bits=WARP)
            case Vote(name):
                return Piece(f"(long long)__ballot_sync({MASK}, {self.names[name]})", "int", UNARY, WARP)
            case Op("select", arguments):
                condition, then, orelse = [self.piece(a) for a in arguments]
                text = f"{within(condition, SELECT + 1)} ? {within(then, SELECT + 1)} : {orelse.text}"
                return Piece(text, then.type, SELECT)
            case Op("float32", (rounded,)):
                return self.rounded(rounded)
            case Op(op, arguments):
                return self.applied(op, tuple([self.piece(a) for a in arguments]))
        raise TypeError(exp)

    def applied(self, op: str, pieces: tuple[Piece, ...]) -> Piece:
        """The operator's result; of singles as one, if it is exact."""
        found = on_singles(op, pieces) if op in ("neg", "abs") else None
        return found or apply(op, pieces, wide(result_type(op, tuple(p.type for p in pieces)) or ""))

    def rounded(self, exp: Exp) -> Piece:
        """The single that is nearest to the expression's value; of an operator on singles what that is for singles."""
        if isinstance(exp, Op) and exp.op not in ("select", "float32"):
            pieces = tuple([self.piece(a) for a in exp.arguments])
            piece = on_singles(exp.op, pieces) or self.applied(exp.op, pieces)
        else:
            piece = self.piece(exp)
        return piece if piece.single else as_double(f"(float){within(piece, UNARY)}")

    def load(self, load: Load) -> Piece:
        type_, place = self.types[load.array], self.place(load)
        if load.order in ("relaxed", "acquire"):
            return Piece(f"load_{load.order}(&{place})", type_)
        if load.order:
            return Piece(place, type_)
        if type_ == "float32":
            return as_double(place)
        if type_ in WIDE:
            return Piece(f"({TYPES[wide(type_)]}){place}", wide(type_), UNARY)
        return Piece(place, type_)

    def place(self, access: Access) -> str:
        """The element that is loaded, stored or changed."""
        name = self.names[access.array]
        if isinstance(access, Load) and access.order == "volatile":
            name = f"((const volatile {TYPES[self.types[access.array]]} *){name})"
        if isinstance(access, LoadPair | StorePair):
            return f"{name}[2 * {within(self.piece(access.index), PRODUCT + 1)}]"
        return f"{name}[{self.text(access.index)}]"

    def shuffle(self, shuffle: Shuffle) -> Piece:
        type_, lanes = self.types[shuffle.name], shuffle.lanes
        lane, value = within(self.piece(shuffle.offset), UNARY), self.piece(Name(shuffle.name)).text
        lane = lane if isinstance(shuffle.offset, Const) else f"(int){lane}"
        given = f"(int){value}" if type_ == "bool" else value
        called = f"{SHUFFLES[shuffle.mode]}({mask_of(lanes)}, {given}, {lane}{f', {lanes}' if lanes < WARP else ''})"
        return Piece(f"(bool){called}", type_, UNARY) if type_ == "bool" else Piece(called, type_)


def mask_of(lanes: int) -> str:
    """The bits of the lanes that meet, so many neighbouring ones, of which the thread's is one."""
    return MASK if lanes == WARP else f"{hex((1 << lanes) - 1)}u << (threadIdx.x & {WARP - lanes})"


def as_word(value: Piece) -> str:
    """The value's bits, as an int."""
    if value.type == "float":
        return f"__double_as_longlong({value.text})"
    return value.text if value.type == "int" else f"(long long){within(value, UNARY)}"


def of_word(type_: str, word: str) -> str:
    """The value of the type with these bits."""
    texts = {"int": word, "float": f"__longlong_as_double({word})", "bool": f"{word} != 0", "char": f"(int){word}"}
    return texts[type_]


def unwrapped(text: str) -> str:
    """The text without the parentheses around all of it."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if text[:1] == "(" and at == len(text) - 1 else text
    return text


def result_text(function: Function, named: dict[str, str]) -> str:
    """A function's result type: nothing, a scalar, or its struct."""
    match function.results:
        case ():
            return "void"
        case (only,):
            return TYPES[only]
    return f"{named[function.name]}_results"


def constant(value: int | float | bool | str, type_: str) -> Piece:
    match type_:
        case "float" if not math.isfinite(value):                                        # type: ignore[arg-type]
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            return Piece(f"__longlong_as_double(0x{bits:016x}LL)", type_)
        case "float":
            number = float(value)
            return Piece(repr(value), type_, UNARY, single=f"{value!r}f" if single(number) == number else "")
        case "bool":
            return Piece("true" if value else "false", type_)
        case "char":
            return Piece(str(ord(str(value))), type_)
    number = int(value)
    if number == MIN_INT:
        return Piece("(-9223372036854775807LL - 1)", type_)
    text = str(number) if abs(number) < 2**31 else f"{number}LL"
    return Piece(text, type_, UNARY, number.bit_length() if number >= 0 else 64)
