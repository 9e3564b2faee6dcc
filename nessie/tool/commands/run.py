"""nessie run: runs a program, or calls one of its functions, or the function on one part of a file after the other."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nessie.base.source import Source, UsageError
from nessie.files.files import BY_WORKERS, SEPARATORS, TABLES, TableStyle, check_writable, ending_of, write_value
from nessie.pictures.files import pictures
from nessie.running.results import restore
from nessie.running.target_names import DASK, LOCAL_WORKERS
from nessie.session.columns import column_names as names_of_columns
from nessie.session.session import Session
from nessie.session.streams import print_outcomes, say, say_aside
from nessie.syntax.parse import parse, read_source
from nessie.tool.commands.entry import define, ended, refuse_type, value_of_entry
from nessie.tool.options import PIPE, needed, new_session, where_of


def run(options: argparse.Namespace) -> int:
    if options.stream:
        needed(options, "FILE")
        where_of(options)
        return stream(options)
    session = new_session(options, sys.stderr.write if options.output == PIPE else None)
    source = read_source(needed(options, "FILE"))
    refuse_without_table(options)
    if options.output and not options.entry:
        raise UsageError("-o writes the result of a call: name the function with -e")
    refuse_type(options)
    with pictures(session.target.world.drawn, options.draw, Path(source.name).stem, say_aside):
        if options.entry:
            return run_entry(session, source, options)
        return ended(session, print_outcomes(session.run(source)))


def refuse_without_table(options: argparse.Namespace) -> None:
    """Refuse options about tables where no table is written."""
    ending = ending_of(options.output or "")
    if options.quote_formulas and ending not in SEPARATORS:
        raise UsageError("--quote-formulas is about texts in a .csv or .tsv file: name one with -o")
    if options.columns and ending not in TABLES:
        raise UsageError(f"--columns names those of a table: -o names one, {', '.join(TABLES)}")


def column_names(session: Session, options: argparse.Namespace) -> list[str]:
    """Names for the columns of ENTRY's result, as far as they are known."""
    entry = session.environment.lookup(options.entry.lower())
    return names_of_columns(entry.name, session.environment) if entry is not None else []


def run_entry(session: Session, source: Source, options: argparse.Namespace) -> int:
    """Call a function of the program on the ARGs. Prints its result or writes it to a file."""
    if options.output:
        check_writable(options.output, session.target.reads_files)
        session.target.leaves = ending_of(options.output) in BY_WORKERS
    define(session, parse(source))
    value, type_ = value_of_entry(session, options)
    if options.output:
        whole = restore(value, type_, session.environment)
        style = TableStyle(options.columns, column_names(session, options), options.quote_formulas)
        write_value(options.output, whole, type_, session.content, say, style, session.target.hands)
    else:
        say(session.outcome("it", value, type_).value + "\n")
    return ended(session, 0)


def stream(options: argparse.Namespace) -> int:
    """A function that does the same for each row, on some rows after the others, or by the workers of a cluster."""
    from nessie.api.program import load
    from nessie.arguments.by_rows import refuse_unless_by_rows
    if options.target not in (None, "cpu", DASK):
        raise UsageError(f"--stream computes on CPUs, here or on workers, not by the target {options.target}",
                         hint="leave --target out, or take --target dask")
    if not options.entry or len(options.arguments) != 1 or not options.arguments[0].startswith("@"):
        raise UsageError("--stream calls a function on the rows of one file: -e ENTRY @rows.parquet")
    if not options.output or not options.output.endswith(".parquet"):
        raise UsageError("--stream writes a folder of tables: name it, -o out.parquet")
    refuse_unless_by_rows(parse(read_source(options.operand)), options.entry.lower())
    program = load(options.operand, threads=options.threads, memory=options.memory, depth=options.depth,
                   seconds=options.time_limit, seed=options.seed or 0, unchecked=options.unchecked,
                   float=int(options.float or 64), int=int(options.int or 64))  # type: ignore[arg-type]
    workers = None
    if options.target == DASK and options.cluster is None:
        workers = options.workers or LOCAL_WORKERS
    made = program[options.entry.lower()].map_partitions(options.arguments[0][1:], cluster=options.cluster,
                                                         workers=workers, out=options.output)
    say_aside(f"{len(made)} part{'s' * (len(made) != 1)} in {options.output}\n")
    return 0
