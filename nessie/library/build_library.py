"""Makes nessie/library/library.typed from nessie/library/prelude.nesl:   python -m nessie.library.build_library"""
from __future__ import annotations

from nessie.base.source import Source
from nessie.base.system.writing import write
from nessie.library.library import PRELUDE, TYPED
from nessie.syntax.parse import parse
from nessie.typing.environment import Definitions, Environment
from nessie.typing.infer import infer
from nessie.typing.text import show


def library_text() -> str:
    """The text of the library's typed form."""
    program = parse(Source(PRELUDE.name, PRELUDE.read_text("utf-8"), library=True))
    return show(infer(program, Environment(Definitions(), in_library=True))[0])


if __name__ == "__main__":
    write(TYPED, library_text())
    print(f"{TYPED.name} written")
