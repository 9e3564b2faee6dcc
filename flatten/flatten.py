"""Pass: flatten nested data parallelism.

  in    mono programs; calls of functions that are not inlined cost a boundary (flatten.calls.boundary). `recursion`:
        may functions that run per element recur? `arguments`: the layouts of the entry's arguments, dense by default;
        `owners`: may somebody hold rows?
  out   flat lambda_cu: one SOAC per kernel, one run per SOAC
  how   every expression is translated at a domain (flatten.translate), as a pull value (flatten.values.values); arrays
        are stored at a let, at a result of an apply-to-each, at a SOAC's result, at a call, and where an expression
        that can fail must run
  why   a failing expression is evaluated for exactly the elements of its domain, before anything could narrow it or
        drop it; nothing is evaluated for elements that do not run. Blelloch's flattening; lambda-cu paper, 2.3.
"""
from __future__ import annotations

from nessie.base.types import INT32, leaves
from nessie.base.widths import FITTING, WIDE
from nessie.flatten.calls.entry import entry_function
from nessie.flatten.element_sites import with_element_sites
from nessie.flatten.ranges.ranges import MOST
from nessie.flatten.threads.functions import thread_level
from nessie.flatten.threads.thread import Purity
from nessie.flatten.threads.versions import Versions
from nessie.flatten.translate import translate
from nessie.flatten.translator import Translator
from nessie.flatten.values.emitter import Emitter, Made
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import type_of_layout
from nessie.mono import nodes as mono
from nessie.mono.analysis.summaries import summaries
from nessie.mono.node_types import narrow_types


def flatten(program: mono.Program, recursion: bool = True,
            arguments: tuple[ir.Layout, ...] | None = None, owners: bool = False) -> ir.Program:
    return flattened(program, recursion, arguments, owners)[0]


def flattened(program: mono.Program, recursion: bool, arguments: tuple[ir.Layout, ...] | None,
              owners: bool = False) -> tuple[ir.Program, Made]:
    """Return the program, and what there is to tell of how it was made."""
    functions = {f.name: f for f in program.functions}
    narrow = narrow_types(program)
    from_narrow = any(leaf.name in WIDE for layout in arguments or () for leaf in leaves(type_of_layout(layout)))
    emitter = Emitter(bool(narrow) or from_narrow, FITTING["int32"][1] if INT32 in narrow else MOST)
    emitter.names.reserve(functions)
    purity = Purity(thread_level(program, recursion), data=True)
    t = Translator(translate, program, emitter, purity, functions, summaries(program.functions), recursion=recursion,
                   owners=owners)
    versions = Versions(emitter, functions)
    emitter.version = versions.version
    for name in sorted(purity.thread_level):
        versions.without_sequences(name)
    main, entry = entry_function(t, functions[program.entry], arguments)
    made = tuple(emitter.functions.values())
    flat = ir.Program(tuple(emitter.sites.values()), tuple(emitter.scalar_functions), tuple(emitter.kernels),
                      (main, *made), entry)
    return with_element_sites(flat), emitter.made
