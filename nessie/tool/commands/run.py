"""nessie run: runs a program, or calls one of its functions."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nessie.base.source import Source, UsageError
from nessie.base.types import Type
from nessie.files.files import (
    BY_WORKERS,
    TableStyle,
    check_writable,
    refuse_misfit,
    write_value,
)
from nessie.files.names import SEPARATORS, TABLES, ending_of
from nessie.pictures.files import pictures
from nessie.running.results import restore
from nessie.session.columns import column_names as names_of_columns
from nessie.session.session import Session
from nessie.session.streams import print_outcomes, say, say_aside
from nessie.syntax.parse import parse, read_source
from nessie.tool.commands.entry import define, ended, refuse_type, value_of_entry
from nessie.tool.options import PIPE, needed, new_session


def run(options: argparse.Namespace) -> int:
    refuse_without_table(options)
    if options.stream:
        from nessie.tool.commands.streaming import stream
        return stream(options)
    session = new_session(options, sys.stderr.write if options.output == PIPE else None)
    source = read_source(needed(options, "FILE"))
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
    style = TableStyle(options.columns, column_names(session, options), options.quote_formulas)

    def refuse(type_: Type) -> None:
        if options.output:
            refuse_misfit(options.output, type_, session.content, style=style)
    value, type_ = value_of_entry(session, options, refuse)
    if options.output:
        whole = restore(value, type_, session.environment)
        write_value(options.output, whole, type_, session.content, say, style, session.target.hands)
    else:
        say(session.outcome("it", value, type_).value + "\n")
    return ended(session, 0)
