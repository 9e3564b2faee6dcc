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
ALONE = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"       # what a page in a file may do


def page(data: dict[str, Any]) -> str:
    """The page that shows the data of nessie.inspect.collect."""
    return filled(f"{data['entry']} \N{EN DASH} {data['file']}", data, "new Page(data);")


def filled(title: str, data: dict[str, Any], start: str, policy: str = ALONE, nonce: str = "", style: str = "",
           scripts: str = "") -> str:
    """The page with this data, which `start` shows; with a style and scripts of its own, where it is more than that."""
    parts = {"title": escape(title), "policy": escape(policy), "nonce": f' nonce="{escape(nonce)}"' if nonce else "",
             "style": part("page.css") + style, "script": "\n".join([*map(part, SCRIPTS), scripts]), "start": start,
             "data": embedded(data)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]].rstrip(), part("page.html"))


def part(name: str, package: str = "nessie.inspect") -> str:
    return resources.files(package).joinpath(name).read_text("utf-8")


def embedded(data: dict[str, Any]) -> str:
    """The data as JSON that is safe inside HTML."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).translate(ESCAPES)
