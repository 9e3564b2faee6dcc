"""Thresholds of versions that Function.tune has found."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nessie.api.errors import as_nessie_errors
from nessie.base.source import Source
from nessie.base.system.writing import write

if TYPE_CHECKING:
    from nessie.tuning.file import Tuning


@dataclass(frozen=True)
class Thresholds:
    """Where each version of a function runs on this machine. `text` is a tuning file, which `save` writes, and which
    people may edit; `times`: of each call, for each choice, the seconds of its versions. `nessie.load(...,
    tuning=thresholds)` takes it, as `tuning="FILE"` takes the file."""
    text: str
    times: tuple[dict[str, dict[str, float]], ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        with as_nessie_errors():
            write(os.fsdecode(path), self.text)

    def read(self) -> Tuning:
        from nessie.tuning.file import parse  # seldom needed
        return parse(Source("tuning", self.text))

    def __repr__(self) -> str:
        return self.text
