"""Pass: print loops as LLVM IR text (opaque pointers): functions of kind 'host' and 'device'; 'cuda' ones are left out.

A function f is printed as @f.body, internal to the module. A host function is called from outside by

    define void @f.call(i64 %first_chunk, i64 %last_chunk, ptr %arguments)

which reads f's parameters, in order, from 64-bit words: an int or an array's address as it is, a float as its bits, a
bool as 0 or 1, a char as its code. If f's first two parameters are the chunk range, they come from the registers and
have no words; else the range is ignored.

Arrays are `noalias`: nothing that is written aliases anything. In memory a bool is a byte, 0 or 1. A Var is an alloca,
which the optimiser turns into registers. Wrapping arithmetic carries no flags; the step of a loop's index cannot
overflow, since the index stays below a bound. No instruction may be reordered for speed: floats are added as the text
says.
"""
from __future__ import annotations

from nessie.base.text.layout import Doc, Mark, join, render
from nessie.cudagen.cpu.checks import editions
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.rewrites.cuts import in_cuts
from nessie.cudagen.cpu.rewrites.decided import until_decided
from nessie.cudagen.cpu.rewrites.eights import in_eights
from nessie.cudagen.cpu.rewrites.folds import in_lanes
from nessie.cudagen.cpu.rewrites.pairs import in_pairs
from nessie.cudagen.cpu.rewrites.ranges import in_ranges
from nessie.cudagen.cpu.rewrites.rows_ahead import with_rows_ahead
from nessie.cudagen.cpu.rewrites.rows_of_loops import by_rows
from nessie.cudagen.cpu.rewrites.strips import in_strips
from nessie.cudagen.cpu.text.entries import RANGE, SIZE, entry_point, sizes_of
from nessie.cudagen.cpu.text.functions import MASKS, USUAL, WIDEST, FunctionPrinter, needs_wide_registers
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Function

ATTRIBUTES = ("attributes #0 = { nounwind }", "attributes #1 = { cold noinline nounwind optnone }")
OF_WIDEST = 'attributes #2 = { nounwind "prefer-vector-width"="512" }'    # for some processors, LLVM prefers half of it


def llvm(module: Module) -> str:
    """The module's host and device functions, with entry points for the host ones."""
    return render(document(module))


def document(module: Module) -> Doc:
    """The text, each function marked together with its entry point."""
    functions = {f.name: f for f in module.functions}
    sizes = sizes_of(module)
    declared = {SIZE: f"{SIZE} = {RANGE}"} if any(sizes.values()) else {}
    parts: list[Doc] = []
    shown = set[str]()
    for function in module.functions:
        if function.kind != "cuda":
            found = [f for f in rewritten(function, functions) if f.name not in shown]
            functions.update({f.name: f for f in found})
            texts = [FunctionPrinter(f, functions, declared).show() for f in found]
            shown |= {f.name for f in found}
            if function.kind == "host":
                called = WIDEST if any(map(needs_wide_registers, found)) else USUAL          # it is inlined there
                texts.append("\n".join(entry_point(function, sizes.get(function.name, frozenset()), called)))
            parts.append(Mark("\n\n".join(texts), function))
    wide = [OF_WIDEST] if any(map(needs_wide_registers, functions.values())) else []
    return (join("\n\n", [*parts, "\n".join([*declared.values(), "", *ATTRIBUTES, *wide])]), "\n")


def rewritten(function: Function, functions: dict[str, Function]) -> tuple[Function, ...]:
    """The function as LLVM gets it, after what it calls beside the module's functions."""
    in_turn, strips = in_strips(function, functions)
    together = in_pairs(in_lanes(by_rows(in_ranges(in_cuts(with_rows_ahead(in_turn))))))
    if MASKS in features():
        together = in_eights(together)
    return (*strips, *editions(until_decided(together), in_turn))
