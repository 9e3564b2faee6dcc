"""nessie profile --html: the inspector's page of a call, with what its kernels took and moved beside the prediction.

    nessie profile sort.nesl -e qsort @numbers.json --html qsort.html
"""
from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from nessie import forms
from nessie.base.source import Source, UsageError
from nessie.base.system.writing import write
from nessie.inspect.collect import collect
from nessie.inspect.measured import Measured
from nessie.inspect.page import page
from nessie.measuring.intervals import in_blocks, interval, median
from nessie.measuring.kernels import TIMED
from nessie.measuring.predicted import layouts_of
from nessie.measuring.rounds import sample
from nessie.measuring.table import interval_text, time_text
from nessie.session.streams import say_aside, warn
from nessie.syntax.parse import read_source
from nessie.tool.commands.testing import define_all
from nessie.tool.options import needed, new_session
from nessie.tool.timing.bench import compiled, job_for, kernels_of, run
from nessie.tool.timing.cases import cases_of

SECONDS = 0.5                   # of runs, whose median is told


def profile_page(options: argparse.Namespace) -> int:
    if options.json or options.counters or options.output:
        raise UsageError("--html writes a page: --json, --counters and -o write something else")
    if not options.entry and not options.expression:
        raise UsageError("a page shows one call, or one expression: name it with -e ENTRY ARG... or -x EXPR")
    session = new_session(options, say_aside)
    if options.expression and options.operand is None:
        source = Source("expression", options.expression)
    else:
        source = read_source(needed(options, "FILE"))
        define_all(session, source)
    (case,) = cases_of(session, source, options)
    ready, title = compiled(session, case), case.name
    kernels = kernels_of(session, case)
    if session.target.name in TIMED:
        ((times,),) = sample([[partial(run, ready)]], SECONDS)
        blocks = in_blocks(times.seconds)
        title += f"\na run takes {time_text(median(blocks))} ({interval_text(interval(blocks))} at 95 %)"
    program, arguments = case.prepared.program, case.prepared.arguments
    job = replace(job_for(session, case), target=session.target.name, layouts=layouts_of(program, arguments))
    data = collect(job, forms.MONO, source, program, Measured(title, session.target.name, kernels))
    write(options.html, page(data))
    warn(session.unmet())
    return 0
