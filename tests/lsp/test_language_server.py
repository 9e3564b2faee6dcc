"""nessie lsp, as an editor meets it: a real client over standard input and output."""
from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from paths import PYTHONPATH, ROOT

pytest.importorskip("pygls")
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

TEXT = """\
% Twice each: twice([1, 2]) => [2, 4]
   twice([3]) => [5] %
function twice(v) = {x * 2 : x in v};
function norm2(xs) =
  let sum1 = sum(xs);
      gts  = {x in xs | x > 0.0};
      sum2 = sum(gts)
  in ({x / sum1 : x in xs}, {x / sum2 : x in xs});
äö = twise([1]);
"""
URI = "file:///somewhere/text.nesl"
HERE = lsp.TextDocumentIdentifier(URI)
ALL = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))


class Editor(LanguageClient):
    """A client that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.told: asyncio.Queue[list[lsp.Diagnostic]] = asyncio.Queue()
        self.version = 1

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def told(params: lsp.PublishDiagnosticsParams) -> None:
            if params.uri == URI:
                self.told.put_nowait(list(params.diagnostics))

        @self.feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)
        def inlay(params: None) -> None: ...

        @self.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
        def lens(params: None) -> None: ...

    async def errors(self) -> list[lsp.Diagnostic]:
        return await asyncio.wait_for(self.told.get(), 60)

    async def type(self, text: str) -> list[lsp.Diagnostic]:
        """The errors of the text that stands there now."""
        self.version += 1
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(version=self.version, uri=URI),
            [lsp.TextDocumentContentChangeWholeDocument(text)]))
        return await self.errors()

    async def hover(self, text: str, word: str) -> str:
        """What is told of the first occurrence of the word."""
        found = await self.text_document_hover_async(lsp.HoverParams(HERE, at(text, word)))
        return found.contents.value if found else ""                   # type: ignore[union-attr]


def at(text: str, word: str) -> lsp.Position:
    before = text[:text.index(word)]
    return lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


def edit(work: Callable[[Editor, list[lsp.Diagnostic]], Awaitable[None]], text: str = TEXT, *words: str) -> None:
    """Open the text in an editor, and let it work with what it is told."""
    async def session() -> None:
        editor = Editor()
        await editor.start_io(sys.executable, "-m", "nessie", "lsp", *words, cwd=ROOT,
                              env={"PYTHONPATH": PYTHONPATH, "PATH": ""})
        await editor.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
        editor.initialized(lsp.InitializedParams())
        editor.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "nesl", 1, text)))
        await work(editor, await editor.errors())
        await editor.shutdown_async(None)
        editor.exit(None)
        await editor.stop()
    asyncio.run(asyncio.wait_for(session(), 240))


def test_errors_are_told_with_what_to_write_instead() -> None:
    async def work(editor: Editor, errors: list[lsp.Diagnostic]) -> None:
        assert [(error.message, error.severity) for error in errors] == [
            ("twise is not defined\nhint: did you mean twice?", lsp.DiagnosticSeverity.Error)]
        assert errors[0].range == lsp.Range(lsp.Position(8, 5), lsp.Position(8, 10))
        found = await editor.text_document_code_action_async(
            lsp.CodeActionParams(HERE, errors[0].range, lsp.CodeActionContext(errors)))
        (change,) = found[0].edit.changes[URI]
        assert (found[0].title, change.new_text) == ("write twice", "twice")
        assert await editor.type(TEXT.replace("twise", "twice")) == []
        errors = await editor.type("a = 1\nb = 2;\nfunction g(x) : int -> int = x + 1.0;\n")
        assert [error.range.start for error in errors] == [lsp.Position(1, 2), lsp.Position(2, 33)] or \
            [error.range.start.line for error in errors] == [1, 2]
        assert errors[1].related_information
        found = await editor.text_document_code_action_async(
            lsp.CodeActionParams(HERE, errors[0].range, lsp.CodeActionContext(errors)))
        (change,) = found[0].edit.changes[URI]
        assert (change.range.start, change.new_text) == (lsp.Position(0, 5), ";")
        assert await editor.type("") == []
    edit(work)


def test_types_kernels_work_and_depth_are_told() -> None:
    async def work(editor: Editor, _: list[lsp.Diagnostic]) -> None:
        assert "gts : [float]" in (await editor.hover(TEXT, "gts"))
        assert "kernel K1 of norm2: FILTER, gts" in await editor.hover(TEXT, "gts")
        assert "kernel K2 of norm2: MAP" in await editor.hover(TEXT, "x / sum2")
        twice = await editor.hover(TEXT, "twice(v)")
        assert "twice : [int] -> [int]" in twice and "1 kernel on cpu: K1" in twice
        assert "work 11, depth 4: twice([1, 2])" in twice and "work at most 2*#v + 2, depth at most 3" in twice
        total = await editor.hover(TEXT, "sum(xs)")
        assert "sum : [a] -> a :: (a in number)" in total and "Sum of the elements." in total
        assert await editor.hover(TEXT, "Twice each") == await editor.hover(TEXT, "let") == ""
        hints = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(HERE, ALL))
        assert [(hint.position.line, hint.label) for hint in hints] == [(4, "K1"), (5, "K1"), (6, "K1")]
        broken = TEXT.replace("function twice", "\n\n  function twice(").replace("gts  =", "gts ==")
        assert len(await editor.type(broken)) > 1
        moved = "\n\n" + TEXT
        await editor.type(moved)
        hints = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(HERE, ALL))
        assert [(hint.position.line, hint.label) for hint in hints] == [(6, "K1"), (7, "K1"), (8, "K1")]
    edit(work)


def test_names_are_found_and_renamed() -> None:
    async def work(editor: Editor, _: list[lsp.Diagnostic]) -> None:
        place = at(TEXT, "sum1 :")
        found = await editor.text_document_definition_async(lsp.DefinitionParams(HERE, place))
        assert found.range.start == lsp.Position(4, 6)
        used = await editor.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(True), HERE, place))
        assert [one.range.start for one in used] == [lsp.Position(4, 6), lsp.Position(7, 11)]
        library = await editor.text_document_definition_async(
            lsp.DefinitionParams(HERE, at(await typed(editor, TEXT + "gcd(1, 2);\n"), "gcd")))
        assert library.uri.endswith("prelude.nesl")
        renamed = await editor.text_document_rename_async(lsp.RenameParams(HERE, place, "total"))
        assert [change.new_text for change in renamed.changes[URI]] == ["total", "total"]
        renamed = await editor.text_document_rename_async(lsp.RenameParams(HERE, at(TEXT, "twice(v)"), "double"))
        assert sorted(change.range.start.line for change in renamed.changes[URI]) == [0, 1, 2]
        assert await editor.text_document_rename_async(lsp.RenameParams(HERE, place, "let")) is None
        symbols = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(HERE))
        assert [symbol.name for symbol in symbols] == ["twice", "norm2"]

    async def typed(editor: Editor, text: str) -> str:
        await editor.type(text)
        return text
    edit(work)


def test_names_in_scope_are_offered_also_in_broken_text() -> None:
    async def work(editor: Editor, _: list[lsp.Diagnostic]) -> None:
        for text in (TEXT, TEXT.replace("sum(gts)", "s"), TEXT.replace("in ({x /", "in ({x / ((")):
            await editor.type(text)
            found = await editor.text_document_completion_async(lsp.CompletionParams(HERE, at(text, "sum2 =")))
            offered = {item.label: item for item in found.items}
            assert {"sum1", "gts", "xs", "twice", "let", "float"} <= set(offered)
            assert offered["sum"].detail == "[a] -> a :: (a in number)"
            assert "Sum of the elements." in str(offered["sum"].documentation)
    edit(work)


def test_examples_run_in_place() -> None:
    async def work(editor: Editor, _: list[lsp.Diagnostic]) -> None:
        lenses = await editor.text_document_code_lens_async(lsp.CodeLensParams(HERE))
        assert [lens.command.title for lens in lenses] == ["run the examples"] * 2
        command = lenses[0].command
        await editor.workspace_execute_command_async(lsp.ExecuteCommandParams(command.command, command.arguments))
        errors = await editor.errors()
        assert [error.range.start.line for error in errors] == [8, 1] and "came:     [6]" in errors[1].message
        hints = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(HERE, ALL))
        labels = [hint.label for hint in hints if hint.position.line < 2]
        assert labels == ["holds", "came:     [6], which differs at [0]"]
        lenses = await editor.text_document_code_lens_async(lsp.CodeLensParams(HERE))
        assert [lens.command.title for lens in lenses] == ["holds", "does not hold"]
        endless = "% g(1) => 2 %\nfunction g(x) = g(x + 1);\n"
        assert await editor.type(endless) == []
        came: Any = await editor.workspace_execute_command_async(lsp.ExecuteCommandParams(command.command, [URI]))
        assert "longer than" in came[0] or "deep" in came[0]
        (error,) = await editor.errors()
        assert error.range.start.line == 0
        assert await editor.type("a = 1;") == []
    edit(work, TEXT, "--time-limit", "6")


def test_texts_that_were_never_opened_have_no_answers() -> None:
    async def work(editor: Editor, _: list[lsp.Diagnostic]) -> None:
        other, place = lsp.TextDocumentIdentifier("file:///somewhere/other.nesl"), lsp.Position(0, 0)
        assert await editor.text_document_hover_async(lsp.HoverParams(other, place)) is None
        assert await editor.text_document_definition_async(lsp.DefinitionParams(other, place)) is None
        assert await editor.text_document_rename_async(lsp.RenameParams(other, place, "new")) is None
        assert not await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(other))
        assert not await editor.text_document_code_lens_async(lsp.CodeLensParams(other))
        assert not await editor.text_document_inlay_hint_async(lsp.InlayHintParams(other, ALL))
        found = await editor.text_document_completion_async(lsp.CompletionParams(other, place))
        assert not found.items
    edit(work)


def test_a_loaded_text_is_that_of_the_editor(tmp_path: Path) -> None:
    (tmp_path / "helper.nesl").write_text("function helps(x) = 1;\n", "utf-8")
    uri, text = (tmp_path / "helper.nesl").as_uri(), f'load "{tmp_path}/helper";\nassists(2);\n'

    async def work(editor: Editor, errors: list[lsp.Diagnostic]) -> None:
        assert "assists is not defined" in errors[0].message
        editor.text_document_did_open(lsp.DidOpenTextDocumentParams(
            lsp.TextDocumentItem(uri, "nesl", 1, "function assists(x) = 1;\n")))
        assert await editor.errors() == []
    edit(work, text)


def test_text_is_laid_out() -> None:
    async def work(editor: Editor, _: list[lsp.Diagnostic]) -> None:
        asked = lsp.DocumentFormattingParams(HERE, lsp.FormattingOptions(2, True))
        (change,) = await editor.text_document_formatting_async(asked)
        assert "      gts = {x in xs | x > 0.0};\n" in change.new_text
        assert await editor.type(change.new_text.replace("twise", "twice")) == []
        assert not await editor.text_document_formatting_async(asked)
        await editor.type("a = = 1;")
        assert await editor.text_document_formatting_async(asked) is None
    edit(work)


def test_units_of_utf_16() -> None:
    from nessie.lsp.places import offset, position
    text = "a\n𝔸ö = 1;\n"
    for at_ in range(len(text)):
        assert offset(text, position(text, at_)) == at_
    assert position(text, text.index("=")) == lsp.Position(1, 4)
    assert offset(text, lsp.Position(1, 99)) == len("a\n𝔸ö = 1;") and offset(text, lsp.Position(9, 0)) == len(text)


def test_without_pygls_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    from nessie.tool.cli import main
    monkeypatch.setitem(sys.modules, "nessie.lsp.server", None)
    assert main(["lsp"]) == 1
    assert "the language server needs pygls" in capsys.readouterr().err
