"""Makes nessie/library/library.typed from the library in NESL:   python -m nessie.library.build_library"""
from __future__ import annotations

from nessie.base.source import Source
from nessie.base.system.writing import write
from nessie.library.library import SOURCES, TYPED
from nessie.syntax.nodes import Program
from nessie.syntax.parse import parse
from nessie.typing.environment import Definitions, Environment
from nessie.typing.infer import infer
from nessie.typing.text import show


def library_text() -> str:
    """The text of the library's typed form."""
    forms = [form for path in SOURCES
             for form in parse(Source(path.name, path.read_text("utf-8"), library=True)).forms]
    return show(infer(Program(tuple(forms)), Environment(Definitions(), in_library=True))[0])


if __name__ == "__main__":
    write(TYPED, library_text())
    print(f"{TYPED.name} written")
