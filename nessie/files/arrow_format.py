"""Apache Arrow's files and Parquet: .arrow and .parquet, by PyArrow. A table is a sequence of tuples, one component per
column; a table of one column is a sequence of its elements.

Integers of any width become ints, floats of any width floats, lists sequences, structs tuples, strings texts. Missing
values are refused, with the column that has them.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.extras import install
from nessie.base.types import BOOL, FLOAT, INT, STRING, Base, Pair, Seq, Type, components, nest_right
from nessie.base.values import DTYPES, Column, Flat, Nested, code_points, plain_value
from nessie.files.fit import Arrays, offsets_of
from nessie.files.parts import Misfit
from nessie.files.reading import Reading

CODE = 4                        # bytes of a character in an array


def pyarrow(path: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise NessieError(f"{path}: PyArrow reads and writes such files, and is not installed",
                          hint=install("python")) from None
    return pyarrow


def read_parquet(file: Reading) -> Arrays:
    pa = pyarrow(file.path)
    from pyarrow import parquet
    try:
        with parquet.ParquetFile(file.path) as source:
            groups = source.metadata
            file.take(sum([groups.row_group(number).total_byte_size for number in range(groups.num_row_groups)]))
            return table(file, source.read())
    except pa.ArrowException:
        raise broken(file, "Parquet") from None


def read_arrow(file: Reading) -> Arrays:
    """Read a file of Arrow's, or a stream."""
    pa = pyarrow(file.path)
    from pyarrow import ipc
    try:
        with pa.memory_map(file.path) as source:
            file.take(source.size())
            try:
                return table(file, ipc.open_file(source).read_all())
            except pa.ArrowInvalid:
                source.seek(0)
                return table(file, ipc.open_stream(source).read_all())
    except pa.ArrowException:
        raise broken(file, "Arrow's") from None


def broken(file: Reading, kind: str) -> NessieError:
    return NessieError(f"{file.path}: no file of {kind}, or a damaged one")


# Reading ----------------------------------------------------------------------------------------

def table(file: Reading, found: Any) -> Arrays:
    found.validate(full=True)           # a damaged file may claim offsets that lead anywhere
    if not found.column_names:
        raise NessieError(f"{file.path}: the table has no columns")
    parts = [column(file, name, whole(held)) for name, held in zip(found.column_names, found.columns, strict=True)]
    held = Seq(nest_right([type_ for _, type_ in parts], Pair))
    return Arrays(held, Flat(found.num_rows, nest_right([values for values, _ in parts], pair)), file,
                  partial(wrong, file.path, found.column_names))


def pair(first: Any, rest: Any) -> Any:
    return first, rest


def wrong(path: str, names: list[str], misfit: Misfit) -> NessieError:
    return NessieError(f"{path}: the table {misfit}", hint=f"its columns are {', '.join(names)}")


def whole(chunked: Any) -> Any:
    """The column as one array."""
    found = chunked.combine_chunks()
    return found.chunk(0) if hasattr(found, "num_chunks") and found.num_chunks else found


def column(file: Reading, name: str, array: Any) -> tuple[Column, Type]:
    """The column of an array of Arrow's, and the type of its elements."""
    import pyarrow as pa
    kind = array.type
    if array.null_count:
        missing = f"{array.null_count:,} missing value{'s' * (array.null_count > 1)}"
        raise NessieError(f"{file.path}: the column {name} has {missing}",
                          hint="drop their rows, or fill them, before the file is written")
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
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
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
