"""The library, typed: what programs start from."""
from __future__ import annotations

from functools import cache
from pathlib import Path

from nessie.base.source import Source
from nessie.frontend.environment import Definitions, Environment
from nessie.frontend.infer import infer

PRELUDE = Path(__file__).with_name("prelude.nesl")


def library() -> Environment:
    """An environment in which only the library is defined."""
    return Environment(typed_prelude())


@cache
def typed_prelude() -> Definitions:
    """The definitions of prelude.nesl."""
    from nessie.frontend.parser import parse

    program = parse(Source(PRELUDE.name, PRELUDE.read_text("utf-8"), library=True))
    return infer(program, Environment(Definitions(), in_library=True))[1].program
