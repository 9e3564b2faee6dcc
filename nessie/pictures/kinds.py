"""The kinds of plots, of which each value has some (nessie.pictures.plot)."""
from __future__ import annotations

KINDS = ("line", "scatter", "histogram", "image", "lengths")
