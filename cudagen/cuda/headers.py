"""Pass: comments above each kernel, for people who read its CUDA text or launch it by hand.

    // K1 ----------------------------------------------------------------
    //
    //   norm2.nesl:5    let sum1 = sum(xs);                      what it was made from: the source's lines,
    //   norm2.nesl:7        sum2 = sum(gts)
    //
    // kernel K1 (n : int, xs : [float; n]) -> (float, float) { ... }          and lambda_cu
    //
    // Launches, one after another:
    //
    //   K1_sweep<<<min((n + 255) / 256, 1024), 256>>>(xs, n, sum1_parts, sum2_parts, errors)
    //     128 bytes of shared memory
    //   K1_finish<<<1, 256>>>(n, sum1_parts, sum2_parts, cells, errors)
    //
    // Arguments:
    //
    //   xs          n doubles, given
    //   sum1_parts  min((n + 255) / 256, 1024) doubles; scratch
    //   cells       2 words of 8 bytes; afterwards [0] sum1, a double; [1] sum2, a double
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap

from nessie.base.call_graph import reachable
from nessie.base.source import Origin, Span, user_span
from nessie.base.text.layout import render
from nessie.base.values import DTYPES
from nessie.base.widths import wide
from nessie.cudagen.cuda.memory import EPOCHS, TICKET_WORDS
from nessie.cudagen.cuda.operators import ELEMENTS, TYPES
from nessie.cudagen.host.device import ERROR_WORDS, INDEX_BITS, MOST_ROUNDS
from nessie.cudagen.kernels.scalar_functions import device_name
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import (
    EPOCH,
    PAIR,
    THREADS,
    TICKETS,
    ArrayResult,
    Buffer,
    Input,
    Phase,
    Plan,
    by_kernel,
    reached,
)
from nessie.cudagen.loops.printer import show_exp
from nessie.cudagen.loops.walk import parts
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.scope import calls_of_functions, statements
from nessie.lambda_cu.text import printer

RULE = 100                      # columns
MOST_COPIED = 70                # columns of a line of the source
Functions = Mapping[str, loops.Function]
ARTICLES = {base: f"{'an' if base == 'char' else 'a'} {type_}" for base, type_ in TYPES.items()}

CONVENTIONS = f"""\
CUDA C++ by Nessie, for GPUs of compute capability 7.0 or more. It needs no header:
nvcc -cubin -arch=sm_90 --fmad=false --std=c++17 FILE.cu, or NVRTC with these options.

The kernels are those of `nessie compile ... --emit fused --target cuda`, which also shows what the host does
between them. Without --target, that prints the program as the CPU has it, whose kernels have other numbers:
what is flattened, and what is worth fusing, depends on the target.

int is long long, float double, bool one byte, char an int (its code). A launch has {THREADS} threads a block,
or as many as it shows, and no dynamic shared memory; one of 0 blocks or threads is left out. Arrays hold anything
at first, unless it is said otherwise.

errors: {len(ERROR_WORDS)} words of 8 bytes, which all kernels of a run share.
  [0]       2^63 - 1 at first; a check that fails puts the least (its number) * 2^{INDEX_BITS} + (index) there
  [1]       how often loops that have no known bound may go round: 2^{MOST_ROUNDS.bit_length() - 1}
  [2], [3]  are for CPUs
  [4]       0 at first; 1 after a kernel that has failed: then others do nothing
interrupt: a word of 8 bytes, 0; anything else ends such loops. The host may set it meanwhile, if it sees it.
tickets: {TICKET_WORDS} words of 8 bytes, which all kernels share: 0 at first, and 0 again when a launch has ended.
epoch: {EPOCHS} more at each launch than at the one before; 0 at first. So arrays that begin with nothing greater
may be those that earlier launches have left."""


def headers(program: ir.Program, module: Module) -> Module:
    """The module of the program, which is fused, for the target cuda, with comments."""
    functions = {f.name: f for f in module.functions}
    shared = {device_name(f) for f in program.scalar_functions}
    plans = {found[0].name: found for found in by_kernel(module.plans)}
    texts = {kernel.name: header(program, kernel, plans[kernel.name], functions)
             for kernel in program.kernels if kernel.name in plans}
    texts |= {offer.name: header_of_offer(program, offer, plans[offer.name], functions)
              for offer in program.functions if offer.name in plans}
    above = {next(name for name in functions if name in own): text for name, text in texts.items()
             if (own := reached(functions, plans[name][0]) - shared)}
    return replace(module, about=CONVENTIONS, functions=tuple(
        [replace(f, about="\n\n".join(filter(None, [above.get(f.name), f.about]))) for f in module.functions]))


def header(program: ir.Program, kernel: ir.Kernel, plans: Sequence[Plan], functions: Functions) -> str:
    """`plans`: the kernel's, and the one that does the same where there is little, if there is one."""
    scalars = {f.name: f for f in program.scalar_functions}
    parts = [f"{kernel.name} ".ljust(RULE, "-"), columns(source_lines(kernel)),
             render(printer.kernel_doc(kernel, scalars)).rstrip(), columns(checks(program, kernel), "Checks:"),
             *how_launched(plans, functions)]
    return "\n\n".join(filter(None, parts))


def how_launched(plans: Sequence[Plan], functions: Functions) -> list[str]:
    return [*["\n".join([title, "", *launches(plan, functions)])
              for plan, title in zip(plans, titles(plans), strict=True)],
            columns(dict([row for plan in plans for row in arguments(plan, functions)]).items(), "Arguments:")]


def header_of_offer(program: ir.Program, offer: ir.Function, plans: Sequence[Plan], functions: Functions) -> str:
    """The header of a loop over rows: all that it goes through."""
    scalars = {f.name: f for f in program.scalar_functions}
    inside = reachable(calls_of_functions(program), (offer.apart,))
    called = [f for f in program.functions if f.name in inside]
    run = {s.kernel for f in called for s in statements(f.body) if isinstance(s, ir.Run)}
    kernels = [kernel for kernel in program.kernels if kernel.name in run]
    parts = [f"{offer.name} ".ljust(RULE, "-"), columns(lines_of([f.origin for f in called])),
             *[render(printer.function_doc(f)).rstrip() for f in called],
             *[render(printer.kernel_doc(kernel, scalars)).rstrip() for kernel in kernels],
             columns(dict(row for kernel in kernels for row in checks(program, kernel)).items(), "Checks:"),
             *how_launched(plans, functions)]
    return "\n\n".join(filter(None, parts))


def titles(plans: Sequence[Plan]) -> tuple[str, ...]:
    """What stands above the launches of each plan."""
    if plans[0].alone is None:
        return ("Launches, one after another:",)
    where = f"Launches, where {show_exp(plans[0].alone.chunks)} > 1, one after another:"
    return "\n".join(wrap(where, RULE, break_long_words=False)), "Launches elsewhere:"


def columns(rows: Iterable[tuple[str, str]], title: str = "") -> str:
    rows = list(rows)
    width = max((len(first) for first, _ in rows), default=0)
    lines = [f"  {first:{width}}  {second}" for first, second in rows]
    return "\n".join([*([title, ""] if title and lines else []), *lines])


# Where it comes from ------------------------------------------------------------------------------


def source_lines(kernel: ir.Kernel) -> Iterator[tuple[str, str]]:
    """The lines of the user's that the kernel was made from, in the order in which they stand."""
    return lines_of(kernel.merged or (kernel.origin, *(bind.origin for bind in kernel.binds)))


def lines_of(origins: Iterable[Origin]) -> Iterator[tuple[str, str]]:
    spans = [span for origin in origins if (span := user_span(origin))]
    for name, line, text in dict.fromkeys((s.source.name, s.line, line_of(s)) for s in
                                          sorted(spans, key=lambda s: (s.source.name, s.start))):
        yield f"{name}:{line}", text if len(text) <= MOST_COPIED else f"{text[:MOST_COPIED]}..."


def line_of(span: Span) -> str:
    text = span.source.text
    begin, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.start)
    return text[begin:end if end >= 0 else len(text)].expandtabs().rstrip()


def checks(program: ir.Program, kernel: ir.Kernel) -> Iterator[tuple[str, str]]:
    """By the numbers under which they record failures."""
    failing = {exp.site for bind in kernel.binds for thunk in INDEX_THUNKS.of(bind.soac)
               for exp in subexpressions(thunk.body) if isinstance(exp, ir.Fail)}
    for number, site in enumerate(program.sites):
        if site.name in failing:
            span = user_span(site.origin)
            yield f"{number}, {site.name}", site.message + (f" ({span.source.name}:{span.line})" if span else "")


# How it is launched -------------------------------------------------------------------------------


def launches(plan: Plan, functions: Functions) -> Iterator[str]:
    """Each launch as CUDA has it; of launches that are done again and again, the first and how often."""
    phases, at = list(plan.phases), 0
    while at < len(phases):
        length, times = repeated(phases[at:])
        for phase in phases[at:at + length]:
            yield from launched(phase, functions[phase.function])
        if times > 1:
            again = [phases[at + length * k:at + length * (k + 1)] for k in range(times)]
            more = "once" if times == 2 else f"{times - 1} times"
            yield f"  ... and {more} more, each time on the arrays that the time before has left"
            yield from (f"    {line}" for line in varying(functions, again))
        at += length * times


def launched(phase: Phase, function: loops.Function) -> Iterator[str]:
    given = ", ".join(map(show_exp, phase.arguments))
    call = f"{phase.function}<<<{blocks(phase)}>>>({given})"
    yield from wrap(call, RULE, initial_indent="  ", subsequent_indent="      ", break_long_words=False)
    shared = sum(s.size * DTYPES[s.type].itemsize for s in function.body if isinstance(s, loops.Shared))
    if shared:
        yield f"    {shared:,} bytes of shared memory, which it declares"


def blocks(phase: Phase) -> str:
    """The blocks, and the threads of each."""
    if phase.shape is not None:
        return ", ".join([f"({', '.join(map(show_exp, sizes))})" for sizes in (phase.shape.grid, phase.shape.block)])
    return f"{'1' if phase.chunks is None else show_exp(phase.chunks)}, {THREADS}"


def repeated(phases: Sequence[Phase]) -> tuple[int, int]:
    """The number of phases in a repetition, and of repetitions: the shortest that are done again, else the first,
    once."""
    names = [(phase.function, phase.chunks, phase.shape) for phase in phases]
    for length in range(1, len(names) // 2 + 1):
        times = 1
        while names[length * times:length * (times + 1)] == names[:length]:
            times += 1
        if times > 1:
            return length, times
    return 1, 1


def varying(functions: Functions, again: Sequence[Sequence[Phase]]) -> Iterator[str]:
    """The numbers that differ from time to time."""
    for same in zip(*again, strict=True):
        for place, values in enumerate(zip(*(phase.arguments for phase in same), strict=True)):
            numbers = [str(value.value) for value in values if isinstance(value, loops.Const)]
            if len(set(numbers)) > 1:
                name = functions[same[0].function].parameters[place].name
                yield f"{same[0].function} has {name} = {', '.join(numbers)}"


# What it is given ---------------------------------------------------------------------------------


def arguments(plan: Plan, functions: Functions) -> Iterator[tuple[str, str]]:
    """The table of the launches' arguments: the kernel's parameters, results, scratch, cells and error words. Arrays
    that only later times of a repetition have are like those of the first."""
    used = {a.name for phase in plan.phases for a in phase.arguments if isinstance(a, loops.Name)}
    buffers = {buffer.name: buffer for phase in plan.phases for buffer in phase.buffers}
    results = {result.buffer: result for result in plan.results if isinstance(result, ArrayResult)}
    sizes = {part.name for phase in plan.phases for exp in sizes_of(phase) for part in parts(exp)
             if isinstance(part, loops.Name)}
    for parameter in plan.parameters:
        if parameter.name in used | sizes:
            yield parameter.name, input_text(parameter)
    for name in [*results, *dict.fromkeys(shown_names(plan))]:
        if name in buffers:
            yield name, buffer_text(buffers.pop(name), results.get(name))
    if "cells" in used:
        yield "cells", cells(plan, functions)
    for name in ("errors", "interrupt", TICKETS, EPOCH):
        if name in used:
            yield name, "see the beginning of this text"


def sizes_of(phase: Phase) -> Iterator[loops.Exp]:
    yield from (buffer.size for buffer in phase.buffers)
    yield from () if phase.chunks is None else (phase.chunks,)
    yield from () if phase.shape is None else (*phase.shape.grid, *phase.shape.block)
    yield from (argument for argument in phase.arguments if phase.shape and not isinstance(argument, loops.Name))


def shown_names(plan: Plan) -> Iterator[str]:
    """The names that stand in the launches as they are shown."""
    at = 0
    while at < len(plan.phases):
        length, times = repeated(plan.phases[at:])
        yield from (a.name for phase in plan.phases[at:at + length] for a in phase.arguments
                    if isinstance(a, loops.Name))
        at += length * times


def input_text(parameter: Input) -> str:
    if parameter.size is None:
        return f"{ARTICLES[parameter.base]}, given"
    return f"{show_exp(parameter.size)} {plural(parameter.base)}, given"


def buffer_text(buffer: Buffer, result: ArrayResult | None) -> str:
    size = show_exp(buffer.size)
    text = f"1 {ELEMENTS[buffer.base]}" if size == "1" else f"{size} {plural(buffer.base)}"
    if buffer.fill is not None:
        fill = show_exp(loops.Const(buffer.fill, wide(buffer.base)))
        text += f", {'all ' if size != '1' else ''}{fill} at first"
    if buffer.copy:
        text += f", those of {buffer.copy} at first"
    if buffer.kept:
        text += f", {'the first of each two ' * (buffer.kept == PAIR)}no greater than the epoch at first"
    if result is None:
        return f"{text}; scratch"
    return f"{text}; {f'the first {show_exp(result.length)} are ' if result.length is not None else ''}a result"


def cells(plan: Plan, functions: Functions) -> str:
    """The text about the cells: their contents; as other types they are parameters of other names."""
    text = f"{plan.cells} word{'s' * (plan.cells > 1)} of 8 bytes"
    named = [f"[{result.slot}] {result.name}, {ARTICLES[result.base]}" for result in plan.results
             if not isinstance(result, ArrayResult)]
    also = sorted({p.name for name in reached(functions, plan) for p in functions[name].parameters
                   if p.name.startswith("cells_")})
    text += f" ({', '.join(also)}: the same words)" if also else ""
    return f"{text}; afterwards {'; '.join(named)}" if named else text


def plural(base: str) -> str:
    return f"{ELEMENTS[base]}s"
