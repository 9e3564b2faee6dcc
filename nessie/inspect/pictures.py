"""Draws dependence graphs as pictures. A PNG is made by an installed converter, from the drawing as SVG or dot."""
from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from nessie import pipeline
from nessie.base.source import NessieError

SIGNATURE = b"\x89PNG\r\n\x1a\n"        # the first bytes of every PNG
PATIENCE = 120                          # seconds for a converter
CAIRO = "cairosvg"

# The converters to PNG: the program, the format of its input, and its arguments.
CONVERTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("rsvg-convert", "svg", ("--format=png",)),
    (CAIRO, "svg", ()),                 # a package of Python
    ("inkscape", "svg", ("--pipe", "--export-type=png", "--export-filename=-")),
    ("magick", "svg", ("svg:-", "png:-")),
    *((("convert", "svg", ("svg:-", "png:-")),) if sys.platform != "win32" else ()),       # there it is a disk tool
    ("dot", "dot", ("-Tpng",)),
)
INSTALL = ("install rsvg-convert (librsvg), Inkscape, ImageMagick or GraphViz, or pip install cairosvg; browsers show "
           ".svg as it is")


def picture(job: pipeline.Job, graphs: Any, kind: str) -> str | bytes:
    """The graphs with their schedules, as `dot`, `svg`, `json` or `png`."""
    def drawn(kind: str) -> str:
        from nessie.schedule.draw.view import draw
        return draw(graphs, kind, job.fuse, pipeline.profile(job))
    if kind != "png":
        return drawn(kind)
    return png({name: drawn(name).encode() for name in dict.fromkeys(source for _, source, _ in found())})


def here() -> list[tuple[str, str, tuple[str, ...]]]:
    """The converters that are installed."""
    return [row for row in CONVERTERS if (find_spec(CAIRO) if row[0] == CAIRO else shutil.which(row[0]))]


def found() -> list[tuple[str, str, tuple[str, ...]]]:
    """The converters that are installed. NessieError if there is none."""
    rows = here()
    if not rows:
        raise NessieError("nothing here makes a .png of a drawing", hint=INSTALL)
    return rows


def png(drawings: dict[str, bytes]) -> bytes:
    """The PNG from the first converter that succeeds, given the drawing in each format."""
    failed = []
    for program, source, arguments in found():
        try:
            made = converted(program, arguments, drawings[source])
        except Exception as error:          # a converter may fail in any way
            failed.append(f"{program}: {error}")
            continue
        if made.startswith(SIGNATURE):
            return made
        failed.append(f"{program}: it gives no PNG")
    raise NessieError(f"no .png can be made: {'; '.join(failed)}", hint=INSTALL)


def converted(program: str, arguments: Sequence[str], drawing: bytes) -> bytes:
    if program == CAIRO:
        made: bytes = import_module(CAIRO).svg2png(bytestring=drawing)
        return made
    done = subprocess.run([shutil.which(program) or program, *arguments], input=drawing, capture_output=True,
                          timeout=PATIENCE, start_new_session=True)         # keeps Ctrl-C away from the converter
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise OSError(lines[-1] if lines else f"it ends with status {done.returncode}")
    return done.stdout
