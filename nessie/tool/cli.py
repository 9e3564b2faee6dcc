"""The command `nessie`. It runs the command that nessie.tool.command_line parses from the words; without one, it is the
interactive loop (nessie.tool.prompt.repl). A command is a row of nessie.tool.table, which names its function.

Results go to standard output, everything else to standard error. The exit status is 0; 1 for an error in the program or
its input; 2 for wrong usage. A Python traceback never reaches the user.
"""
from __future__ import annotations

import io
import os
import sys

from nessie.base.source import Interrupted, UsageError, as_error, blamed
from nessie.base.system.deep import forget_interrupt, run_deep
from nessie.session.progress import progress
from nessie.session.streams import complain, open_streams
from nessie.tool import signals
from nessie.tool.command_line import parse_command_line
from nessie.tool.options import FAILED, LEAVES, MISUSED, deadline_of, session_maker
from nessie.tool.table import SUBCOMMANDS


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
        runs = SUBCOMMANDS[options.command].runs
        if options.command == "serve":
            return runs(options)
        limit = deadline_of(options)
        with signals.heard(), progress(options.activity):
            if options.jsonl or options.command == "lsp":       # each line, or request, is work of its own
                return runs(options)
            return run_deep(lambda: runs(options), limit, LEAVES)
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
