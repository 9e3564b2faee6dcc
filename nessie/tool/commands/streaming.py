"""nessie run --stream: a function that does the same for each row, on some rows after the others, or by workers."""
from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from nessie.api.options import Options
from nessie.api.partitions.arguments import Held, Stream, Typed
from nessie.api.partitions.calling import room_of
from nessie.api.partitions.map_partitions import Asked, written
from nessie.api.program import Program
from nessie.arguments.by_rows import streams_of
from nessie.arguments.words import check_files, parse_argument
from nessie.base.source import UsageError
from nessie.files.files import TableStyle, open_file
from nessie.running.target_names import DASK
from nessie.session.streams import say, say_aside, warn
from nessie.syntax.parse import parse, read_source
from nessie.tool.options import PIPE, job_of, needed, type_of, where_of
from nessie.typing.advice.messages import no_function

FOR_EFFECTS = ("allow_shell", "draw", "events", "seed")         # options of programs that do more than compute


def stream(options: argparse.Namespace) -> int:
    source = read_source(needed(options, "FILE"))
    refuse(options)
    where, entry = where_of(options), options.entry.lower()
    job = replace(job_of(options), strict=False, tuning=None)
    places = streams_of(parse(source), entry)
    if len(options.arguments) <= max(places):
        raise UsageError(f"{entry} goes over the rows of argument {max(places) + 1}, and {len(options.arguments)} "
                         f"{'is' if len(options.arguments) == 1 else 'are'} given")
    for place in places:
        if not options.arguments[place].startswith("@") or options.arguments[place] == f"@{PIPE}":
            raise UsageError(f"--stream calls a function on the rows of files, and argument {place + 1} is "
                             f"{options.arguments[place]}: -e {options.entry} @rows.parquet")
    program = Program(source, Options(
        threads=options.threads, memory=options.memory, depth=options.depth, seconds=options.time_limit,
        unchecked=options.unchecked, floats=int(options.float or 64), ints=int(options.int or 64),
        tuning=options.tuning), job)
    environment = program._session.environment
    if environment.lookup(entry) is None:
        raise no_function(entry, environment.functions(), environment.names())
    check_files(entry, options.arguments, program._session.parameter_types(entry, len(options.arguments)))
    asked = Asked(program, entry, type_of(options), where=where if options.target == DASK else None)
    given = [Stream(places.index(place)) if place in places else argument(program, place, text)
             for place, text in enumerate(options.arguments)]
    made = written(asked, [options.arguments[place][1:] for place in places], given, {}, options.output,
                   TableStyle(options.columns, quoting=options.quote_formulas), say)
    warn(program._session.unmet())
    if options.output != PIPE:
        parts = f"{len(made)} part{'s' * (len(made) != 1)} in " if made != [options.output] else "all parts in "
        say_aside(f"{parts}{options.output}\n")
    return 0


def refuse(options: argparse.Namespace) -> None:
    """UsageError for what --stream does not do."""
    if options.target not in (None, "cpu", DASK):
        raise UsageError(f"--stream computes on CPUs, here or on workers, not by the target {options.target}",
                         hint="leave --target out, or take --target dask")
    if not options.entry or not options.arguments:
        raise UsageError("--stream calls a function on the rows of a file: -e ENTRY @rows.parquet")
    if not options.output:
        raise UsageError("--stream writes the results of parts: name a folder of tables, -o out.parquet, or a file, "
                         "-o out.npy, out.jsonl, out.csv or out.tsv")
    for name in FOR_EFFECTS:
        if getattr(options, name) not in (None, False):
            raise UsageError(f"--{name.replace('_', '-')} is for programs that do more than compute, which --stream "
                             "refuses")
    if options.dump and options.target == DASK:
        raise UsageError("--dump writes what passes make on this machine, and with --stream --target dask, workers "
                         "compile")


def argument(program: Program, place: int, text: str) -> Any:
    """What each part gets for this word."""
    content = program._session.content
    if text.startswith("@"):
        return Held(text[1:], open_file(text[1:], room_of(program)), content)
    return Typed(parse_argument(place, text), program._session)
