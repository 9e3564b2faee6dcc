"""The inspector's page: its template, style and script, which lie beside this module, and the data, in one file.

Nothing is fetched from elsewhere, which the page's own policy sees to. The data stands in a script element as JSON,
without any character that could end it or begin another.
"""
from __future__ import annotations

import json
import re
from html import escape
from importlib import resources
from typing import Any

SCRIPTS = ("links.js", "stages.js", "graph.js", "page.js")
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(data: dict[str, Any]) -> str:
    """The page that shows the data of nessie.inspect.collect."""
    parts = {"title": escape(f"{data['entry']} \N{EN DASH} {data['file']}"), "style": part("page.css"),
             "script": "\n".join(map(part, SCRIPTS)), "data": embedded(data)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]].rstrip(), part("page.html"))


def part(name: str) -> str:
    return resources.files("nessie.inspect").joinpath(name).read_text("utf-8")


def embedded(data: dict[str, Any]) -> str:
    """The data as JSON that may stand in HTML."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).translate(ESCAPES)
