"""The interactive loop: reads a form, evaluates it, prints what it gives.

At a terminal there is a prompt, another one inside a form, and line editing where Python has it. Errors keep the
session, and so does Ctrl-C: it drops the form that is being typed, or ends the one that runs. Ctrl-D, `exit;` and
`quit;` leave, with status 0.

Piped input is evaluated as a file is, form by form as it arrives: no prompts, lines counted from its first, status 1
if a form failed. There Ctrl-C ends it all.

Lines are read in the main thread, which hears Ctrl-C; forms run on one with a large stack (base.deep).
"""
from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from nessie import __version__
from nessie.base.deep import forget_interrupt, run_deep
from nessie.base.source import Interrupted
from nessie.frontend.incoming import Incoming
from nessie.loading import expanded
from nessie.streams import complain, print_outcomes, warn

if TYPE_CHECKING:
    from nessie.session import Session

WELCOME = f"Nessie {__version__}. Forms end with ;   help; tells more, exit; leaves."
PROMPT, CONTINUED = "nesl> ", "    > "


def repl(new_session: Callable[[], Session]) -> int:
    """Evaluates what standard input has; the exit status."""
    by_hand = sys.stdin is not None and sys.stdin.isatty()
    incoming = Incoming("input", line_reader(by_hand), by_hand)
    session: Session | None = None          # made when it is needed, after the first prompt
    failed = 0
    if by_hand:                             # while the first form is typed, and out of reach of Ctrl-C, after which
        Thread(target=import_module, args=("nessie.session",)).start()      # NumPy could not be imported again
    while session is None or not session.ended:
        try:
            form = incoming.form()
            if form is None:
                break
            session = session or new_session()
            failed += run_deep(partial(print_outcomes, session.outcomes(expanded([form]))))
        except (KeyboardInterrupt, Interrupted) as interrupt:
            if not by_hand:
                raise
            incoming.drop()
            print(file=sys.stderr)          # behind the ^C
            complain(interrupt if isinstance(interrupt, Interrupted) else Interrupted(""))
            forget_interrupt()
    if session is not None and (by_hand or not failed):
        warn(session.unmet())
    return 1 if failed and not by_hand else 0


def line_reader(by_hand: bool) -> Callable[[bool], str]:
    """What gives the next line, told whether it continues a form; nothing at the end."""
    if isinstance(sys.stdin, io.TextIOWrapper):         # what is no text is refused as a character, with its place
        sys.stdin.reconfigure(errors="replace")
    if not by_hand:
        return lambda inside: sys.stdin.readline() if sys.stdin else ""
    if not sys.stdout.isatty():
        print(WELCOME, file=sys.stderr)
        return read_unedited
    with suppress(ImportError):
        import_module("readline")           # from now on, input() has line editing
    print(WELCOME)
    return read_edited


def read_edited(inside: bool) -> str:
    try:
        return input(CONTINUED if inside else PROMPT) + "\n"
    except EOFError:
        print()
        return ""


def read_unedited(inside: bool) -> str:
    """Where results go elsewhere, the prompt goes to standard error."""
    print(CONTINUED if inside else PROMPT, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline()
