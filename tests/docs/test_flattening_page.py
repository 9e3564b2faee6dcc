"""docs/flattening.md: what it shows of flat λcu is what Nessie makes of its programs."""
from __future__ import annotations

import re

import pytest
from paths import ROOT

from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type

PATH = ROOT / "docs" / "flattening.md"
PAGE = PATH.read_text("utf-8")
PROGRAM = "".join(re.findall(r"^```nesl\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
LISTING = re.compile(r"<!-- flat (\w+) ([^\n]*) -->\n```text\n(.*?)```$", re.MULTILINE | re.DOTALL)


def listing(name: str, type_: str) -> str:
    """The kernels and functions, without sites."""
    job = Job(entry=name, argument=parse_type(Source("type", type_)))
    until = pass_named("simplify")
    program = run_deep(lambda: compile_program(job, TEXT, Source("page", PROGRAM), until))
    lines = until.output.show(program).splitlines()
    return "\n".join(line for line in lines if not line.startswith("site ")).strip() + "\n"


@pytest.mark.parametrize(("name", "type_", "shown"), LISTING.findall(PAGE), ids=lambda text: text.split("\n")[0][:20])
def test_listing(name: str, type_: str, shown: str, update_golden: bool) -> None:
    found = listing(name, type_)
    if update_golden:
        head = f"<!-- flat {name} {type_} -->\n```text\n"
        before, _, after = PATH.read_text("utf-8").partition(head)
        PATH.write_text(before + head + found + after[after.index("```\n"):], "utf-8")
    else:
        assert shown == found


def test_every_program_is_shown() -> None:
    assert {name for name, _, _ in LISTING.findall(PAGE)} == set(re.findall(r"function (\w+)", PROGRAM))
