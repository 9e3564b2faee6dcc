"""The examples of a form in the headers of its modules are of that form: they parse, are well formed, print back."""
from __future__ import annotations

import importlib
import re
from textwrap import dedent

import pytest

from nessie import forms
from nessie.base.source import Source
from nessie.base.system.deep import run_deep

EXAMPLES = [
    ("syntax.text", forms.SYNTAX), ("typing.nodes", forms.TYPED), ("typing.text", forms.TYPED),
    ("mono.nodes", forms.MONO), ("mono.text", forms.MONO), ("lambda_cu.nodes", forms.FLAT),
    ("lambda_cu.text.printer", forms.FLAT), ("schedule.graph.nodes", forms.GRAPH), ("schedule.nodes", forms.SCHEDULE),
    ("cudagen.loops.nodes", forms.LOOPS), ("cudagen.host.nodes", forms.HOST),
]
INDENTED = re.compile(r"(?:(?:    .*)?\n)+")
DEFINITION = re.compile(r"[{=;]$", re.MULTILINE)


def example(module: str) -> str:
    """The indented part of the header that has a line which ends as those of definitions do."""
    header = importlib.import_module(f"nessie.{module}").__doc__ or ""
    return next(found[0] for found in INDENTED.finditer(header) if DEFINITION.search(found[0]))


def lines(text: str) -> list[str]:
    return [line for line in dedent(text).split("\n") if line]


@pytest.mark.parametrize(("module", "form"), EXAMPLES, ids=[module for module, _ in EXAMPLES])
def test_example(module: str, form: forms.Form) -> None:
    text = example(module)

    def read() -> str:
        return str(form.show(forms.read(form, Source(module, text))))
    assert lines(run_deep(read)) == lines(text)
