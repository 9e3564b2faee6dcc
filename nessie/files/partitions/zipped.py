"""Parts of files whose rows belong together: the first row of one to the first of each other, and so on."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nessie.base.source import NessieError
from nessie.files.names import FileName, ending_of
from nessie.files.partitions.lines import Lines
from nessie.files.partitions.partitions import Partition, Rows, partitions_of

PIECES = ".npy"                 # files of which any rows can be read


def zipped(files: Sequence[Sequence[FileName]]) -> Iterator[Sequence[Partition]]:
    """The parts of some files, and of each the parts of the others that have the same rows. A single .npy file is cut
    like the others; all other files must have such parts."""
    if len(files) == 1:
        for file in files[0]:
            for part in partitions_of(file):
                yield [part]
        return
    bending = [len(some) == 1 and ending_of(some[0].path) == PIECES for some in files]
    leads = bending.index(False) if False in bending else 0
    every = [parts_of(some) for some in files]
    lead, total = every[leads], sum([part.count for part in every[leads]])
    for at, (some, parts) in enumerate(zip(files, every, strict=True)):
        rows = sum([part.count for part in parts])
        if rows != total:
            raise NessieError(f"{named(some)} has {rows:,} row{'s' * (rows != 1)}, and {named(files[leads])} has "
                              f"{total:,}")
        if bending[at]:
            every[at] = cut_like(parts[0], lead)
        elif [part.count for part in parts] != [part.count for part in lead]:
            raise NessieError(f"{named(some)} and {named(files[leads])} have row groups of different lengths",
                              hint="write one of them anew, with as many rows in each group as the other has, or as a "
                                   f"{PIECES} file, of which any rows can be read")
    yield from zip(*every, strict=True)


def parts_of(files: Sequence[FileName]) -> list[Rows]:
    """The parts of files that know how many rows they have."""
    found = list[Rows]()
    for file in files:
        for part in partitions_of(file):
            if isinstance(part, Lines) or not isinstance(part, Rows):
                raise NessieError(f"{file.path}: of two arguments that come by parts, each is in files of Parquet, or "
                                  ".npy, which tell where a row is")
            found.append(part)
    return found


def cut_like(file: Rows, lead: Sequence[Rows]) -> list[Rows]:
    """The rows of a file, of which one part is given, in parts like these."""
    found, first = list[Rows](), 0
    for part in lead:
        found.append(replace(file, first=first, count=part.count))
        first += part.count
    return found


def named(files: Sequence[FileName]) -> str:
    return files[0].path if len(files) == 1 else f"{files[0].path} with {len(files) - 1} more"
