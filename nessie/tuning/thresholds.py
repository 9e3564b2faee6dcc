"""Pass: thresholds of a tuning file stand in place of those that ship, for readers.

  in    flat λcu, whose choices compare with tunables
  out   the same, with the file's values; where nobody takes versions (`--tuning none`), choices have `items` only

Runs take thresholds without this pass, so that nothing is compiled anew when a file changes.
"""
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nessie.base.source import NessieError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check_choices import LAST
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.scope import statements

if TYPE_CHECKING:
    from nessie.tuning.file import Tuning


def thresholds(program: ir.Program, tuning: Tuning | None, entry: str, target: str,
               decided: bool) -> ir.Program:
    """Return the program with the tuning's thresholds. `entry`: what users call its function. What the program has not
    is an error, unless sizes that users expect may have `decided` it already."""
    if tuning is None:
        return program
    if ("", LAST) in tuning.only:
        functions = tuple([replace(f, body=without_versions(f.body)) for f in program.functions])
        launched = {s.kernel for f in functions for s in statements(f.body) if isinstance(s, ir.Run)}
        return replace(program, functions=functions, tunables=(),
                       kernels=tuple([kernel for kernel in program.kernels if kernel.name in launched]))
    function = program.entry.function
    functions_there, called = [f.name for f in program.functions], {entry: function} if entry else {}
    try:
        values = tuning.values(program.tunables, functions_there, called, function, target)
    except NessieError:
        if not decided:
            raise
        return program
    return replace(program, tunables=tuple([replace(t, value=values.get(t.name, t.value)) for t in program.tunables]))


def without_versions(block: ir.Block) -> ir.Block:
    """The block, whose choices have their last case only."""
    return replace(block, statements=tuple([
        BLOCKS.map(replace(s, cases=s.cases[-1:]) if isinstance(s, ir.Choose) else s, without_versions)
        for s in block.statements]))
