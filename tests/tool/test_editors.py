"""editors/: what colours NESL is made from the compiler's tables, and colours what the compiler reads."""
from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES, ROOT, SUPPORT
from processes import finished

from nessie.base.source import NessieError, Source
from nessie.library.library import library
from nessie.syntax.lexer import Lexer, Token

EDITORS = ROOT / "editors"
spec = importlib.util.spec_from_file_location("build_editors", EDITORS / "build.py")
assert spec is not None and spec.loader is not None
build: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)


@pytest.mark.parametrize("path", build.WRITTEN)
def test_what_is_written_from_the_tables_is_current(path: str) -> None:
    assert (EDITORS / path).read_text("utf-8") == build.WRITTEN[path](), "run python editors/build.py"


def scopes(text: str) -> Iterator[tuple[int, int, str]]:
    """The pieces of the text that TextMate's grammar finds, with the names of their scopes: the pattern that matches
    first, of several the one that is listed first."""
    patterns = json.loads((EDITORS / "vscode/syntaxes/nesl.tmLanguage.json").read_text("utf-8"))["patterns"]
    at = 0
    while at < len(text):
        found = [(match, pattern) for pattern in patterns
                 if (match := re.compile(pattern.get("match") or pattern["begin"], re.MULTILINE).search(text, at))]
        if not found:
            return
        match, pattern = min(found, key=lambda one: one[0].start())
        if "begin" in pattern:
            end = match.end()
            inner = [re.compile(one["match"]) for one in pattern["patterns"]]
            while not (closing := re.compile(pattern["end"]).match(text, end)):
                end = next((m.end() for one in inner if (m := one.match(text, end))), end + 1)
            yield match.start(), closing.end(), pattern["name"]
            at = closing.end()
        elif "captures" in pattern:
            yield from ((match.start(int(n)), match.end(int(n)), one["name"]) for n, one in pattern["captures"].items())
            at = match.end()
        else:
            yield match.start(), match.end(), pattern["name"]
            at = match.end()


KINDS = {"NUMBER": "constant.numeric", "CHAR": "constant.character", "STRING": "string", "BOOL": "constant.language",
         "AND": "keyword.operator.logical", "OR": "keyword.operator.logical", "FUNCTION": "storage.type",
         "DATATYPE": "storage.type", **dict.fromkeys(("IF", "THEN", "ELSE", "LET", "IN", "TIME"), "keyword.control")}


def wanted(token: Token, before: Token | None) -> str:
    if token.value in build.COMMANDS and (before is None or before.kind == ";"):
        return "keyword.control.directive"
    if token.kind != "NAME":
        return KINDS.get(token.kind, "keyword.operator")
    if before is not None and before.kind in ("FUNCTION", "DATATYPE"):
        return "entity.name.function"
    if token.value in ("int", "float", "bool", "char"):
        return "support.type"
    return "support.function" if token.value in library().names() else "variable.other"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.nesl")), ids=lambda path: path.stem)
def test_text_mate_sees_the_tokens_of_the_compiler(path: Path) -> None:
    assert tokens_seen(path.read_text("utf-8")) > 5


def test_text_mate_sees_the_tokens_of_all_programs_of_the_tests() -> None:
    cases = [json.loads(line)["source"] for line in (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]
    assert sum(map(tokens_seen, cases)) > 2000


def tokens_seen(text: str) -> int:
    """How many tokens the compiler finds before the first that is none, all of which TextMate sees as it does."""
    found = {start: (end, name) for start, end, name in scopes(text)}
    before, seen = None, 0
    for token in tokens(text):
        if token.value not in build.BRACKETS:
            end, name = found[token.start]
            assert end == token.end and name.startswith(wanted(token, before)), text[token.start:token.end]
            seen += 1
        before = token
    return seen


def tokens(text: str) -> Iterator[Token]:
    lexer = Lexer(Source("", text))
    with suppress(NessieError):
        yield from iter(lexer.token, None)


def test_the_extension_names_files_that_there_are() -> None:
    package = json.loads((EDITORS / "vscode/package.json").read_text("utf-8"))
    (language,), (grammar,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    for path in (package["main"], language["configuration"], grammar["path"]):
        assert (EDITORS / "vscode" / path).is_file()
    json.loads((EDITORS / "vscode" / language["configuration"]).read_text("utf-8"))
    assert package["contributes"]["configuration"]["properties"]["nesl.command"]["default"] == ["nessie", "lsp"]
    assert language["id"] == grammar["language"] == "nesl" and language["extensions"] == [".nesl"]
    assert json.loads((EDITORS / "vscode" / grammar["path"]).read_text("utf-8"))["scopeName"] == grammar["scopeName"]
    assert {name for name in ("name", "version", "publisher", "engines", "license") if package[name]} == {
        "name", "version", "publisher", "engines", "license"}, "without them it is not packaged"


STUBS = """
const Module = require("module");
const load = Module._load;
const told = [];
class LanguageClient {
  constructor(...given) { told.push(given); }
  start() { told.push("started"); return this; }
  stop() { told.push("stopped"); }
}
const settings = { get: () => ["nessie", "lsp", "--time-limit", "9"] };
const vscode = { workspace: { getConfiguration: () => settings } };
const parts = { vscode, "vscode-languageclient/node": { LanguageClient } };
Module._load = (name, ...rest) => parts[name] ?? load(name, ...rest);
const extension = require(process.argv[1]);
extension.activate();
extension.deactivate();
console.log(JSON.stringify(told));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_client_starts_what_the_settings_say() -> None:
    words = ["node", "-e", STUBS, str(EDITORS / "vscode/extension.js")]
    (given, *rest) = json.loads(finished(words, check=True).stdout)
    assert given == ["nesl", "NESL", {"command": "nessie", "args": ["lsp", "--time-limit", "9"]},
                     {"documentSelector": [{"language": "nesl"}]}]
    assert rest == ["started", "stopped"]


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
def test_vim_colours_a_program(tmp_path: Path) -> None:
    program, told = tmp_path / "a.nesl", tmp_path / "told"
    program.write_text('% c => 1 %\nfunction g(v) : [int] -> int = let s = sum(v) in s + 12 - #"a" or t; .5e1;\n')
    words = ["c", "function", "int", "->", "let", "sum", "12", "\"a", "or", "t;", ".5"]
    ask = [f"call add(names, synIDattr(synID({line}, {column + 1}, 1), 'name'))" for line, column in [
        next((number, line.index(word)) for number, line in enumerate(program.read_text().splitlines(), 1)
             if word in line) for word in words]]
    written = f"call writefile(names + [&filetype, &shiftwidth], '{told}')"
    script = ["set nocompatible", f"set runtimepath^={EDITORS / 'vim'}", "filetype plugin on", "syntax on",
              f"edit {program}", "let names = []", *ask, written, "qa!"]
    (tmp_path / "script.vim").write_text("\n".join(script) + "\n")
    finished(["vim", "-N", "-u", "NONE", "-i", "NONE", "-es", "-S", str(tmp_path / "script.vim")])
    assert told.read_text().split() == ["neslComment", "neslDefine", "neslType", "neslOperator", "neslKeyword",
                                        "neslFunction", "neslNumber", "neslString", "neslOperator", "neslBoolean",
                                        "neslNumber", "nesl", "2"]
