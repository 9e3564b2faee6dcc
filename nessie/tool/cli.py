"""The command `nessie`. It runs the command that nessie.tool.command_line parses from the words; without one, it is the
interactive loop (nessie.tool.prompt.repl).

Results go to standard output, everything else to standard error. The exit status is 0; 1 for an error in the program or
its input; 2 for wrong usage. A Python traceback never reaches the user.
"""
from __future__ import annotations

import argparse
import gc
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie.base.source import Interrupted, NessieError, Source, Span, UsageError, as_error, blamed
from nessie.base.system.deep import forget_interrupt, run_deep
from nessie.base.types import Fun, Type
from nessie.inspect.views import VIEWS, Call, Subject
from nessie.pictures.files import as_data, pictures
from nessie.running.target_names import DASK, LOCAL_WORKERS
from nessie.session.progress import progress
from nessie.session.streams import complain, open_streams, print_outcomes, say, say_aside, warn
from nessie.tool import signals
from nessie.tool.command_line import parse_command_line
from nessie.tool.compiling import check, compile_, job_for, map_, passes, show, warn_of, written
from nessie.tool.options import (
    FAILED,
    MISUSED,
    PIPE,
    counting_target,
    deadline_of,
    format_asked,
    job_of,
    needed,
    new_session,
    session_maker,
    target_of,
    tuning_of,
    type_of,
    where_of,
    write_result,
)

if TYPE_CHECKING:
    from nessie.activity import Activity
    from nessie.session.profile import Profiler
    from nessie.session.session import Session
    from nessie.syntax import nodes as syntax

LEAVES = 0.2                    # seconds after a Ctrl-C until the process ends, whatever its work does


def main(words: list[str] | None = None) -> int:
    """Run a command line. Returns the exit status; one above 128 means a signal, by which the process should die."""
    unchecked = False
    try:
        open_streams()
        if "_ARGCOMPLETE" in os.environ:            # a shell asks
            from nessie.tool.shell_completion import answer
            return answer()
        options = parse_command_line(sys.argv[1:] if words is None else words)
        unchecked = options.unchecked
        if isinstance(sys.stdout, io.TextIOWrapper):    # what the terminal cannot show is shown by its code
            sys.stdout.reconfigure(errors="backslashreplace")
        if options.command is None:
            from nessie.tool.prompt.repl import repl
            return repl(session_maker(options), options.draw)
        if options.command == "serve":
            from nessie.tool.serve import serve
            return serve(options)
        limit = deadline_of(options)
        with signals.heard(), progress(options.activity):
            if options.jsonl or options.command == "lsp":       # each line, or request, is work of its own
                return RUNNERS[options.command](options)
            return run_deep(lambda: RUNNERS[options.command](options), limit, LEAVES)
    except UsageError as error:
        complain(error)
        return MISUSED
    except (KeyboardInterrupt, Interrupted) as interrupt:
        if signals.by_hand():
            complain(interrupt if isinstance(interrupt, Interrupted) else Interrupted(""))
        forget_interrupt()
        return signals.status()
    except BrokenPipeError:             # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return signals.BROKEN_PIPE or FAILED
    except Exception as error:
        complain(blamed(as_error(error), unchecked))
    return FAILED


# run, eval --------------------------------------------------------------------------------------


def run(options: argparse.Namespace) -> int:
    from nessie.syntax.parse import read_source
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


def refuse_type(options: argparse.Namespace) -> None:
    """Refuse a type where no function is called."""
    if options.type is not None and not options.entry:
        raise UsageError("-t is the type of a call's arguments: name the function with -e")


def refuse_without_table(options: argparse.Namespace) -> None:
    """Refuse options about tables where no table is written."""
    from nessie.files.files import SEPARATORS, TABLES, ending_of
    ending = ending_of(options.output or "")
    if options.quote_formulas and ending not in SEPARATORS:
        raise UsageError("--quote-formulas is about texts in a .csv or .tsv file: name one with -o")
    if options.columns and ending not in TABLES:
        raise UsageError(f"--columns names those of a table: -o names one, {', '.join(TABLES)}")


def column_names(session: Session, options: argparse.Namespace) -> list[str]:
    """Names for the columns of ENTRY's result, as far as they are known."""
    from nessie.session.columns import column_names
    entry = session.environment.lookup(options.entry.lower())
    return column_names(entry.name, session.environment) if entry is not None else []


def ended(session: Session, failed: int) -> int:
    """The exit status of a program with `failed` failed forms. Unmet wishes are reported only if no form failed, as a
    failed form might have met them."""
    warn(session.warnings() if failed else session.unmet())
    return FAILED if failed else 0


def define(session: Session, program: syntax.Program) -> None:
    """Evaluate the program's forms except bare expressions, up to the first error. Their messages are not results."""
    from nessie.syntax import nodes as syntax
    session.listener = say_aside
    for form in program.forms:
        if not isinstance(form, syntax.Evaluate):
            session.evaluate(form)
        if session.ended:
            session.ended = False           # for what is asked about the file
            break


def run_entry(session: Session, source: Source, options: argparse.Namespace) -> int:
    """Call a function of the program on the ARGs. Prints its result or writes it to a file."""
    from nessie.files.files import TableStyle, check_writable, write_value
    from nessie.running.results import restore
    from nessie.syntax.parse import parse
    if options.output:
        check_writable(options.output, session.target.reads_files)
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
    from nessie.syntax.parse import parse, read_source
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


def value_of_entry(session: Session, options: argparse.Namespace) -> tuple[Any, Type]:
    """The run-time value and the type of ENTRY on the ARGs."""
    return session.target.in_time(lambda: called(session, options))


def called(session: Session, options: argparse.Namespace) -> tuple[Any, Type]:
    from nessie.arguments.words import check_result, takes, words_of
    entry = options.entry.lower()
    known = session.environment.lookup(entry)
    if known is None:
        from nessie.typing.advice.messages import no_function
        raise no_function(entry, session.environment.functions(), session.environment.names())
    if isinstance(known.scheme.type, Fun) and not options.arguments:
        raise NessieError(f"{takes(session, entry)}, and no ARG is given")
    words = words_of(session, entry, options.arguments, type_of(options))
    value, type_ = session.call(entry, words.expressions)
    return check_result(words, value, type_), type_


def evaluate(options: argparse.Namespace) -> int:
    from nessie.syntax.parse import parse, read_source
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


# profile ----------------------------------------------------------------------------------------


def profile(options: argparse.Namespace) -> int:
    """Profile a call, an expression, or each form of a program. The programs' output is not a result."""
    from nessie.session.profile import Profiler, Recording
    from nessie.session.profile_text import title
    from nessie.syntax.parse import forms, parse, read_source
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


def explain_cluster(options: argparse.Namespace) -> int:
    """How the arrays of a call lie on the workers of a cluster. The call is done in this process, in their tasks."""
    from nessie.cudagen.cluster.engine import InProcess
    from nessie.cudagen.cluster.explaining import explained
    from nessie.cudagen.cluster.workers import ToldOfCluster
    from nessie.syntax.parse import parse, read_source
    if not options.entry or not options.arguments:
        raise UsageError("of the target dask, a call is explained: -e ENTRY ARG")
    session = new_session(options)
    target = session.target
    target.engine, target.told = InProcess(options.workers or LOCAL_WORKERS), ToldOfCluster()
    define(session, parse(read_source(needed(options, "FILE"))))
    value_of_entry(session, options)
    write_result(options, explained(target.told))
    return ended(session, 0)


def view(options: argparse.Namespace) -> int:
    """Show a function of FILE in one of the ways of nessie.inspect.views; on ARGs, if there are any."""
    if options.command == "explain" and options.target == "dask":
        return explain_cluster(options)
    from nessie.syntax.parse import parse
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


def doctor(options: argparse.Namespace) -> int:
    """Report what is installed or, with --calibrate, how fast this computer is."""
    format_asked(options, "json" if options.calibrate else "text",
                 f"{'with' if options.calibrate else 'without'} --calibrate nessie doctor writes")
    if options.calibrate:
        from nessie.schedule.cost import profiles
        from nessie.tool.timing.calibrate import Computer, calibrate
        write_result(options, profiles.show(calibrate(Computer(options.threads))))
    else:
        from nessie import __version__
        from nessie.tool.doctor import as_text, examine
        write_result(options, as_text(__version__, examine()))
    return 0


def bench(options: argparse.Namespace) -> int:
    """Time the examples of a program, named inputs, or a call."""
    from nessie.tool.timing.bench import bench
    return bench(options)


def tune(options: argparse.Namespace) -> int:
    """Measure the versions of a function, and write their thresholds."""
    from nessie.tool.timing.tune import tune
    return tune(options)


def test(options: argparse.Namespace) -> int:
    """Check the examples in the comments of programs."""
    from nessie.tool.testing import test
    return test(options)


def fmt(options: argparse.Namespace) -> int:
    """Lay out programs."""
    from nessie.tool.formatting import fmt
    return fmt(options)


def lsp(options: argparse.Namespace) -> int:
    """Serve an editor."""
    from nessie.tool.language_server import lsp
    return lsp(options)


def cache(options: argparse.Namespace) -> int:
    """Tell of the compiled code that is kept, or remove it."""
    from nessie.tool.cache import clear, told
    say(clear() if options.clear else told())
    return 0


def completion(options: argparse.Namespace) -> int:
    """Print the script that makes a shell complete command lines."""
    from nessie.tool.shell_completion import script
    say(script(needed(options, "SHELL")))
    return 0


def plot(options: argparse.Namespace) -> int:
    """Write a plot of the value of an expression."""
    from nessie.base.system.writing import write
    from nessie.syntax.parse import parse, read_source
    from nessie.syntax.parser import parse_expression
    from nessie.tool.plotting import file_of, picture
    text = needed(options, "EXPR")
    path, format_ = file_of(options.output)
    session = new_session(options)
    if options.file:
        define(session, parse(read_source(options.file)))
        session.listener = None
    exp = parse_expression(Source("expression", text.strip().rstrip(";$")))
    write(path, picture(session, exp, options.kind, text, format_))
    say_aside(f"{path} is written\n")
    return 0


RUNNERS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": run, "eval": evaluate, "check": check, "test": test, "fmt": fmt, "plot": plot, "compile": compile_,
    "map": map_, "passes": passes, "show": show, "profile": profile, "bench": bench, "tune": tune, "graph": view,
    "explain": view, "inspect": view, "lsp": lsp, "cache": cache, "doctor": doctor, "completion": completion}
