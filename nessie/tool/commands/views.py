"""nessie graph, explain and inspect: show a function of a program in one of the ways of nessie.inspect.views."""
from __future__ import annotations

import argparse
from pathlib import Path

from nessie.base.source import UsageError
from nessie.inspect.views import VIEWS, Call, Subject
from nessie.running.target_names import DASK
from nessie.session.streams import say_aside, warn
from nessie.syntax.parse import parse, read_source
from nessie.tool.commands.compiling import job_for, warn_of, written
from nessie.tool.commands.entry import define, ended
from nessie.tool.options import PIPE, format_asked, job_of, needed, new_session, tuning_of, type_of, write_result


def view(options: argparse.Namespace) -> int:
    """Show a function of FILE in one of the ways of nessie.inspect.views; on ARGs, if there are any."""
    if options.command == "explain" and options.target == DASK:
        return explain_cluster(options)
    shown, call = VIEWS[options.command], None
    page = "html" in shown.endings.values()
    named = options.output
    if page and not named:
        options.output = f"{options.entry or Path(needed(options, 'FILE')).stem}.html"
    asked, asks = ("json", "--json says") if options.json else (options.format, "--format says")
    kind = format_asked(options, asked, asks)
    if kind == "png":
        from nessie.inspect.pictures import found
        if options.output in (None, PIPE):
            raise UsageError("a .png is written to a file: name it with -o")
        found()
    job, read = job_of(options), written(options)
    job = job_for(job, options, read)
    if options.arguments:
        from nessie.arguments.words import arguments_of
        session = new_session(options, say_aside)
        define(session, read.syntax or parse(read.source))
        call = Call(session, arguments_of(session, options.entry.lower(), options.arguments, type_of(options)))
    else:
        tuning_of(options)          # warns
    name = options.entry.lower() if call else options.entry or ""
    subject = Subject(job, read.form, read.program, name, read.source, options.all or False, call)
    result = shown.show(subject, kind or ("text" if shown.name == "explain" else "dot"))
    warn(job.met.told.values())
    warn_of(read)
    write_result(options, result)
    if page and not named:
        say_aside(f"{options.output} is written\n")
    if options.open and options.output != PIPE:
        import webbrowser
        webbrowser.open(Path(options.output).resolve().as_uri())
    return 0


def explain_cluster(options: argparse.Namespace) -> int:
    """How the arrays of a call lie on the workers of a cluster. The call is done in this process, in their tasks."""
    from nessie.arguments.words import arguments_of
    from nessie.inspect.on_cluster import explain_on_cluster
    from nessie.running.told_cluster import told_cluster
    if not options.entry or not options.arguments:
        raise UsageError("of the target dask, a call is explained: -e ENTRY ARG",
                         hint="nessie explain sums.nesl -e total '[1, 2, 3]' --target dask")
    session = new_session(options)
    session.target = told_cluster(session.target, options.workers)      # whose workers read files
    define(session, parse(read_source(needed(options, "FILE"))))
    entry = options.entry.lower()
    arguments = session.target.in_time(lambda: arguments_of(session, entry, options.arguments, type_of(options)))
    told = session.target.in_time(lambda: explain_on_cluster(session, options.workers, entry, arguments,
                                                             options.arguments))
    write_result(options, told.text())
    return ended(session, 0)
