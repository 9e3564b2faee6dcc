"""Arrays that lie in files, of which workers read what they need.

    mapped_in   an array that a file has, of which memory maps it here, if it still has it
    put_in      an array in a new file of the driver's
"""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.mapped_files import NewFile, Place, place_of
from nessie.base.system.seen_files import look
from nessie.cudagen.cluster.slabs import InFile

Array = np.ndarray[Any, Any]


def mapped_in(values: Array) -> InFile | None:
    """Where the values lie, if a file is mapped. One that has taken its place since then is none of theirs."""
    place = place_of(values)
    file = look(place.path) if place is not None else None
    if place is None or file is None or file.size < place.offset + values.nbytes or not place.has(values):
        return None
    return InFile(place, file)


def put_in(values: Array) -> InFile:
    """The values in a file, which goes when nobody has what is returned, nor a task that needs it. NessieError if there
    is no room for them."""
    own = NewFile()
    try:
        with open(own.path, "wb") as new:
            new.write(values.data)
    except OSError as error:
        raise NessieError(f"{own.path}: an array of {values.nbytes} bytes cannot be written for workers: "
                          f"{error.strerror or error}",
                          hint="TMPDIR names the folder for such files: one with more room, seen by workers") from None
    file = look(own.path)
    if file is None:
        raise OSError(f"{own.path} has gone")
    return InFile(Place(own.path, 0, values.dtype.str, len(values)), file, own)


def room_for(size: int) -> NewFile:
    """A new file of so many bytes."""
    file = NewFile()
    os.truncate(file.path, size)
    return file
