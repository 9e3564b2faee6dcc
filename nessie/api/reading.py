"""nessie.read: the value in a file, as a call takes it."""
from __future__ import annotations

import os
from typing import Any

from nessie.api.errors import as_nessie_errors
from nessie.api.options import a_path, a_text, memory_limit
from nessie.api.values.results import Results
from nessie.arguments.types import GivenArgument, Parameters, types_of
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.base.system.limits import PYTHON
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import no_datatypes
from nessie.files.files import made, open_file
from nessie.library.library import library
from nessie.syntax.parser import parse_type
from nessie.typing.signatures import concrete_type


def read(path: str | os.PathLike[str], type: str | None = None, *, memory: int | str | None = None) -> Any:
    """The value in a file of one of the kinds that the command line takes (@path); its name's ending says which.
    Columns of a table may follow: "rows.parquet:id,r". `type`: the value's type in NESL, such as "[[float]]", where the
    file leaves it open (ints may be floats); `memory`: a limit in bytes, or a text such as "2G". NessieError if the
    file cannot be read, or its value is not of the type."""
    with as_nessie_errors():
        return run_deep(lambda: read_value(a_path(path, "the path of a file"), type, memory))


def read_value(path: str, written: str | None, memory: int | str | None) -> Any:
    wanted = None if written is None else \
        concrete_type(parse_type(Source("type", a_text(written, "a type"))), library())
    file = open_file(path, MemoryBudget(memory_limit(memory), PYTHON.memory))
    parameters = Parameters(f"it should be {written}", [wanted], no_datatypes)
    (type_,) = types_of([GivenArgument(path, file, file)], parameters)
    return Results(no_datatypes, no_class, []).value(path, made(path, file, type_, no_datatypes), type_)


def no_class(name: str) -> Any:
    raise AssertionError(f"a file has no {name}")
