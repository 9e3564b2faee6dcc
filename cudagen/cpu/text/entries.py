"""The functions by which host functions are called from outside, as LLVM's text: parameters come as words.

What is a size is told to LLVM, so that an index below 0 and one beyond the end are found by one comparison.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.cudagen.cpu.text.operators import TYPES
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import CHUNK_RANGE, Function, Name
from nessie.cudagen.loops.walk import names

SIZE = "!999993"                # names the range of what is a size
RANGE = "!{i64 0, i64 -9223372036854775808}"            # from 0 to the greatest int


def sizes_of(module: Module) -> dict[str, frozenset[str]]:
    """By function, its parameters that are sizes of arrays, whatever it is called for."""
    functions = {f.name: f for f in module.functions}
    found: dict[str, frozenset[str]] = {}
    for plan in module.plans:
        sizes = {name for p in plan.parameters if p.size is not None for name in names(p.size)}
        for phase in plan.phases:
            if phase.function in functions:
                function = functions[phase.function]
                ints = function.parameters[2 if phase.chunks is not None else 0:]
                own = {p.name for p, a in zip(ints, phase.arguments, strict=True)
                       if not p.array and isinstance(a, Name) and a.name in sizes}
                found[function.name] = found.get(function.name, frozenset(own)) & own
    return found


def entry_point(function: Function, sizes: frozenset[str], attributes: str) -> Iterator[str]:
    """The function that loads its parameters from words. No size is less than nothing."""
    chunked = tuple(p.name for p in function.parameters[:2]) == CHUNK_RANGE
    arguments = [f"i64 %{name}" for name in CHUNK_RANGE] if chunked else []
    yield f"define void @{function.name}.call(i64 %first_chunk, i64 %last_chunk, ptr %arguments) {attributes} {{"
    for number, parameter in enumerate(function.parameters[2 if chunked else 0:]):
        yield f"  %word.{number} = getelementptr inbounds i64, ptr %arguments, i64 {number}"
        type_, narrowed = "ptr" if parameter.array else TYPES[parameter.type], parameter.type in ("bool", "char")
        if narrowed and not parameter.array:
            yield f"  %wide.{number} = load i64, ptr %word.{number}"
            yield f"  %value.{number} = trunc i64 %wide.{number} to {type_}"
        else:
            known = f", !range {SIZE}" if parameter.name in sizes and not parameter.array else ""
            yield f"  %value.{number} = load {type_}, ptr %word.{number}{known}"
        arguments.append(f"{type_} %value.{number}")
    yield f"  call void @{function.name}.body({', '.join(arguments)})"
    yield "  ret void"
    yield "}"
