"""What the language server knows of a text, also while it is broken."""
from __future__ import annotations

import pytest

from nessie import driver
from nessie.base.source import Source
from nessie.lsp import kernels as kernels_of
from nessie.lsp.document import Document, definition, document, references, text_of
from nessie.lsp.kernels import kernels
from nessie.lsp.words import fused_groups, told
from nessie.syntax import nodes as syntax

TEXT = """\
function scaled(v, k) = let n = #v; v = {x * k : x in v} in {x + n : x in v};
function pairs(v, w) = {(a, b) : a in v; b in w | a < (b)};
function late(v) = {if x > 0 then scaled([x], 2)[0] else y : x in v; y in v};
"""


def known(text: str, before: Document | None = None) -> Document:
    return document(Source("text", text), before)


def test_a_variable_that_hides_another_is_its_own() -> None:
    text = known(TEXT)
    first, hiding = TEXT.index("v,"), TEXT.index("v = {x")
    assert [span.start for span in references(text, first)] == [first, TEXT.index("v; v"), TEXT.index("v} in")]
    assert [span.start for span in references(text, hiding)] == [hiding, TEXT.index("v};")]
    found = definition(text, TEXT.index("b)};"))
    assert found is not None and (text_of(found), found.start) == ("b", TEXT.index("b in w"))
    called = references(text, TEXT.index("scaled(["))
    assert [text_of(span) for span in called] == ["scaled", "scaled"] and called[0].start == 9


def test_functions_are_known_while_one_of_them_is_broken() -> None:
    good = known(TEXT)
    broken = known(TEXT.replace("{x + n", "{x + + n"), good)
    assert len(broken.checked.errors) == 1
    late = told(broken, broken.source.text.index("late"))
    assert late is not None and late.title == "late : [int] -> [int]"
    alone = known(TEXT.replace("{x + n", "{x + 1.5"), good)
    assert len(alone.checked.errors) == 1               # late follows what scaled was


def test_kernels_of_open_types_are_those_of_ints() -> None:
    found, placed = kernels(known(TEXT), "pairs")
    assert (found.refused, found.type) == ("", "[int], [int]")
    assert {node.op for node in placed} == {"FILTER"} and {node.kernel for node in placed} == {"K1"}
    recursive = "function g(h, x) = h(x);\n"
    assert kernels(known(recursive), "g")[0].refused


def test_groups_move_with_the_text_and_are_not_compiled_again() -> None:
    shown = []
    for shift in ("", "\n\n% moved %\n"):
        text = known(shift + TEXT)
        form = text.own[0].form
        assert isinstance(form, syntax.FunctionDef)
        shown.append([(text_of(span), span.start - len(shift), label) for span, label in fused_groups(text, form)])
    assert shown[0] == shown[1] and shown[0]


def test_uses_in_examples_are_uses() -> None:
    text = known("% twice(2) => 4\n   twice(3) => twice(2) + 2\n   {twice : twice in [1]} => [1]\n   twice( => 3 %\n"
                 "function twice(x) = 2 * x;\ntwice(4);\n")
    found = references(text, text.source.text.index("twice(x)"))
    lines = [text.source.text.count("\n", 0, span.start) for span in found]
    assert {text_of(span) for span in found} == {"twice"} and sorted(lines) == [0, 1, 1, 4, 5]


def test_compiling_for_who_looks_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        while True:
            pass
    monkeypatch.setattr(kernels_of, "SECONDS", 0.2)
    monkeypatch.setattr(driver, "run_through", endless)
    text = known("function slow(x) = {y + 41 : y in x};\n")
    assert kernels(text, "slow")[0].refused == "it took longer than 0.2 s"
    monkeypatch.undo()
    assert kernels(text, "slow")[0].refused, "it is not tried again"


def test_a_file_that_is_loaded_is_read_as_somebody_says() -> None:
    text = document(Source("text", 'load "other";\nfunction twice(x) = plus(x, x);\n'),
                    read=lambda path, places: Source(path, "function plus(a, b) = a + b;\n"))
    assert not text.checked.errors and len(text.own) == 1
