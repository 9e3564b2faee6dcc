"""Parts of files whose rows belong together: the first row of one to the first of each other, and so on.

Rows are cut where a row group begins, and within it by as many as the file whose rows are largest has in a part: the
parts of each file have some MB at most.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.files.names import FileName, ending_of
from nessie.files.partitions.lines import Lines
from nessie.files.partitions.partitions import Partition, RowGroup, Rows, cut, partitions_of

PIECES = ".npy"                 # files of which any rows can be read


@dataclass(frozen=True)
class Group:
    """Rows of a file that are parted by themselves: a row group, or all of a file of arrays. `step`: how many are a
    part."""
    rows: Rows
    step: int


def zipped(files: Sequence[Sequence[FileName]]) -> Iterator[Sequence[Partition]]:
    """The parts of some files, and of each the parts of the others that have the same rows. A single .npy file is cut
    like the others; all other files must have such row groups."""
    if len(files) == 1:
        for file in files[0]:
            for part in partitions_of(file):
                yield [part]
        return
    for groups in zip(*groups_of_all(files), strict=True):
        yield from zip(*alike(groups), strict=True)


def groups_of_all(files: Sequence[Sequence[FileName]]) -> list[list[Group]]:
    """The groups of each, which have the same lengths."""
    bending = [len(some) == 1 and ending_of(some[0].path) == PIECES for some in files]
    leads = bending.index(False) if False in bending else 0
    every = [groups_of(some) for some in files]
    lengths = [group.rows.count for group in every[leads]]
    for at, (some, groups) in enumerate(zip(files, every, strict=True)):
        own = [group.rows.count for group in groups]
        if sum(own) != sum(lengths):
            raise NessieError(f"{named(some)} has {sum(own):,} row{'s' * (sum(own) != 1)}, and {named(files[leads])} "
                              f"has {sum(lengths):,}")
        if bending[at]:
            every[at] = cut_like(groups[0], lengths)
        elif own != lengths:
            raise NessieError(f"{named(some)} and {named(files[leads])} have row groups of different lengths",
                              hint="write one of them anew, with as many rows in each group as the other has, or as a "
                                   f"{PIECES} file, of which any rows can be read")
    return every


def groups_of(files: Sequence[FileName]) -> list[Group]:
    """The groups of files that know how many rows they have."""
    found = list[Group]()
    for file in files:
        for part in partitions_of(file):
            if isinstance(part, Lines) or not isinstance(part, Rows):
                raise NessieError(f"{file.path}: of two arguments that come by parts, each is in files of Parquet, or "
                                  ".npy, which tell where a row is")
            if part.skipped if isinstance(part, RowGroup) else part.first:
                found[-1] = replace(found[-1], rows=replace(found[-1].rows, count=found[-1].rows.count + part.count))
            else:
                found.append(Group(part, part.count))
    return found


def cut_like(file: Group, lengths: Sequence[int]) -> list[Group]:
    """The rows of a file in groups of these lengths."""
    found, first = list[Group](), 0
    for length in lengths:
        found.append(Group(file.rows.some(first, length), file.step))
        first += length
    return found


def alike(groups: Sequence[Group]) -> list[Iterator[Rows]]:
    """The parts of groups of the same length, which have the same rows: as many as are the least part of one. Pieces of
    row groups are decoded by the least batch of one, of which no part has a piece."""
    step = min([group.step for group in groups])
    if step == groups[0].rows.count:
        return [cut(group.rows, step) for group in groups]
    batch = min([step, *[group.rows.batch for group in groups if isinstance(group.rows, RowGroup)]])
    return [cut(replace(group.rows, batch=batch) if isinstance(group.rows, RowGroup) else group.rows,
                step // batch * batch) for group in groups]


def named(files: Sequence[FileName]) -> str:
    return files[0].path if len(files) == 1 else f"{files[0].path} with {len(files) - 1} more"
