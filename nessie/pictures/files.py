"""The files of the pictures that a run draws.

The first window's picture is FILE.svg, the second's FILE-2.svg, and so on, where FILE is what users name, or else the
program's name. A file of that second kind is replaced only if it is such a picture. A program may name a window's file
itself.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nessie.base.source import NessieError
from nessie.base.system.writing import write
from nessie.running.world import World

ENDING = ".svg"


@contextmanager
def drawn(world: World, asked: Path | None, name: str, tell: Callable[[str], object]) -> Iterator[None]:
    """Write what is drawn meanwhile, also if that fails. `asked` names the first picture, if users do, else `name`."""
    try:
        yield
    finally:
        write_pictures(world, asked, name, tell)


def write_pictures(world: World, asked: Path | None, name: str, tell: Callable[[str], object]) -> None:
    """Write the picture of each window, and tell its file's name."""
    windows = world.windows.close_all() if world.windows is not None else []
    if not windows:
        return
    from nessie.pictures.svg import svg
    unnamed = [window for window in windows if not window.file]
    for window in windows:
        number = unnamed.index(window) + 1 if not window.file else 1
        path = Path(window.file) if window.file else numbered(asked or Path(name), number)
        path = path if path.suffix == ENDING else path.with_name(path.name + ENDING)
        if asked is None and not window.file:
            check_own(path)
        write(path, svg(window))
        tell(f"drawn: {path}\n")


def numbered(path: Path, number: int) -> Path:
    stem = path.name.removesuffix(ENDING)
    return path.with_name(f"{stem}{ENDING}" if number == 1 else f"{stem}-{number}{ENDING}")


def check_own(path: Path) -> None:
    """Raise NessieError if there is a file that is no such picture."""
    from nessie.pictures.svg import DRAWN_BY
    try:
        begun = path.read_text("utf-8", errors="replace")[:500] if path.exists() else DRAWN_BY
    except OSError:                     # what cannot be read cannot be written either: writing says why
        return
    if DRAWN_BY not in begun:
        raise NessieError(f"there is another file {path}: the picture is not written",
                          hint="--draw FILE.svg names a file for it")
