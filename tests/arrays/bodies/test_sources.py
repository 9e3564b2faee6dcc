"""Where Python keeps the text of what is typed, bodies typed there work; elsewhere they are refused, and say why."""
from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from processes import finished

import nessie
from nessie.arrays.bodies import source

TYPED = """
factor = 3
def divided(x):
    return 6 // (x - factor)
results = [a.map(lambda x: x * factor).tolist(), a.combine(a, lambda x, y: x - y).tolist()]
"""
WITHOUT_TEXT = "the text of the lambda is not known: it was made in"


def typed(text: str, file: str) -> dict[str, Any]:
    names: dict[str, Any] = {"a": nessie.array([1, 2, 3])}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def kept_by_name(monkeypatch: pytest.MonkeyPatch, text: str, file: str) -> None:
    """What Python 3.13 and notebooks do."""
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))


def kept_by_code(monkeypatch: pytest.MonkeyPatch, text: str, file: str) -> None:
    """What Python 3.14 does."""
    monkeypatch.setattr(linecache, "_getlines_from_code",
                        lambda code: text.splitlines(True) if code.co_filename == file else [], raising=False)


@pytest.mark.parametrize("keeps", [kept_by_name, kept_by_code])
def test_what_is_typed_works_where_python_keeps_it(monkeypatch: pytest.MonkeyPatch, keeps: Callable[..., None]) -> None:
    file = f"<typed {keeps.__name__}>"
    keeps(monkeypatch, TYPED, file)
    names = typed(TYPED, file)
    assert names["results"] == [[3, 6, 9], [0, 0, 0]]
    with pytest.raises(nessie.NessieError, match="Division by zero") as failed:
        names["a"].map(names["divided"]).evaluate()
    span = failed.value.span
    assert span is not None and span.source.name == file
    assert span.source.text[span.start:span.end] == "6 // (x - factor)"


def test_what_nobody_keeps_is_refused() -> None:
    with pytest.raises(nessie.NessieError, match=WITHOUT_TEXT) as failed:
        typed("a.map(lambda x: x + 1)", "<nothing>")
    assert "from 3.13 on, Python also keeps what is typed" in failed.value.hint


def test_another_text_of_the_same_name_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is executed has the name of what stands behind -c."""
    kept_by_name(monkeypatch, "import nessie\nexec(...)\n", "<string>")
    with pytest.raises(nessie.NessieError, match=WITHOUT_TEXT):
        typed("a.map(lambda x: x + 1)", "<string>")


@pytest.mark.parametrize("given", [["-c", TYPED], ["-"]])
def test_the_command_line_of_this_python(given: list[str]) -> None:
    """Behind -c from 3.13 on; what comes by a pipe is not kept."""
    text = "import nessie\na = nessie.array([1, 2, 3])\n" + TYPED + "print(results)\n"
    words = [text if word is TYPED else word for word in given]
    run = finished([sys.executable, *words], input=text, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)})
    if given[0] == "-c" and sys.version_info >= (3, 13):
        assert run.stdout == "[[3, 6, 9], [0, 0, 0]]\n", run.stderr
    else:
        assert WITHOUT_TEXT in run.stderr and run.returncode == 1


def test_files_of_one_text_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one.py", "two.py"):
        text = "def inverse(x):\n    return 10 // x\n"
        Path(name).write_text(text)
        names = typed(text, str(tmp_path / name))
        with pytest.raises(nessie.NessieError) as failed:
            nessie.array([0]).map(names["inverse"]).evaluate()
        assert failed.value.span is not None and failed.value.span.source.name == name


ON_ONE_LINE = """
def lambdas(k):
    return lambda x: x + 1, lambda x: x + 2, lambda x: x * k, lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]
"""
WITHIN = "lambda: a.map(lambda *x: 1)\nlambda: (lambda: 2)\ndef added(a):\n    b = a + [1, 2]\n    return b\n"


def test_lambdas_within_lambdas_where_python_tells_no_columns() -> None:
    trees = [tree for tree in source.functions_of(WITHIN) if isinstance(tree, ast.Lambda)]
    codes = [code for code in source.codes_of(WITHIN) if code.co_name == "<lambda>"]
    found = []
    for code in codes:
        alike = [tree for tree in trees if source.is_of(tree, code, "<lambda>")]
        (one,) = [tree for tree in alike if len(alike) == 1 or source.code_of(tree, WITHIN) == code]
        found.append(one)
    assert len(set(found)) == len(trees) == 4


def test_a_line_is_told_where_python_tells_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "instructions", lambda code: ())
    kept_by_name(monkeypatch, WITHIN, "<within>")
    names = typed(WITHIN, "<within>")
    with pytest.raises(nessie.NessieError, match="of one shape") as failed:
        names["added"](names["a"])
    span = failed.value.span
    assert span is not None and span.source.text[span.start:span.end] == "b = a + [1, 2]"


def test_lambdas_on_one_line_where_python_tells_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before Python 3.11: they are told apart by what the text compiles to."""
    kept_by_name(monkeypatch, ON_ONE_LINE, "<lambdas>")
    found = [function.__code__ for function in typed(ON_ONE_LINE, "<lambdas>")["lambdas"](3)]
    trees = [tree for tree in source.functions_of(ON_ONE_LINE) if isinstance(tree, ast.Lambda)]
    for k, code in enumerate(found):
        assert [tree for tree in trees if source.code_of(tree, ON_ONE_LINE) == code] == [trees[k]]


def test_an_operator_whose_caller_has_no_text() -> None:
    """Its error tells where it was computed, be it compiled for a caller with a text or without; that of others is
    theirs."""
    for _ in range(2):
        a, some = nessie.array([3, 4]), nessie.array([1, 2]).select(lambda x: x > 1)
        with pytest.raises(nessie.NessieError, match=r"Division by zero: at element 0: 3 / 0\.") as failed:
            eval("a // 0").evaluate()
        assert [label for _, label in failed.value.places] == [""]
        with pytest.raises(nessie.NessieError, match="different lengths: the lengths are 2 and 1") as failed:
            eval("a + some", {"a": a, "some": some}).evaluate()
        assert [label for _, label in failed.value.places] == [""]
        with pytest.raises(nessie.NessieError, match=r"Division by zero\.") as failed:
            (a // 0).evaluate()
        assert failed.value.places[0][1] == "at element 0: 3 / 0"
