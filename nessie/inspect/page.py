"""Makes the inspector's page: one file with the data and the template, style and scripts beside this module.

The page fetches nothing from elsewhere; its own policy forbids it. The data is JSON in a script element, without any
character that could end the element or begin another.
"""
from __future__ import annotations

import json
import re
from html import escape
from importlib import resources
from typing import Any

SCRIPTS = ("links.js", "stages.js", "graph.js", "measured.js", "page.js")
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(data: dict[str, Any]) -> str:
    """The page that shows the data of nessie.inspect.collect."""
    parts = {"title": escape(f"{data['entry']} \N{EN DASH} {data['file']}"), "style": part("page.css"),
             "script": "\n".join(map(part, SCRIPTS)), "data": embedded(data)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]].rstrip(), part("page.html"))


def part(name: str) -> str:
    return resources.files("nessie.inspect").joinpath(name).read_text("utf-8")


def embedded(data: dict[str, Any]) -> str:
    """The data as JSON that is safe inside HTML."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).translate(ESCAPES)
