"""Finds the known word that an unknown word was probably meant to be."""
from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """Return the known word most like this one, if it is alike enough: 1 is the same, 0 has no letter in common."""
    from difflib import get_close_matches  # only after a mistake
    return next(iter(get_close_matches(word, list(known), 1, alike)), None)
