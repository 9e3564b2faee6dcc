"""Nessie's own files: which there are, and whether two installations are of the same code.

    own_files       with their places in its packages
    digests         of what they hold
"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("nessie", "nessie.lambda_cu", "nessie.flatten", "nessie.schedule", "nessie.cudagen")


def own_files() -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Nessie's files, by their places in its packages, which lie side by side in a checkout and inside each other in a
    wheel, where those of the outer one have all."""
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            yield from files_below(os.path.dirname(spec.origin), package.replace(".", "/"))


def files_below(folder: str, name: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith((".py", ".json")):
                yield f"{name}/{entry.name}", entry
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from files_below(entry.path, f"{name}/{entry.name}")


@cache
def digests() -> dict[str, str]:
    """A digest of what each file held when this was first asked."""
    return {name: hashlib.sha256(Path(entry.path).read_bytes()).hexdigest()[:16] for name, entry in own_files()}


@cache
def digest() -> str:
    """Of all of them."""
    return hashlib.sha256("".join([f"{name} {of}\n" for name, of in sorted(digests().items())]).encode()).hexdigest()
