"""Answers an editor's requests, by pygls, over standard input and output.

An editor asks while somebody types: errors are told at once; what takes a compiler, kernels and examples, is computed
beside that, one thing at a time, and kept as long as the functions' text stays.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from nessie import __version__
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.system.deep import run_deep
from nessie.lsp.actions import actions
from nessie.lsp.document import Document, definition, document, errors_in, name_in, references, span_of, word_at
from nessie.lsp.places import offset, range_of, whole
from nessie.lsp.words import fused_groups, offers, told
from nessie.syntax import nodes as syntax
from nessie.syntax.examples import Example, examples
from nessie.syntax.format import formatted
from nessie.syntax.parse import read_source

T = TypeVar("T")
RUN = "nessie.runExamples"              # the command that runs the examples of a text
KINDS = {"variable": lsp.CompletionItemKind.Variable, "function": lsp.CompletionItemKind.Function,
         "constructor": lsp.CompletionItemKind.Constructor, "constant": lsp.CompletionItemKind.Constant,
         "keyword": lsp.CompletionItemKind.Keyword, "type": lsp.CompletionItemKind.Class}


@dataclass(frozen=True)
class Runs:
    """How programs run. `examples` returns, for each example of a text, why it does not hold, empty if it does; `cost`
    what is told of the work and depth of an example's expression."""
    examples: Callable[[Source, list[Example]], list[str]]
    cost: Callable[[Source, Example], str]


class Texts:
    """The documents that are open, by their URIs, and what came of their examples."""

    def __init__(self) -> None:
        self.known: dict[str, Document] = {}
        self.came: dict[str, list[str]] = {}
        self.lock = Lock()

    def work(self, work: Callable[[], T]) -> T:
        with self.lock:
            return run_deep(work)

    def read(self, uri: str, name: str, text: str) -> list[str]:
        """Read an open text, as it is now. Returns the open texts of which something else is known now: it, and those
        that load it."""
        source = Source(name, text.replace("\r\n", "\n"))
        self.known[uri] = self.document(source, self.known.get(uri))
        self.came.pop(uri, None)
        others = [other for other, known in self.known.items() if other != uri and loads(known, name)]
        for other in others:
            self.known[other] = self.document(self.known[other].source, self.known[other])
        return [uri, *others]

    def document(self, source: Source, before: Document | None = None) -> Document:
        return run_deep(lambda: document(source, before, self.loaded))

    def loaded(self, path: str, places: list[tuple[Span, str]]) -> Source:
        """The text of a file that a program loads: as it is in the editor where it is open, else on the disk."""
        wanted = [os.path.realpath(path), os.path.realpath(f"{path}.nesl")]
        return next((known.source for known in self.known.values() if os.path.realpath(known.source.name) in wanted),
                    None) or read_source(path, places)


def loads(known: Document, name: str) -> bool:
    """Does the text load the file of this name?"""
    return any([span.source.name != known.source.name and os.path.realpath(span.source.name) == os.path.realpath(name)
                for good in known.checked.good if (span := span_of(good))])


def diagnostics(known: Document, uri: str, failed: list[tuple[Example, str]]) -> Iterator[lsp.Diagnostic]:
    """The errors and warnings, and the examples that do not hold."""
    for error, bad in errors_in(known):
        hint = f"\nhint: {error.hint}" if error.hint else ""
        places = [(span, label) for span, label in error.places if span.source == known.source]
        first, label = places[0] if places else (Span(known.source, 0, 0), "")
        elsewhere = "" if places or not error.places else f"\n{error.places[0][0].excerpt()}"
        more = [lsp.DiagnosticRelatedInformation(lsp.Location(uri, range_of(span)), label or "here")
                for span, label in places[1:]]
        yield lsp.Diagnostic(range_of(first), error.message + (f": {label}" if label else "") + elsewhere + hint,
                             lsp.DiagnosticSeverity.Error if bad else lsp.DiagnosticSeverity.Warning,
                             source="nessie", related_information=more)
    for example, why in failed:
        yield lsp.Diagnostic(range_of(example.expression), why, lsp.DiagnosticSeverity.Warning, source="nessie test")


def serve(runs: Runs) -> None:
    """Answer until the editor ends."""
    server(runs).start_io()


def server(runs: Runs) -> LanguageServer:
    made = LanguageServer("nessie", __version__)
    texts = Texts()
    watch(made, texts)
    answer_about_names(made, texts, runs)
    answer_about_text(made, texts)
    answer_about_examples(made, texts, runs)
    return made


def publish(ls: LanguageServer, texts: Texts, uri: str) -> None:
    known, came = texts.known[uri], texts.came.get(uri, [])
    failed = [(example, why) for example, why in zip(examples(known.source), came, strict=False) if why]
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, list(diagnostics(known, uri, failed))))


def watch(made: LanguageServer, texts: Texts) -> None:
    """Tell errors when a text is opened or changes."""
    def read(ls: LanguageServer, uri: str) -> None:
        found = ls.workspace.text_documents.get(uri)
        if found is None:               # it was never opened: what is on the disk is nobody's text here
            return
        for changed in texts.read(uri, found.path or uri, found.source):
            publish(ls, texts, changed)

    @made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: LanguageServer, params: lsp.DidOpenTextDocumentParams) -> None:
        read(ls, params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: LanguageServer, params: lsp.DidChangeTextDocumentParams) -> None:
        read(ls, params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: LanguageServer, params: lsp.DidCloseTextDocumentParams) -> None:
        texts.known.pop(params.text_document.uri, None)
        texts.came.pop(params.text_document.uri, None)


def answer_about_names(made: LanguageServer, texts: Texts, runs: Runs) -> None:
    """Hover, definition, references, rename, completion."""
    @made.feature(lsp.TEXT_DOCUMENT_HOVER)
    @made.thread()
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return None
        at = offset(known.source.text, params.position)
        found = texts.work(lambda: told(known, at))
        if found is None:
            return None
        lines = [*found.lines, *costs(known, found.function)]
        text = "\n\n".join([f"```nesl\n{found.title}\n```", *lines])
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), range_of(found.span))

    def costs(known: Document, function: str) -> list[str]:
        """The work and depth of the function's first example."""
        own = next((example for example in examples(known.source)
                    if function and example_of(example, function)), None)
        cost = texts.work(lambda: runs.cost(known.source, own)) if own is not None else ""
        return [cost] if cost else []

    @made.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams) -> lsp.Location | None:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return None
        found = definition(known, offset(known.source.text, params.position))
        return location(found, known, params.text_document.uri) if found else None

    @made.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def used(params: lsp.ReferenceParams) -> list[lsp.Location]:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return []
        return [location(span, known, params.text_document.uri)
                for span in references(known, offset(known.source.text, params.position))]

    @made.feature(lsp.TEXT_DOCUMENT_RENAME)
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return None
        spans = references(known, offset(known.source.text, params.position))
        text = known.source.text
        for span in sorted(spans, key=lambda span: -span.start):
            text = text[:span.start] + params.new_name + text[span.end:]
        after = texts.document(Source(known.source.name, text))
        if len(after.checked.errors) > len(known.checked.errors) or len(after.checked.good) != len(known.checked.good):
            return None                 # the name is taken, or is none
        edits = [lsp.TextEdit(range_of(span), params.new_name) for span in spans]
        return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})

    @made.feature(lsp.TEXT_DOCUMENT_COMPLETION)
    def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return lsp.CompletionList(False, [])
        found = offers(known, offset(known.source.text, params.position))
        return lsp.CompletionList(False, [
            lsp.CompletionItem(offer.text, kind=KINDS.get(offer.kind), detail=offer.type or None,
                               documentation=offer.doc or None) for offer in found])


def location(span: Span, known: Document, uri: str) -> lsp.Location:
    own = span.source == known.source
    return lsp.Location(uri if own else str(from_fs_path(span.source.name)), range_of(span))


def example_of(example: Example, function: str) -> bool:
    """Does the example begin with a call of the function?"""
    word = word_at(example.expression.source, example.expression.start)
    return word is not None and example.expression.source.text[word.start:word.end].lower() == function


def answer_about_text(made: LanguageServer, texts: Texts) -> None:
    """Formatting, symbols, actions, and the fused groups."""
    @made.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def laid_out(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return None
        try:
            text = run_deep(lambda: formatted(known.source))
        except NessieError:             # told already
            return None
        return [lsp.TextEdit(whole(known.source), text)] if text != known.source.text else []

    @made.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        known = texts.known.get(params.text_document.uri)
        if known is None:
            return []
        found = []
        for good in known.own:
            span, form = span_of(good), good.form
            if span and isinstance(form, syntax.FunctionDef | syntax.DatatypeDef):
                kind = lsp.SymbolKind.Function if isinstance(form, syntax.FunctionDef) else lsp.SymbolKind.Struct
                found.append(lsp.DocumentSymbol(form.name, kind, range_of(span), range_of(name_in(span, form.name))))
            elif span and isinstance(form, syntax.Assign) and isinstance(form.pattern, syntax.NamePattern):
                found.append(lsp.DocumentSymbol(form.pattern.name, lsp.SymbolKind.Variable, range_of(span),
                                                range_of(form.pattern.span or span)))
        return found

    @made.feature(lsp.TEXT_DOCUMENT_CODE_ACTION)
    def action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        known = texts.known.get(uri)
        if known is None:
            return []
        first, last = (offset(known.source.text, at) for at in (params.range.start, params.range.end))
        return [lsp.CodeAction(found.title, lsp.CodeActionKind.QuickFix, edit=lsp.WorkspaceEdit(
                    changes={uri: [lsp.TextEdit(range_of(found.span), found.text)]}))
                for error, _ in errors_in(known) if error.span and error.span.source == known.source
                and error.span.start <= last and first <= error.span.end for found in actions(error)]


def answer_about_examples(made: LanguageServer, texts: Texts, runs: Runs) -> None:
    """Inlay hints: the fused groups, and what came of examples; and the command that runs these."""
    @made.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    @made.thread()
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        uri = params.text_document.uri
        known = texts.known.get(uri)
        if known is None:
            return []
        groups: list[tuple[Span, str]] = []
        for good in known.own:
            if texts.known.get(uri) is not known:
                return []               # the text has changed, and is asked about anew
            if isinstance(good.form, syntax.FunctionDef):
                groups += texts.work(partial(groups_of, known, good.form))
        found = [lsp.InlayHint(range_of(span).end, label, tooltip="its fused kernels", padding_left=True)
                 for span, label in groups]
        for example, why in zip(examples(known.source), texts.came.get(uri, []), strict=False):
            found.append(lsp.InlayHint(range_of(example.expected).end, why.splitlines()[-1].strip() if why else "holds",
                                       tooltip=why or None, padding_left=True))
        return [hint for hint in found if params.range.start <= hint.position <= params.range.end]

    @made.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        known = texts.known.get(uri)
        found, came = list(examples(known.source)) if known else [], texts.came.get(uri)
        titles = map(title, came) if came else ["run the examples"] * len(found)
        commands = [lsp.Command(said, RUN, arguments=[uri]) for said in titles]
        return [lsp.CodeLens(range_of(example.expression), command)
                for example, command in zip(found, commands, strict=False)]

    @made.command(RUN)
    @made.thread()
    def run(ls: LanguageServer, uri: str) -> list[str]:
        known = texts.known.get(uri)
        if known is None:
            return []
        texts.came[uri] = came = texts.work(lambda: runs.examples(known.source, list(examples(known.source))))
        publish(ls, texts, uri)
        for refresh in (ls.workspace_inlay_hint_refresh, ls.workspace_code_lens_refresh):
            refresh(None)
        return came


def groups_of(known: Document, form: syntax.FunctionDef) -> list[tuple[Span, str]]:
    return list(fused_groups(known, form))


def title(why: str) -> str:
    return "does not hold" if why else "holds"
