"""The interactive loop: reads a form, evaluates it, prints its outcome. docs/repl.md says how to use it.

At a terminal, lines are edited by prompt_toolkit, if it is installed (nessie.tool.prompt.prompt), else by Python.
The session survives errors, and Ctrl-C, which drops the form that is being typed or ends the one that runs.
Ctrl-D, `exit;` and `:quit` leave, with status 0.

Piped input is evaluated like a file, form by form as it arrives: without prompts, with lines counted from its first,
and with status 1 if a form failed. There, Ctrl-C ends the loop.

Lines are read in the main thread, which gets Ctrl-C; forms run on a thread with a large stack (base.system.deep).
"""
from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from nessie import __version__
from nessie.base.source import Interrupted, LostOutput, NessieError, Source, as_error
from nessie.base.system.deep import forget_interrupt, run_deep, wait_for_left
from nessie.base.system.extras import install
from nessie.base.system.forking import cached_property
from nessie.base.text.nearest import nearest
from nessie.pictures.files import pictures
from nessie.session.outcome import Outcome
from nessie.session.progress import progress
from nessie.session.streams import complain, print_outcomes, say_aside, warn
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import COMMAND_WORDS
from nessie.syntax.line_by_line import LineLexer
from nessie.syntax.parse import expanded
from nessie.tool.prompt.open_form import helped
from nessie.tool.prompt.screen import Screen
from nessie.tool.signals import ENDING, heard

if TYPE_CHECKING:
    from nessie.session.session import Session
    from nessie.typing.environment import Environment

WELCOME = f"Nessie {__version__}. Forms end with ;   :help tells more, :quit leaves."
EDITING = ("prompt_toolkit", "pygments")            # the packages that editing, completion and colours need
LEAVES, LEAVES_BY_HAND = 0.2, 2.0       # seconds after a Ctrl-C until what goes on is left to itself
BY_HAND = (signal.SIGINT,)              # is heard: the others end the session
PROMPT, CONTINUED = "nesl> ", "    > "
FIRST_WORD = re.compile(r"\s*(\w+)(?:\s+[\w\"]|\s*[;$])")     # of what might have been meant to be a command


class Repl:
    """The state of the loop: the session, which is made at its first use, after the first prompt; and the screen.
    `by_hand`: whether somebody types; `picture`: the file of what is drawn, if users name one;
    `begun`: the session, if it has been made; `read` returns the next line."""

    def __init__(self, new_session: Callable[[], Session], by_hand: bool, picture: Path | None = None) -> None:
        self.new_session, self.by_hand, self.picture = new_session, by_hand, picture
        self.begun: Session | None = None
        self.screen = Screen(by_hand and sys.stdout.isatty())
        self.show: Callable[[str], object] = self.screen.show

    @property
    def session(self) -> Session:
        if self.begun is None:
            self.begun = self.new_session()
            if self.by_hand:
                self.begun.listener = self.show
        return self.begun

    def environment(self) -> Environment:
        """The current definitions."""
        if self.begun is not None:
            return self.begun.environment
        from nessie.library.library import library
        return library()

    @cached_property
    def read(self) -> Callable[[bool], str]:
        return line_reader(self.by_hand, self.environment)

    def run(self, form: syntax.TopLevel | NessieError) -> int:
        """Evaluate the form, or those that it loads; show their outcomes and warnings. Returns the number of failed
        forms."""
        outcomes = self.session.outcomes(expanded([form]), self.evaluate)
        limit, leaves = self.session.target.limits.deadline(), LEAVES_BY_HAND if self.by_hand else LEAVES
        with progress(self.session.job.activity):
            wait_for_left()
            with pictures(self.session.target.world.drawn, self.picture, "drawing", say_aside):
                failed = run_deep(partial(print_outcomes, outcomes, self.show), limit, leaves)
        warn([*self.session.unmet_so_far(), *self.session.warnings()])
        return failed

    def evaluate(self, form: syntax.TopLevel) -> Outcome:
        if isinstance(form, syntax.Command) and form.word.startswith(":"):
            from nessie.tool.prompt.commands import obey
            obey(self, form)
            return Outcome()
        try:
            return self.session.evaluate(form)
        except NessieError as error:
            if form.span is not None and error.places and error.places[0][0].start == form.span.start:
                meant_as_command(error, form.span.source, form.span.start)
            raise

    def ended(self) -> bool:
        return self.begun is not None and self.begun.ended


def repl(new_session: Callable[[], Session], picture: Path | None = None) -> int:
    """Evaluate the forms of standard input. Returns the exit status."""
    by_hand = sys.stdin is not None and sys.stdin.isatty()
    at = Repl(new_session, by_hand, picture)
    if by_hand:
        print(welcome(), file=sys.stdout if sys.stdout.isatty() else sys.stderr)
        # while the first form is typed, and out of reach of Ctrl-C, after which NumPy could not be imported again
        Thread(target=import_module, args=("nessie.session.session",)).start()
    with heard(BY_HAND if by_hand else ENDING):
        failed = evaluate_all(at)
    if at.begun is not None and (by_hand or not failed):
        warn(at.begun.unmet())
    return 1 if failed and not by_hand else 0


def welcome() -> str:
    """The first lines; they tell who has no editing how to get it."""
    if all(map(find_spec, EDITING)):
        return WELCOME
    return f"{WELCOME}\nFor editing, completion and colours, {install('repl')}"


def evaluate_all(at: Repl) -> int:
    """Evaluate form by form. Returns the number of failed forms. By hand, Ctrl-C ends only the current reading or
    running."""
    incoming = LineLexer("input", lambda inside: at.read(inside), at.by_hand)
    failed = 0
    while not at.ended():
        try:
            form = incoming.form()
            if form is None:
                break
            if isinstance(form, NessieError):
                form = meant_as_command(form, incoming.source, incoming.begins)
            failed += at.run(form)
        except (KeyboardInterrupt, Interrupted) as interrupt:
            if not at.by_hand:
                raise
            print(file=sys.stderr)          # behind the ^C
            recover(incoming, interrupt if isinstance(interrupt, Interrupted) else Interrupted(""))
            forget_interrupt()
        except (LostOutput, OSError):       # nobody can see what is printed, or nothing can be read
            raise
        except Exception as error:
            failed += recover(incoming, as_error(error))
    return failed


def recover(incoming: LineLexer, error: Exception) -> int:
    """Print the error and drop the typed part of the form. Returns 1, the number of failed forms."""
    incoming.drop()
    complain(error)
    return 1


def meant_as_command(error: NessieError, source: Source, begins: int) -> NessieError:
    """The error, with a hint if the form begins almost like a command."""
    begun = FIRST_WORD.match(source.text, begins)
    near = nearest(begun[1].lower(), COMMAND_WORDS, 0.7) if begun else None
    if near and begun and begun[1].lower() not in COMMAND_WORDS and not error.hint:
        error.hint = f"did you mean the command {near}?"
    return error


def line_reader(by_hand: bool, environment: Callable[[], Environment]) -> Callable[[bool], str]:
    """Return the function that reads the next line, given whether the line continues a form; empty at the end."""
    if isinstance(sys.stdin, io.TextIOWrapper):         # what is no text is refused as a character, with its place
        sys.stdin.reconfigure(errors="replace")
    if not by_hand:
        return lambda inside: sys.stdin.readline() if sys.stdin else ""
    if not sys.stdout.isatty():
        return helped(read_unedited)
    if os.environ.get("TERM") not in (None, "", "dumb") and all(map(find_spec, EDITING)):
        from nessie.tool.prompt.prompt import reader
        return reader(PROMPT, CONTINUED, environment)
    with suppress(ImportError):
        import_module("readline")           # from now on, input() has line editing
    return helped(read_edited)


def read_edited(inside: bool) -> str:
    try:
        return input(CONTINUED if inside else PROMPT) + "\n"
    except EOFError:
        print()
        return ""


def read_unedited(inside: bool) -> str:
    """Read a line. The prompt goes to standard error, as results do not go to the terminal."""
    print(CONTINUED if inside else PROMPT, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline()
