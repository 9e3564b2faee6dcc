"""nessie profile: what running costs, of a call, of an expression, or of each form of a program."""
from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from nessie.base.source import Source, UsageError
from nessie.session.profile import Profiler, Recording
from nessie.session.profile_text import title
from nessie.session.streams import print_outcomes, say_aside
from nessie.syntax.parse import forms, parse, read_source
from nessie.tool.commands.entry import define, ended, refuse_type, value_of_entry
from nessie.tool.options import FAILED, PIPE, counting_target, format_asked, job_of, needed, target_of, write_result


def profile(options: argparse.Namespace) -> int:
    """Profile a call, an expression, or each form of a program. The programs' output is not a result."""
    if options.entry and options.expression:
        raise UsageError("-e profiles a call and -x an expression: not both at once")
    if options.html:
        from nessie.tool.timing.page import profile_page
        return profile_page(options)
    options.json = format_asked(options, "json" if options.json else None, "--json says") is not None
    world = Recording(say_aside, options.allow_shell or False, options.seed or 0, sys.stdin)
    job = replace(job_of(options), strict=False)
    if options.counters:
        from nessie.session.counters import CountingProfiler
        session: Profiler = CountingProfiler(counting_target(options, world), job, watching=False, listener=say_aside)
    else:
        session = Profiler(target_of(options, world), job, watching=False, listener=say_aside)
    source = None if options.expression and options.operand is None else read_source(needed(options, "FILE"))
    refuse_type(options)
    if source is not None and (options.entry or options.expression):
        define(session, parse(source))
    session.watching = True
    if options.entry:
        session.title = " ".join([options.entry, *options.arguments])
        value_of_entry(session, options)
        tell_profiles(session, options)
        return ended(session, 0)
    if options.expression:
        source = Source("expression", options.expression)
    assert source is not None
    status = 0
    try:
        for form in forms(source, ends_itself=bool(options.expression)):
            session.title = title(form)
            status |= FAILED if print_outcomes(o for o in session.outcomes([form]) if isinstance(o, Exception)) else 0
            if options.output in (None, PIPE):
                tell_profiles(session, options)
    finally:
        tell_profiles(session, options)         # a file is written once: it may be a pipe
    return ended(session, status)


def tell_profiles(session: Profiler, options: argparse.Namespace) -> None:
    """Print the new profiles, or write them to the file."""
    if options.counters:
        from nessie.session.counters import new_ones
    else:
        from nessie.session.profile_text import new_ones
    if fresh := new_ones(session, options.json):
        write_result(options, "".join(fresh))
