"""The files of the pictures that a run draws.

The first window's picture is FILE.svg, the second's FILE-2.svg, and so on, where FILE is what users name, or else the
program's name. A file of that second kind is replaced only if it is such a picture. A program may name a window's file
itself.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie.base.source import NessieError
from nessie.base.system.writing import write

if TYPE_CHECKING:
    from nessie.pictures.drawing import Window

ENDING = ".svg"


@contextmanager
def pictures(windows: Callable[[], list[Window]], asked: Path | None, name: str,
             tell: Callable[[str], object]) -> Iterator[None]:
    """Write what is drawn meanwhile, also if the work fails. `asked` names the first picture, if users do, else
    `name`."""
    try:
        yield
    finally:
        write_pictures(windows(), asked, name, tell)


def write_pictures(windows: list[Window], asked: Path | None, name: str, tell: Callable[[str], object]) -> None:
    """Write the picture of each window, and tell its file's name. One that cannot be written does not keep the others
    from it; the first error is raised when they are."""
    number, failed = 0, list[NessieError]()
    for window in windows:
        number += not window.file
        path = with_ending(Path(window.file)) if window.file else numbered(with_ending(asked or Path(name)), number)
        try:
            write_picture(window, path, asked is None and not window.file)
        except NessieError as error:
            failed.append(error)
        else:
            tell(f"drawn: {path}\n")
    for other in failed[1:]:
        tell(f"{other}\n")
    if failed:
        raise failed[0]


def as_data(windows: list[Window]) -> dict[str, Any]:
    """The pictures of the windows, if there are any, in a form that JSON can hold."""
    if not windows:
        return {}
    from nessie.pictures.svg import svg  # few programs draw
    return {"pictures": [{"title": window.title, "width": window.size[0], "height": window.size[1],
                          "svg": svg(window)} for window in windows]}


def write_picture(window: Window, path: Path, careful: bool) -> None:
    """Write a window's picture. `careful`: no other file is replaced."""
    from nessie.pictures.svg import DRAWN_BY, svg  # few programs draw
    if careful and has_another(path, DRAWN_BY):
        raise NessieError(f"there is another file {path}: the picture is not written",
                          hint="--draw FILE.svg names a file for it")
    write(path, svg(window))


def with_ending(path: Path) -> Path:
    return path if path.suffix == ENDING else path.with_name(path.name + ENDING)


def numbered(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{ENDING}")


def has_another(path: Path, mark: str) -> bool:
    """Is there a file that does not have the mark of these pictures?"""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return mark not in file.read(500)
    except OSError:                     # there is none; or it cannot be written either, and writing says why
        return False
