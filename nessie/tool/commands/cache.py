"""`nessie cache`: where compiled code is kept, how much there is, and how to be rid of it."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from nessie.base.source import NessieError
from nessie.base.system.disk_cache import MOST_BYTES, cache_folder, entries, remove
from nessie.session.streams import say


def cache(options: argparse.Namespace) -> int:
    """Tell of the compiled code that is kept, or remove it."""
    say(clear() if options.clear else told())
    return 0


def told() -> str:
    """The folder of the cache, the number of its files, and their bytes; its limit."""
    folder = folder_of_user()
    found = [*entries(folder)]
    size = sum([entry.size for entry in found])
    return (f"{folder}\n{len(found):,} file{'' if len(found) == 1 else 's'}, {size / 1e6:,.1f} MB of at most "
            f"{MOST_BYTES / 1e6:,.1f}; nessie cache --clear removes them\n")


def clear() -> str:
    """Remove all files of the cache; other files of the folder stay, such as the prompt's history."""
    found = [*entries(folder_of_user())]
    gone = [entry for entry in found if remove(entry)]
    left = len(found) - len(gone)
    return (f"{len(gone):,} file{'' if len(gone) == 1 else 's'} removed, {sum([e.size for e in gone]) / 1e6:,.1f} MB"
            + (f"; {left:,} cannot be removed" if left else "") + "\n")


def folder_of_user() -> Path:
    """The folder, which a warning tells of if it cannot be used."""
    folder = cache_folder(os.environ.get("XDG_CACHE_HOME", ""))
    if folder is None:
        raise NessieError("there is no folder for a cache", hint="XDG_CACHE_HOME says where it may be")
    return folder
