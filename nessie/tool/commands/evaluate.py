"""nessie eval: evaluates one expression; with --jsonl the program of each line, in a session of its own."""
from __future__ import annotations

import argparse
import gc
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nessie.activity import Activity
from nessie.base.source import Interrupted, NessieError, Source, Span, UsageError
from nessie.base.system.deep import run_deep
from nessie.pictures.files import as_data, pictures
from nessie.session.streams import print_outcomes, say, say_aside
from nessie.syntax.parse import parse, read_source
from nessie.tool.commands.entry import define, ended
from nessie.tool.options import LEAVES, deadline_of, needed, new_session


def evaluate(options: argparse.Namespace) -> int:
    if options.jsonl:
        if options.operand is not None or options.file is not None:
            raise UsageError("--jsonl reads whole programs from standard input: neither EXPR nor -f goes with it")
        return evaluate_lines(options)
    text = needed(options, "EXPR")
    if not text.strip(" \t\n;$"):
        raise NessieError("there is nothing to evaluate")
    session = new_session(options)
    with pictures(session.target.world.drawn, options.draw, Path(options.file or "drawing").stem, say_aside):
        if options.file:
            define(session, parse(read_source(options.file)))
            session.listener = None
        return ended(session, print_outcomes(session.run(Source("expression", text), ends_itself=True)))


def evaluate_lines(options: argparse.Namespace) -> int:
    """Evaluate the program in each line of standard input, in a session of its own; print an answer per line."""
    for line in typed_lines(options.activity):
        if line.strip():
            say(json.dumps(answer_line(options, line)) + "\n")
            gc.collect(0)           # cycles end with their program: then is the time to look
    return 0


def typed_lines(activity: Activity) -> Iterator[str]:
    """The lines of standard input. The activity is paused while they are typed."""
    lines = iter(sys.stdin)
    while True:
        with activity.paused():
            line = next(lines, None)
        if line is None:
            return
        yield line


def answer_line(options: argparse.Namespace, line: str) -> dict[str, Any]:
    try:
        case = json.loads(line)
    except (ValueError, RecursionError):
        case = None
    identity = case.get("id") if isinstance(case, dict) else None
    if identity is None or not isinstance(case.get("source"), str):
        wrong = NessieError('a line of input is {"id": ..., "source": "..."}, in JSON')
        return {"id": identity, "error": error_data(wrong)}
    try:
        told = run_deep(lambda: answer(options, case["source"]), deadline_of(options), LEAVES)
    except Interrupted:
        raise
    except NessieError as error:
        told = {"error": error_data(error)}
    return {"id": identity, **told}


def answer(options: argparse.Namespace, text: str) -> dict[str, Any]:
    """The answer for a program: the value and type of its last form, or that form's error; and the errors of the forms
    before it."""
    printed: list[str] = []
    session = new_session(options, printed.append, io.StringIO(""))
    source = Source("program", text)
    outcomes = list(session.run(source))
    session.target.world.streams.close_all()
    last = outcomes[-1] if outcomes else NessieError("there is nothing to evaluate", (Span(source, 0, len(text)), ""))
    stats = session.target.stats
    told = {"launches": stats.launches, "elements": stats.elements, "interpreted": stats.interpreted}
    drawn = as_data(session.target.world.drawn())
    before = [error_data(outcome) for outcome in outcomes[:-1] if isinstance(outcome, Exception)]
    failed = {"errors": before} if before else {}
    if isinstance(last, Exception):
        return {"error": error_data(last), **failed, **drawn, "stats": told}
    return {"value": last.value, "type": last.type, "output": "".join(printed), **failed, **drawn, "stats": told}


def error_data(error: Exception) -> dict[str, Any]:
    if isinstance(error, NessieError):
        place = error.places[0][0] if error.places else None
        return {"message": error.message, "line": place.line if place else None,
                "column": place.column if place else None}
    return {"message": f"internal error: {error}", "line": None, "column": None}
