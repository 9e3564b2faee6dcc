"""Makes the live page: the inspector's page with an editor, and examples to start from."""
from __future__ import annotations

from importlib import resources
from typing import Any

from nessie.base.source import Source
from nessie.base.types import ZEROS
from nessie.inspect.collect import OPERATIONS, TITLES, stage
from nessie.inspect.page import filled, part
from nessie.library.library import library
from nessie.syntax.lexer import WORDS

SCRIPTS = ("codemirror.js", "editor.js", "address.js", "live.js")
FIRST = "quicksort"             # the example that a page begins with
EXAMPLES = "nessie.nesl_examples"


def live_page(start: Source | None, policy: str, nonce: str) -> str:
    """The page, which begins with this program or an example."""
    scripts = "\n".join(part(name, "nessie.serve") for name in SCRIPTS)
    return filled("Nessie", nothing(start), "new LivePage(data);", policy, nonce, part("live.css", "nessie.serve"),
                  scripts)


def nothing(start: Source | None) -> dict[str, Any]:
    """The data of a page that has not asked for anything yet."""
    known = examples()
    stages = [stage(name, None, []) for name in TITLES]
    return {"entry": "", "file": start.name if start else f"{FIRST}.nesl", "target": "cpu", "mode": "ilp", "spans": [],
            "nodes": [], "stages": stages, "schedules": [], "operations": OPERATIONS, "examples": known,
            "words": words(), "program": start.text if start else known[FIRST]}


def words() -> dict[str, list[str]]:
    """The names that the editor colours."""
    return {"keywords": sorted(WORDS), "types": sorted(ZEROS), "library": sorted(library().names())}


def examples() -> dict[str, str]:
    """The example programs, by name."""
    found = {entry.name.removesuffix(".nesl"): entry.read_text("utf-8")
             for entry in resources.files(EXAMPLES).iterdir() if entry.name.endswith(".nesl")}
    return dict(sorted(found.items()))
