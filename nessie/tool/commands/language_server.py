"""The command `nessie lsp`: the language server, with programs that run as `nessie test` runs them."""
from __future__ import annotations

import argparse
import io
from contextlib import suppress
from dataclasses import replace

from nessie.base.source import NessieError, Source
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.system.extras import install
from nessie.session.session import Session
from nessie.session.streams import say_aside
from nessie.syntax import nodes as syntax
from nessie.syntax.examples import Example
from nessie.syntax.parse import forms
from nessie.tool.commands.testing import why_not
from nessie.tool.options import job_of, new_session, target_of

SECONDS = 10.0                  # for the examples of a text, unless --time-limit says another


def lsp(options: argparse.Namespace) -> int:
    try:
        from nessie.lsp.server import Runs, serve
    except ImportError:
        raise NessieError("the language server needs pygls", hint=install("lsp")) from None
    serve(Runs(lambda source, found: run_examples(source, found, options),
               lambda source, example: cost_of(source, example, options)))
    return 0


def run_examples(source: Source, found: list[Example], options: argparse.Namespace) -> list[str]:
    """Why each example does not hold; empty where it does."""
    session = new_session(options, say_aside, io.StringIO(""))
    define_good(session, source)
    return [why_not(session, example, limit(options)) for example in found]


def define_good(session: Session, source: Source) -> None:
    """Evaluate the forms that are good, but for bare expressions."""
    session.listener = say_aside
    for form in forms(source):
        if not isinstance(form, NessieError | syntax.Evaluate):
            with suppress(NessieError):         # it has been told
                session.evaluate(form)


def cost_of(source: Source, example: Example, options: argparse.Namespace) -> str:
    """The work and depth of the example's expression, as nessie profile counts them; empty if it fails."""
    from nessie.session.profile import Profiler, Recording
    text = source.text[example.expression.start:example.expression.end]
    try:
        world = Recording(say_aside, False, options.seed or 0, io.StringIO(""))
        session = Profiler(target_of(options, world), replace(job_of(options), strict=False), watching=False,
                           listener=say_aside)
        define_good(session, source)
        session.watching = True
        list(run_deep(lambda: list(session.run(Source("expression", text), ends_itself=True)), limit(options)))
    except NessieError:
        return ""
    counted = [profile for profile in session.profiles if profile.work is not None]
    return f"work {counted[0].work:,}, depth {counted[0].depth:,}: {' '.join(text.split())}" if counted else ""


def limit(options: argparse.Namespace) -> Deadline:
    return Deadline(options.time_limit or SECONDS, "--time-limit SECONDS gives examples more")
