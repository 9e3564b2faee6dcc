"""Makes nessie/frontend/library.typed from nessie/frontend/prelude.nesl:   python -m nessie.frontend.build_library"""
from __future__ import annotations

from nessie.base.source import Source
from nessie.base.writing import write
from nessie.frontend.environment import Definitions, Environment
from nessie.frontend.infer import infer
from nessie.frontend.library import PRELUDE, TYPED
from nessie.frontend.parser import parse
from nessie.frontend.typed_text import show


def library_text() -> str:
    """The typed form of the library."""
    program = parse(Source(PRELUDE.name, PRELUDE.read_text("utf-8"), library=True))
    return show(infer(program, Environment(Definitions(), in_library=True))[0])


if __name__ == "__main__":
    write(TYPED, library_text())
    print(f"{TYPED.name} written")
