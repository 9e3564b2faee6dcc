"""Apache Arrow's files and Parquet: .arrow and .parquet, by PyArrow. A table is a sequence of tuples, one component per
column; a table of one column is a sequence of its elements.

Integers of any width become ints, floats of any width floats, lists sequences, structs tuples, strings texts. Missing
values are refused, with the column that has them.
"""
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.extras import install
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import BOOL, FLOAT, INT, STRING, Base, Pair, Seq, Type, components, nest_right
from nessie.base.values import DTYPES, Column, Flat, Nested, code_points, length_of, plain_value
from nessie.files.fit import Arrays, offsets_of
from nessie.files.names import BY_PARTS, cell, listed, shown_in
from nessie.files.parts import Misfit, OtherComponents
from nessie.files.read_by_workers import Group, read_by_workers
from nessie.files.reading import Reading

CODE = 4                        # bytes of a character in an array
LARGE = 1 << 24                 # bytes of a table that workers read, if there are some


def pyarrow(path: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise NessieError(f"{path}: PyArrow reads and writes such files, and is not installed",
                          hint=install("python")) from None
    return pyarrow


def read_parquet(file: Reading) -> Arrays:
    """Read a file, or a folder of files that are parts of a table."""
    pa = pyarrow(file.path)
    try:
        paths = parquet_files(file.path)
        groups, schema, size = row_groups(file, paths)
        if file.hands and size >= LARGE and all([is_of_numbers(kind) for kind in schema.types]):
            empty = table(file, schema.empty_table())
            column = read_by_workers(file.hands(), groups, partial(column_of, columns=file.columns),
                                     empty.values.column)
            if column is not None:
                return replace(empty, values=Flat(length_of(column), column))
        file.take(size)
        return table(file, pa.concat_tables([chosen(file, rows_of(path, file.columns)) for path in paths]))
    except pa.ArrowException:
        raise broken(file.path, "Parquet") from None


@contextmanager
def open_parquet(path: str, buffer: int = 0) -> Iterator[Any]:
    """The file, open. NessieError if it is none of Parquet. `buffer`: bytes that are read at a time; 0: a column of a
    row group. PyArrow is given an absolute path, since it takes other names with a colon for addresses."""
    pa = pyarrow(path)
    from pyarrow import parquet
    try:
        with parquet.ParquetFile(os.path.abspath(path), buffer_size=buffer, pre_buffer=False) as file:
            yield file
    except pa.ArrowException:
        raise broken(path, "Parquet") from None


def rows_of(path: str, columns: Sequence[str] | None) -> Any:
    with open_parquet(path) as source:
        return source.read(columns=columns)


def parquet_files(path: str) -> list[str]:
    """The file, or those of a folder."""
    if not os.path.isdir(path):
        return [path]
    found = [one for one in shown_in(path) if one.endswith(".parquet")]
    if not found:
        raise NessieError(f"{path}: a folder without files of Parquet",
                          hint=f"{BY_PARTS} folders of others, too, some rows after the others")
    return found


def row_groups(file: Reading, paths: Sequence[str]) -> tuple[list[Group], Any, int]:
    """The row groups of files that have the same columns, as far as these are read; what they are, and their bytes."""
    groups, size, schemas = list[Group](), 0, []
    for path in paths:
        with open_parquet(path) as source:
            one = Reading(path, file.room, columns=file.columns)
            schemas.append(chosen(one, source.schema_arrow.empty_table()).schema)
            if schemas[-1] != schemas[0]:
                raise NessieError(f"{path} has other columns than {paths[0]}")
            groups += [(path, number) for number in range(source.num_row_groups)]
            size += sum([chunk.total_uncompressed_size for number in range(source.num_row_groups)
                         for chunk in chunks(source.metadata.row_group(number), file.columns)])
    return groups, schemas[0], size


def chunks(group: Any, columns: Sequence[str] | None) -> list[Any]:
    """Of a row group, what Parquet knows of each of these columns, or of the parts of one of several."""
    every = [group.column(number) for number in range(group.num_columns)]
    return [chunk for chunk in every if columns is None or any(
        [f"{chunk.path_in_schema}.".startswith(f"{name}.") for name in columns])]


def chosen(file: Reading, found: Any) -> Any:
    """The table, of those of its columns alone that are read."""
    return found if file.columns is None else found.select(file.chosen(found.schema.names))


def column_of(path: str, group: int, columns: Sequence[str] | None = None) -> Column:
    """The column of a row group's rows, as read_parquet makes it of all."""
    file = Reading(path, MemoryBudget(), columns=columns)
    with open_parquet(path) as source:
        rows = source.read_row_group(group, columns, use_threads=False)
        return table(file, chosen(file, rows)).values.column


def is_of_numbers(kind: Any) -> bool:
    """Are all elements numbers or bools, in lists and structs or not?"""
    import pyarrow as pa
    if is_list(kind):
        return is_of_numbers(kind.value_type)
    if pa.types.is_struct(kind):
        return all([is_of_numbers(kind.field(at).type) for at in range(kind.num_fields)])
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def read_arrow(file: Reading) -> Arrays:
    """Read a file of Arrow's, or a stream."""
    pa = pyarrow(file.path)
    from pyarrow import ipc
    try:
        with pa.memory_map(file.path) as source:
            file.take(source.size())
            try:
                return table(file, chosen(file, ipc.open_file(source).read_all()))
            except pa.ArrowInvalid:
                source.seek(0)
                return table(file, chosen(file, ipc.open_stream(source).read_all()))
    except pa.ArrowException:
        raise broken(file.path, "Arrow's") from None


def broken(path: str, kind: str) -> NessieError:
    return NessieError(f"{path}: no file of {kind}, or a damaged one")


# Reading ----------------------------------------------------------------------------------------

def table(file: Reading, found: Any) -> Arrays:
    found.validate(full=True)           # a damaged file may claim offsets that lead anywhere
    if not found.column_names:
        raise NessieError(f"{file.path}: the table has no columns")
    columns = [whole(held) for held in found.columns]
    for column_name, held in zip(found.column_names, columns, strict=True):
        for name, count, row in missing(column_name, held):
            raise NessieError(f"{file.path}: the column {name} has {count:,} missing value{'s' * (count > 1)}, "
                              f"{'the first ' * (count > 1)}in row {file.first_row + row}",
                              hint="drop such rows, or fill them, before the file is written; the first row is 0")
    parts = [column(file, name, held) for name, held in zip(found.column_names, columns, strict=True)]
    held = Seq(nest_right([type_ for _, type_ in parts], Pair))
    return Arrays(held, Flat(found.num_rows, nest_right([values for values, _ in parts], pair)), file,
                  partial(wrong, file, found.column_names))


def pair(first: Any, rest: Any) -> Any:
    return first, rest


def wrong(file: Reading, names: list[str], misfit: Misfit) -> NessieError:
    told, some = listed(list(map(cell, names))), f"; {file.path}:NAME reads one of them" * (len(names) > 1)
    if isinstance(misfit, OtherComponents):
        some = f"; columns are components in the order in which they stand, or are named: {file.path}:NAME,NAME"
    held = f"its columns are {told}" if file.columns is None else \
        f"of its columns, {told} {'is' if len(names) == 1 else 'are'} read"
    return NessieError(f"{file.path}: the table {misfit}", hint=held + some)


def whole(chunked: Any) -> Any:
    """The column as one array."""
    found = chunked.combine_chunks()
    return found.chunk(0) if hasattr(found, "num_chunks") and found.num_chunks else found


def missing(name: str, array: Any) -> Iterator[tuple[str, int, int]]:
    """The columns in a column that lack values, however deep: the name, how many, the first row that lacks one."""
    import pyarrow as pa
    from pyarrow import compute
    if array.null_count:
        yield name, array.null_count, compute.index(array.is_null(), True).as_py()
    elif is_list(array.type):
        ends = np.cumsum(compute.list_value_length(array).to_numpy(zero_copy_only=False))
        for inner, count, place in missing(name, array.flatten()):
            yield inner, count, int(np.searchsorted(ends, place, "right"))
    elif pa.types.is_struct(array.type):
        for field, part in zip(array.type, array.flatten(), strict=True):
            yield from missing(f"{name}.{field.name}", part)


def is_list(kind: Any) -> bool:
    import pyarrow as pa
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def column(file: Reading, name: str, array: Any) -> tuple[Column, Type]:
    """The column of an array of Arrow's, and the type of its elements."""
    import pyarrow as pa
    kind = array.type
    if pa.types.is_dictionary(kind):
        return column(file, name, array.dictionary_decode())
    if pa.types.is_boolean(kind):
        return scalars(file, array, BOOL)
    if pa.types.is_uint64(kind) and len(array) and array.to_numpy().max() > np.iinfo(np.int64).max:
        raise NessieError(f"{file.path}: the column {name} has integers beyond 64 bits with a sign")
    if pa.types.is_integer(kind):
        return scalars(file, array, INT)
    if pa.types.is_floating(kind):
        return scalars(file, array, FLOAT)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        file.take((CODE + 1) * array.nbytes)
        texts = array.to_pylist()
        return Nested(offsets_of([len(text) for text in texts]), code_points("".join(texts))), STRING
    if is_list(kind):
        from pyarrow import compute
        lengths = compute.list_value_length(array).to_numpy(zero_copy_only=False)
        content, element = column(file, name, array.flatten())
        return Nested(offsets_of(lengths), content), Seq(element)
    if pa.types.is_struct(kind) and kind.num_fields:
        parts = [column(file, f"{name}.{kind.field(at).name}", part) for at, part in enumerate(array.flatten())]
        return nest_right([values for values, _ in parts], pair), nest_right([type_ for _, type_ in parts], Pair)
    raise NessieError(f"{file.path}: the column {name} is of type {kind}, for which NESL has none",
                      hint="integers, floats, bools, strings, lists and structs are read")


def scalars(file: Reading, array: Any, kind: Base) -> tuple[Column, Type]:
    file.take(8 * len(array))
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), DTYPES[kind.name]), kind


# Writing ----------------------------------------------------------------------------------------

def encode_parquet(path: str, value: Any, type_: Type, names: list[str]) -> bytes:
    """The bytes of a .parquet file with the sequence as a table. The type has no datatypes."""
    pa = pyarrow(path)
    from pyarrow import parquet
    sink = pa.BufferOutputStream()
    parquet.write_table(table_of(path, pa, value, type_, names), sink)
    return bytes(sink.getvalue())


def encode_arrow(path: str, value: Any, type_: Type, names: list[str]) -> bytes:
    """The bytes of a file of Arrow's with the sequence as a table. The type has no datatypes."""
    pa = pyarrow(path)
    sink, made = pa.BufferOutputStream(), table_of(path, pa, value, type_, names)
    with pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made)
    return bytes(sink.getvalue())


def table_of(path: str, pa: Any, value: Flat, type_: Type, names: list[str]) -> Any:
    assert isinstance(type_, Seq)
    try:
        columns = [array_of(pa, value.length, part, kind) for part, kind in split(value.column, type_.element)]
    except UnicodeEncodeError:
        raise NessieError(f"{path}: half of a surrogate pair is no text that Arrow holds",
                          hint="a .json file holds any value") from None
    return pa.table(columns, names=names)


def array_of(pa: Any, length: int, values: Any, type_: Type) -> Any:
    """The array of Arrow's of `length` elements of this type, which has no datatypes."""
    match type_:
        case Seq(Base("char")) | Base("char"):
            texts = ["".join(text) for text in plain_value(Flat(length, values), Seq(type_))]
            return pa.array(texts, pa.large_string())
        case Base():
            return pa.array(np.asarray(values))
        case Seq(element):
            content = array_of(pa, int(values.offsets[-1]), values.content, element)
            return pa.LargeListArray.from_arrays(values.offsets, content)
    parts = [array_of(pa, length, part, kind) for part, kind in split(values, type_)]
    return pa.StructArray.from_arrays(parts, [str(number) for number in range(len(parts))])


def split(values: Any, type_: Type) -> Iterator[tuple[Any, Type]]:
    """The components of a tuple's column, with their types."""
    *kinds, last = components(type_)
    for kind in kinds:
        yield values[0], kind
        values = values[1]
    yield values, last
