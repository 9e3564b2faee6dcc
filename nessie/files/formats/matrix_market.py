"""Matrix Market files (.mtx) as rows of (column, value), columns counted from 0.

    %%MatrixMarket matrix coordinate real general       object, format, field and symmetry
    % a comment
    2 3 2                                               rows columns entries (array: rows columns)
    1 1 2.5                                             row column value (array: a value; pattern: no value)
    2 3 -1

The entries of a row are sorted by column; duplicate entries are kept. A symmetric matrix lists its lower triangle, a
skew-symmetric one its lower triangle without the diagonal. An array lists all entries, zeros too.

NumPy parses all entries at once. The offending line is looked for only if that fails.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.types import FLOAT, INT, Base, Pair, Seq
from nessie.base.values import Flat, Nested
from nessie.files.fit import Arrays, complain, number, offsets_of, shorten
from nessie.files.reading import SHORT_TEXT, SLOT, Reading

FORMATS = ("coordinate", "array")
FIELDS = {"real": FLOAT, "double": FLOAT, "integer": INT, "pattern": INT}
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
LONGEST_NUMBER = 400
ROOM = 1 << 18                  # bytes of words that NumPy reads at a time, each padded to the longest

Ints = np.ndarray[Any, Any]


@dataclass(frozen=True)
class File:
    path: str
    text: str


@dataclass(frozen=True)
class Header:
    format: str
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int        # lines that follow
    line: int           # number of the line with the sizes


@dataclass(frozen=True)
class Body:
    """The words after the header, and the line number of each. Every line has `per_line` words."""
    words: list[str]
    lines: Ints
    per_line: int


def read_mtx(reading: Reading) -> Arrays:
    file = File(reading.path, reading.text())
    header, rest = read_header(file)
    reading.take(cost(file, header))
    body = read_body(file, header, rest)
    if header.format == "array":
        rows, columns, values = dense_entries(file, header, body)
    else:
        rows, columns, values = coordinate_entries(file, header, body)
    matrix = by_rows(header, rows, columns, values)
    return Arrays(Seq(Seq(Pair(INT, FIELDS[header.field]))), Flat(header.rows, matrix), reading,
                  lambda misfit: complain(file.path, file.text, 1, f"a {header.field} matrix {misfit}"))


def cost(file: File, header: Header) -> int:
    """Bytes of the words, their positions, the entries in file order and by rows, and the rows."""
    words = min(len(file.text) // 2 + 1, 3 * (header.entries + file.text.count("\n")))
    entries = min(header.entries, words) * (1 if header.symmetry == "general" else 2)
    characters = len(file.text) * (1 if file.text.isascii() else 4)
    return 2 * characters + 4 * len(file.text) + words * (SHORT_TEXT + 5 * SLOT) + entries * 11 * SLOT \
        + (header.rows + 1) * 3 * SLOT + 2 * ROOM


# The header -------------------------------------------------------------------------------------

def read_header(file: File) -> tuple[Header, int]:
    """The header, and the offset where the entries start."""
    first, _, _ = file.text.partition("\n")
    words = first.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise complain(file.path, file.text, 1,
                       "not a Matrix Market header: %%MatrixMarket matrix FORMAT FIELD SYMMETRY is due")
    _, _, format_, field, symmetry = words
    for word, known in ((format_, FORMATS), (field, tuple(FIELDS)), (symmetry, SYMMETRIES)):
        if word not in known:
            raise complain(file.path, file.text, 1, f"the header says {word}, which is none of {', '.join(known)}")
    if (format_, field) == ("array", "pattern"):
        raise complain(file.path, file.text, 1, "a pattern has no values, so it cannot be an array")
    return read_sizes(file, format_, field, symmetry)


def read_sizes(file: File, format_: str, field: str, symmetry: str) -> tuple[Header, int]:
    start, line = 0, 0
    while start < len(file.text):
        end = file.text.find("\n", start)
        end = len(file.text) if end < 0 else end
        line += 1
        words = file.text[start:end].split()
        start = end + 1
        if words and not words[0].startswith("%"):
            return sizes(file, format_, field, symmetry, words, line), min(start, len(file.text))
    raise complain(file.path, file.text, max(line, 1), "the file ends before the sizes of the matrix")


def sizes(file: File, format_: str, field: str, symmetry: str, words: list[str], line: int) -> Header:
    due = 3 if format_ == "coordinate" else 2
    if len(words) != due or not all(w.isascii() and w.isdigit() and len(w) < 19 for w in words):
        what = "rows, columns and entries" if due == 3 else "rows and columns"
        raise complain(file.path, file.text, line, f"{due} sizes are due here: {what}")
    rows, columns = int(words[0]), int(words[1])
    if symmetry != "general" and rows != columns:
        raise complain(file.path, file.text, line, f"a {symmetry} matrix is square, this is {rows} by {columns}")
    entries = int(words[2]) if due == 3 else array_entries(rows, columns, symmetry)
    return Header(format_, field, symmetry, rows, columns, entries, line)


def array_entries(rows: int, columns: int, symmetry: str) -> int:
    match symmetry:
        case "general":
            return rows * columns
        case "symmetric":
            return rows * (rows + 1) // 2
        case _:
            return rows * (rows - 1) // 2


# The entries ------------------------------------------------------------------------------------

def read_body(file: File, header: Header, start: int) -> Body:
    """The words of the entries. NessieError if a line, or the file, has too many or too few."""
    per_line = 1 if header.format == "array" else 2 if header.field == "pattern" else 3
    words = file.text[start:].split()
    lines = lines_of_words(file.text[start:]) + header.line + 1
    if lines.size != len(words):
        line = next(i for i, text in enumerate(file.text.split("\n"), 1) if not text.isascii() and i > header.line)
        raise complain(file.path, file.text, line, "text where numbers belong")
    counts = np.bincount(lines) if lines.size else np.zeros(0, np.int64)
    wrong = np.flatnonzero((counts != 0) & (counts != per_line))
    if wrong.size:
        raise complain(file.path, file.text, int(wrong[0]),
                       f"{per_line} numbers are due in a line, not {counts[wrong[0]]}")
    found = len(words) // per_line
    if found > header.entries:
        raise complain(file.path, file.text, int(lines[header.entries * per_line]),
                       f"too many entries: line {header.line} says {header.entries}")
    if found < header.entries:
        raise complain(file.path, file.text, header.line,
                       f"too few entries: {header.entries} are due, the file has {found}")
    return Body(words, lines, per_line)


def lines_of_words(text: str) -> Ints:
    """The number of line ends before each word. Words are separated by ASCII blanks."""
    data = np.frombuffer(text.encode(), np.uint8)
    blank = (data == 32) | ((data >= 9) & (data <= 13)) | ((data >= 28) & (data <= 31))
    starts = ~blank
    starts[1:] &= blank[:-1]
    at = np.flatnonzero(starts)
    return np.searchsorted(np.flatnonzero(data == 10), at)


def numbers(file: File, body: Body, place: int, type_: Base) -> np.ndarray[Any, Any]:
    """The words at this place of every line, as numbers."""
    words = body.words[place::body.per_line]
    kind: type = np.int64 if type_ == INT else np.float64
    longest = max(map(len, words), default=0)
    try:
        if longest <= LONGEST_NUMBER and not any("_" in w for w in words):
            piece = ROOM // (4 * max(longest, 1))
            found: np.ndarray[Any, Any] = np.empty(len(words), kind)
            for start in range(0, len(words), piece):
                part = words[start:start + piece]
                found[start:start + piece] = np.array(part, f"U{max(longest, 1)}").astype(kind)
            return found
    except (ValueError, OverflowError):
        pass
    at = next(i for i, word in enumerate(words) if len(word) > LONGEST_NUMBER or number(word, type_) is None)
    line = int(body.lines[at * body.per_line + place])
    what = "an integer" if type_ == INT else "a number"
    raise complain(file.path, file.text, line, f"{shorten(words[at])} is not {what}")


def coordinate_entries(file: File, header: Header, body: Body) -> tuple[Ints, Ints, Any]:
    rows = indices(file, body, 0, header.rows, "row")
    columns = indices(file, body, 1, header.columns, "column")
    pattern = header.field == "pattern"
    values = np.ones(rows.size, np.int64) if pattern else numbers(file, body, 2, FIELDS[header.field])
    diagonal = np.flatnonzero(rows == columns)
    if header.symmetry == "skew-symmetric" and diagonal.size:
        raise complain(file.path, file.text, int(body.lines[diagonal[0] * body.per_line]),
                       "a skew-symmetric matrix has no entries on its diagonal")
    return mirrored(header, rows, columns, values)


def indices(file: File, body: Body, place: int, size: int, what: str) -> Ints:
    """Row or column numbers, counted from 1 in the file and from 0 in the result."""
    found = numbers(file, body, place, INT)
    wrong = np.flatnonzero((found < 1) | (found > size))
    if wrong.size:
        line = int(body.lines[wrong[0] * body.per_line])
        raise complain(file.path, file.text, line, f"{what} {found[wrong[0]]} is out of range 1 to {size}")
    return found - 1


def mirrored(header: Header, rows: Ints, columns: Ints, values: Any) -> tuple[Ints, Ints, Any]:
    """The entries, and those that the symmetry implies."""
    if header.symmetry == "general":
        return rows, columns, values
    off = rows != columns
    sign = -1 if header.symmetry == "skew-symmetric" else 1
    return (np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]]),
            np.concatenate([values, sign * values[off]]))


def dense_entries(file: File, header: Header, body: Body) -> tuple[Ints, Ints, Any]:
    """Rows, columns and values of an array, which lists its values column by column."""
    values = numbers(file, body, 0, FIELDS[header.field])
    if header.symmetry == "general":
        at = np.arange(values.size)
        return at % max(header.rows, 1), at // max(header.rows, 1), values
    below = 0 if header.symmetry == "symmetric" else 1
    columns, rows = np.triu_indices(header.rows, below)
    rows, columns, values = mirrored(header, rows, columns, values)
    if below:
        diagonal = np.arange(header.rows)
        return (np.concatenate([rows, diagonal]), np.concatenate([columns, diagonal]),
                np.concatenate([values, np.zeros(header.rows, values.dtype)]))
    return rows, columns, values


def by_rows(header: Header, rows: Ints, columns: Ints, values: Any) -> Nested:
    order = np.lexsort((columns, rows))
    offsets = offsets_of(np.bincount(rows, minlength=header.rows).astype(np.int64))
    return Nested(offsets, (columns[order].astype(np.int64), values[order]))
