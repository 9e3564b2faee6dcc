"""The progress line. When work takes longer than a second, the last line of the terminal says what is being done.

    with progress(activity):
        work()

    compiling: schedule, 4 s

It is on standard error, and only if that is a terminal, or a notebook's. It makes way for output
(nessie.session.streams), is hidden while a line of output is unfinished, and disappears when the work is done.
"""
from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, current_thread, main_thread

from nessie.activity import Activity
from nessie.session.streams import LAST_LINE

PATIENCE, PAUSE = 1.0, 0.2              # seconds before it is shown, and between updates


class ProgressLine:
    """Says what the activity is. `ended`: the work is done, nothing is shown any more."""

    def __init__(self, activity: Activity) -> None:
        self.activity, self.ended, self.began = activity, Event(), time.monotonic()

    def show(self) -> None:
        """Show the line, or bring it up to date."""
        if doing := str(self.activity):
            text = f"{doing}, {time.monotonic() - self.began:.0f} s"
            LAST_LINE.draw(text[:shutil.get_terminal_size().columns - 1], self.ended)
        else:
            LAST_LINE.erase()

    def show_late(self) -> None:
        """Show the line if the work has taken long."""
        if time.monotonic() - self.began > PATIENCE:
            self.show()

    def watch(self) -> None:
        """Show the line from time to time, until the work is done."""
        pause = PATIENCE
        while not self.ended.wait(pause):
            pause = PAUSE
            self.show()

    def end(self) -> None:
        self.ended.set()
        LAST_LINE.erase()


@contextmanager
def progress(activity: Activity) -> Iterator[None]:
    """Show the progress of the body while it runs."""
    if not can_show():
        yield
        return
    activity.begin("working")
    line = ProgressLine(activity)
    thread = Thread(target=line.watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        line.ended.set()
        thread.join(1)
        line.end()


@contextmanager
def progress_of_call(activity: Activity) -> Iterator[Callable[[], None] | None]:
    """Show the progress of the body where somebody types Python. What the body waits for should call the function that
    is given now and then; None: nothing is to be shown."""
    if not types_python() or current_thread() is not main_thread():
        yield None
        return
    line = ProgressLine(activity)
    try:
        yield line.show_late
    finally:
        line.end()


def can_show() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


def types_python() -> bool:
    """Does somebody type Python: at its prompt, in a terminal that can show the line, or in a notebook?"""
    if "ipykernel" in sys.modules and type(sys.stderr).__module__.startswith("ipykernel"):
        return True
    return ("ps1" in vars(sys) or bool(sys.flags.interactive)) and can_show()
