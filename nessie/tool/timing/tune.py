"""nessie tune: measures the versions of a function on arguments of several shapes, and writes a tuning file.

ARGs are expressions of n, m and k, the numbers of a shape:

    nessie tune pick.nesl -e pick '{float(i) : i in [0:n]}' '{rem(i, n) : i in [0:m]}' --shapes 1e6x10,1000x1e6

and of `lengths`, those of n rows: each is m, or, where the shape is `power` or `power:1e5x10`, most are short and few
long, and their mean is m.
"""
from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from nessie.base.source import Interrupted, LostOutput, NessieError, Source, UsageError
from nessie.base.system.writing import require_writable
from nessie.lambda_cu import nodes as ir
from nessie.session.session import Session
from nessie.session.streams import say_aside, warn
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import forms, parse, read_source
from nessie.tool.options import PIPE, needed, new_session, write_result
from nessie.tuning.file import Tuning, machine, name_of, show
from nessie.tuning.measure import Sample, fitted, refused, times
from nessie.tuning.shapes import LENGTHS, NAMES, Shape, definitions
from nessie.typing.advice.undefined import undefined_uses

USUAL = tuple(Shape((n, m)) for n in (1000, 30_000, 1_000_000, 4_000_000)
              for m in (4 * n, n, n // 2, n // 3, n // 4, n // 6, n // 10, n // 100))
OF_SHAPES = re.compile(rf"\b({'|'.join((*NAMES, LENGTHS))})\b")


def tune(options: argparse.Namespace) -> int:
    if refusal := refused(options.target or "cpu"):
        raise UsageError(refusal)
    if not options.entry or not options.arguments:
        raise UsageError("tune needs -e ENTRY ARG...", hint="nessie tune --help tells more")
    path = needed(options, "FILE")
    program = parse(read_source(path))
    samples, shapes = [], options.shapes or USUAL
    if options.output not in (None, PIPE):
        require_writable(options.output)        # measuring takes long
    if not any([OF_SHAPES.search(argument) for argument in options.arguments]):
        warn([f"no ARG depends on a shape: none has {', '.join(NAMES)} or {LENGTHS}\nhint: thresholds need several: "
              f"{{float(i) : i in [0:n]}} has as many elements as a shape says"])
        shapes = shapes[:1]
    require_numbers(options, program, shapes)
    for number, shape in enumerate(shapes, 1):
        options.activity.begin(f"tuning: shape {number} of {len(shapes)}, {shape}")
        samples.append(sample(options, program, shape))
        say_aside(told(shape, samples[-1]))
    tuning = Tuning(machine(), name_of(path), options.entry.lower(), tuple(fitted(samples)))
    if not tuning.choices:
        raise NessieError(f"{options.entry} has no versions: there is nothing to tune",
                          hint="nessie compile FILE -e ENTRY --emit fused shows choices")
    write_result(options, show(tuning))
    if options.output not in (None, PIPE):
        say_aside(f"{options.output} is written: --tuning {options.output} uses it\n")
    return 0


def require_numbers(options: argparse.Namespace, program: syntax.Program, shapes: Sequence[Shape]) -> None:
    """Refuse a shape without a number that an ARG has."""
    from nessie.arguments.words import parse_argument
    least = min(shapes, key=lambda shape: len(shape.numbers))
    absent = NAMES[len(least.numbers):]
    if not any([re.search(rf"\b({'|'.join(absent)})\b", argument) for argument in options.arguments]):
        return
    session = new_session(options, say_aside)
    session.listener = lambda text: None
    evaluate(session, program)
    known = {name for name in absent if session.environment.lookup(name) is not None}
    for use in [use for place, text in enumerate(options.arguments) if not text.startswith("@")
                for use in undefined_uses(syntax.Evaluate(parse_argument(place, text)), known) if use.name in absent]:
        more = "x10" * (NAMES.index(use.name) + 1 - len(least.numbers))
        raise NessieError(f"shape {least} has no {use.name}", *([(use.span, "")] if use.span else []),
                          hint=f"the numbers of a shape are {', '.join(NAMES)}: {least}{more} has {use.name} = 10")


def sample(options: argparse.Namespace, program: syntax.Program, shape: Shape,
           clock: Callable[[], float] = perf_counter) -> Sample:
    """The times of the function's versions on the ARGs for this shape."""
    from nessie.arguments.words import words_of
    from nessie.session.calling import prepare_call
    session = new_session(options, say_aside)
    session.job = replace(session.job, versions=True)
    session.listener = lambda text: None
    evaluate(session, program)
    asked = any([LENGTHS in argument for argument in options.arguments])
    evaluate(session, syntax.Program(tuple([f for f in forms(Source("shape", definitions(shape, asked)), False)
                                            if not isinstance(f, NessieError)])))
    entry = options.entry.lower()
    try:
        words = words_of(session, entry, options.arguments, None)
        prepared = prepare_call(session, entry, words.expressions)
        target = session.target
        built = target.compiled_for(session.job, prepared.program, prepared.arguments)
        assert not isinstance(built, ir.Program)
        return times(target, built, prepared.arguments, clock)
    except NessieError as error:
        if not isinstance(error, Interrupted | LostOutput):
            error.message = f"shape {shape}: {error.message}"
        raise


def evaluate(session: Session, program: syntax.Program) -> None:
    for form in program.forms:
        if not isinstance(form, syntax.Evaluate):
            session.evaluate(form)


def told(shape: Shape, found: Sample) -> str:
    """The times of one shape, in words."""
    lines = [f"{shape}: {choice}: " + ", ".join([f"{version} {seconds * 1e3:.3f} ms"
                                                        for version, seconds in measured.seconds.items()])
             for choice, measured in found.choices.items()]
    return "".join([f"{line}\n" for line in lines])
