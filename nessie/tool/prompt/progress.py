"""The progress line. When work takes longer than a second, the last line of the terminal says what is being done.

    with progress(activity):
        work()

    compiling: schedule, 4 s

It is on standard error, and only if that is a terminal. It makes way for output (nessie.session.streams), is hidden
while a line of output is unfinished, and disappears when the work is done.
"""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from nessie.activity import Activity
from nessie.session.streams import LAST_LINE

PATIENCE, PAUSE = 1.0, 0.2              # seconds before it is shown, and between updates


@contextmanager
def progress(activity: Activity) -> Iterator[None]:
    """Show the progress of the body while it runs."""
    if not can_show():
        yield
        return
    activity.begin("working")
    ended = Event()
    thread = Thread(target=watch, args=(activity, ended), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(1)
        LAST_LINE.erase()


def can_show() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


def watch(activity: Activity, ended: Event) -> None:
    import shutil  # only where there is a terminal
    began = time.monotonic()
    pause = PATIENCE
    while not ended.wait(pause):
        pause = PAUSE
        if doing := str(activity):
            text = f"{doing}, {time.monotonic() - began:.0f} s"
            LAST_LINE.draw(text[:shutil.get_terminal_size().columns - 1], ended)
        else:
            LAST_LINE.erase()
