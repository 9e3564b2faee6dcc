"""A program's datatypes in Python. Their values are named tuples. NESL's fields have no names: they are _0, _1, ..."""
from __future__ import annotations

import copyreg
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from nessie.api.values.open_types import UNKNOWN
from nessie.base.names import shown_name
from nessie.base.source import NessieError
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Data, Type, components, match_types
from nessie.base.widths import Widths

if TYPE_CHECKING:
    from nessie.session.session import Session
    from nessie.typing.nodes import Datatype

Wrong = Callable[[int], NessieError]        # makes the error for a wrong number of components


class Datatypes:
    """The datatypes of a session, which may redefine them; so they are keyed by internal names."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.kinds: dict[str, type] = {}
        self.names: dict[type, str] = {}

    @property
    def widths(self) -> Widths:
        """The bits of the program's numbers."""
        return self.session.environment.widths

    def declared(self, name: str) -> Datatype:
        datatype = self.session.environment.datatype(name)
        assert datatype is not None         # types name those that there are
        return datatype

    def called(self, shown: object) -> str | None:
        """The internal name of the datatype that the program calls so, if there is one."""
        entry = self.session.environment.program.entry(str(shown))
        return entry.name if entry is not None and entry.kind == "constructor" else None

    def content(self, data: Data) -> Type:
        """The type of a datatype's content."""
        return self.session.content(data)

    def general(self, name: str) -> Type:
        """The type of a datatype's content, with the datatype's own variables."""
        return self.declared(name).content

    def count(self, name: str) -> int:
        """The number of the datatype's components."""
        return len(components(self.general(name)))

    def found(self, name: str, type_: Type) -> Data | None:
        """The datatype's type if its constructor is applied to this type, or None if it does not take that."""
        datatype = self.declared(name)
        types = match_types(datatype.content, type_)
        return None if types is None else Data(name, tuple([types.get(v.name, UNKNOWN) for v in datatype.variables]))

    def applied(self, name: str, type_: Type) -> Data:
        """The datatype's type if its constructor is applied to this type. NessieError if it does not take that."""
        data = self.found(name, type_)
        if data is None:
            raise self.wrong(name, show_scheme(type_))
        return data

    def wrong(self, name: str, gets: str) -> NessieError:
        datatype = self.declared(name)
        return NessieError(f"{shown_name(name)} takes {show_scheme(datatype.content)}, but gets {gets}",
                           *[(span, "declared here") for span in datatype.origin[:1]])

    # Named tuples -------------------------------------------------------------------------------

    def kind(self, name: str) -> Any:
        """The named tuple that stands for the datatype."""
        if name not in self.kinds:
            def wrong(count: int) -> NessieError:
                return self.wrong(name, f"{count} component{'' if count == 1 else 's'}")
            made = named_tuple(shown_name(name), self.count(name), wrong)
            self.names[made] = name
            self.kinds[name] = made
        return self.kinds[name]

    def of(self, kind: type) -> str | None:
        """The datatype whose named tuple this class is, if it is one."""
        return self.names.get(kind)


class NamedTuple(type):
    """The metaclass of the named tuples. An unpickled value belongs to no program, but is accepted as a tuple where the
    datatype is wanted."""


def named_tuple(name: str, count: int, wrong: Wrong) -> Any:
    fields: Any = namedtuple(name, ["_"] * count, rename=True)        # type: ignore[misc]

    def new(kind: Any, *parts: Any, **named: Any) -> Any:
        """Make a value. As in NESL, a tuple that is the last component is part of the outer tuple."""
        parts = (*parts, *[named.pop(field) for field in kind._fields[len(parts):] if field in named])
        while parts and len(parts) < count and type(parts[-1]) is tuple:
            parts = (*parts[:-1], *parts[-1])
        if len(parts) != count or named:
            raise wrong(len(parts) + len(named))
        return tuple.__new__(kind, parts)
    return NamedTuple(name, (fields,), {"__new__": new, "__slots__": (), "__doc__": f"A value of the datatype {name}."})


@cache
def unpickled(name: str, count: int) -> Any:
    return named_tuple(name, count, lambda given: NessieError(f"{name} has {count} components, not {given}"))


copyreg.pickle(NamedTuple, lambda kind: (unpickled, (kind.__name__, len(vars(kind.__base__)["_fields"]))))
