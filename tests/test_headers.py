"""The examples of a form in the headers of its modules are of that form: they parse, are well formed, print back."""
from __future__ import annotations

import importlib
import re
from textwrap import dedent

import pytest

from nessie import pipeline
from nessie.base.deep import run_deep

EXAMPLES = [
    ("frontend.syntax_text", pipeline.SYNTAX), ("frontend.typed", pipeline.TYPED),
    ("frontend.typed_text", pipeline.TYPED), ("frontend.mono", pipeline.MONO), ("frontend.mono_text", pipeline.MONO),
    ("lambda_cu.ir", pipeline.FLAT), ("lambda_cu.printer", pipeline.FLAT), ("schedule.pdg", pipeline.GRAPH),
    ("schedule.schedule_form", pipeline.SCHEDULE), ("cudagen.loops", pipeline.LOOPS),
    ("cudagen.instructions", pipeline.HOST),
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
def test_example(module: str, form: pipeline.Form) -> None:
    text = example(module)

    def read() -> str:
        program = pipeline.call(form.parse, text)
        if form.check:
            pipeline.call(form.check, program)
        return pipeline.show(form, program)
    assert lines(run_deep(read)) == lines(text)
