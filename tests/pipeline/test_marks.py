"""Marks in the texts of forms: each stands around the text of what it shows."""
from __future__ import annotations

from typing import Any

import pytest

from nessie import driver, forms, pipeline
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.base.text.layout import LINE, Group, Mark, Nest, Shown, render, render_marked
from nessie.cudagen.cpu import llvm
from nessie.cudagen.host.nodes import Code
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Plan
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.printer import show_bind
from nessie.mono import nodes as mono
from nessie.schedule.nodes import Pair
from nessie.syntax.parser import parse_type
from nessie.typing import nodes as typed

PROGRAM = """
function norm(v) = let s = sum(v) in {x / s : x in v | x > 0.0};
function half(n) = if n < 2 then n else half(n / 2);
function main(m, n) =
  let k = half(n); rows = {norm(row) : row in m}
  in if k > 3 then ({sum(row) : row in rows}, [k]) else ([1.5], [] int);
"""


def test_marks_of_documents() -> None:
    doc = ("ab", Mark(("c", Mark("d", "inner"), Mark("", "empty")), "outer"), "e")
    assert render_marked(doc) == ("abcde", [Shown(2, 4, "outer"), Shown(3, 4, "inner"), Shown(4, 4, "empty")])
    wide = Group(("f(", Mark(Nest((LINE, Mark("x" * 90, 1), LINE, "y" * 30)), 2), ")"))
    text, marks = render_marked(wide)
    assert text == render(wide) == f"f(\n  {'x' * 90}\n  {'y' * 30})"
    assert [(text[m.start:m.end], m.of) for m in marks] == [(text[2:-1], 2), ("x" * 90, 1)]
    assert render(Group(Mark(("a", LINE, "b"), 0))) == "a b"


def shown() -> dict[str, tuple[str, list[Shown]]]:
    """The program's texts with their marks, form by form."""
    job = pipeline.Job(entry="main", argument=parse_type(Source("type", "[[float]], int")))
    made = {step.ran.output: step.program
            for step in driver.steps(job, forms.TEXT, Source("test", PROGRAM), pipeline.stages(job))}
    found = {form.name: forms.show_marked(form, program) for form, program in made.items() if form.document}
    return found | {"llvm": render_marked(llvm.document(made[forms.LOOPS]))}


FORMS = run_deep(shown)


@pytest.mark.parametrize("form", FORMS)
def test_marks_nest(form: str) -> None:
    _, marks = FORMS[form]
    around: list[Shown] = []
    for mark in marks:
        while around and around[-1].end <= mark.start:
            around.pop()
        assert mark.start < mark.end and (not around or mark.end <= around[-1].end), mark
        around.append(mark)
    assert marks


def begins_as(form: str, of: Any, text: str) -> bool | None:
    """Does the text begin as that of this part must? None where that is not told here."""
    match of:
        case typed.Global(name) | typed.Name(name) if not name[0].isalnum():
            return text.lstrip("(").startswith("`")
        case typed.Global(name) | mono.Var(name) | mono.Call(name):
            return text.startswith(name)
        case typed.Let() | mono.Let() | ir.Run() | ir.Branch() | ir.HostLet() | ir.Call():
            return text.startswith("let ")
        case typed.If() | mono.If():
            return text.startswith("if ")
        case typed.Each() | mono.Each():
            return text.startswith("{") and text.endswith("}")
        case typed.Function(name) | mono.Function(name):
            return text.startswith(f"function {name} ")
        case ir.Bind():
            return text == show_bind(of)
        case ir.Kernel(name):
            return text.startswith(f"kernel {name} ") and text.endswith("}\n")
        case ir.Site(name):
            return text.startswith(f"site {name} ")
        case Pair(first, second):
            return text.startswith(f"pair {first} {second} ")
        case loops.Function(name) if form == "loops":
            return text.startswith(f"{of.kind} {name}(") and text.endswith("}")
        case loops.Function(name):
            return f"@{name}.body(" in text.split("\n")[0] and text.endswith("}")
    return None


@pytest.mark.parametrize("form", FORMS)
def test_marks_stand_around_what_they_show(form: str) -> None:
    text, marks = FORMS[form]
    told = [begins_as(form, mark.of, text[mark.start:mark.end]) for mark in marks]
    assert False not in told and True in told


def test_all_that_should_be_is_marked() -> None:
    flat = [mark.of for mark in FORMS["flat"][1]]
    for kind in (ir.Kernel, ir.Bind, ir.Run, ir.HostLet, ir.Branch, ir.Function, ir.ScalarFunction, ir.Site):
        assert any(isinstance(of, kind) for of in flat), kind
    assert {mark.of.name for mark in FORMS["llvm"][1]} == {mark.of.name for mark in FORMS["loops"][1]
                                                           if isinstance(mark.of, loops.Function)}
    kernels = {mark.of.name for mark in FORMS["fused"][1] if isinstance(mark.of, ir.Kernel)}
    plans = {mark.of.name: mark.of for mark in FORMS["loops"][1] if isinstance(mark.of, Plan)}
    assert kernels == plans.keys() - {plan.alone.plan for plan in plans.values() if plan.alone is not None}
    functions = {mark.of.name for mark in FORMS["fused"][1] if isinstance(mark.of, ir.Function)}
    assert functions == {mark.of.name for mark in FORMS["host"][1] if isinstance(mark.of, Code)}
