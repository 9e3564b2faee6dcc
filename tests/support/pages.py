"""The documentation's code, followed from a page's top to its end in a folder of its own, beside nesl_examples.

    ```nesl       a file, if `NAME.nesl`: stands before it; else a program, whose lines `=> ...` are what it shows
    ```repl       what a terminal shows, where the lines after the prompt are typed
    ```console    `$ COMMAND`, and below what it prints; several of them; a line `…` for some lines
    ```sh         commands, one a line; a ```text that follows is what they print
    ```python     statements, all of a page with the same names; `e    # v` of an expression with the value v; a ```text
                  that follows is what they print
    ```ipython    a notebook's cell; the same
    ```diff       title="FILE": a change of Nessie's own sources, of which the page then has a copy as its folder
    title="NAME"  of any other block: a file

A comment on the line before says what holds of the next block: `<!-- not run: REASON -->`, or
`<!-- needs a C++ compiler -->` (WHERE). Outputs are written anew by --update-golden.
"""
from __future__ import annotations

import ast
import contextlib
import io
import linecache
import os
import re
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from processes import finished
from transcripts import replayed

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.nvidia import nvrtc
from nessie.running.targets import Target
from nessie.running.world import World
from nessie.session.session import Session
from nessie.tool.cli import main

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w.]+)`:\s*\Z")
MARK = re.compile(r"<!-- (not run: (?P<reason>[^\n]+?)|needs (?P<needed>[^\n]+?)) -->\n\Z")
VALUE = re.compile(r"^(\S.*?)\s+# ((?:array\(|<|['\"\d(\[{-]).*)$")
SHELL = re.compile(r"[|<>&;]|\$\(")
TITLE = re.compile(r'title="(.*)"')
KINDS = ("nesl", "repl", "console", "sh", "python", "ipython", "diff")
SOURCES = ("nessie", "lambda_cu", "flatten", "schedule", "cudagen", "docs", "nesl_examples")
ANY = "…"


WHERE: dict[str, Callable[[], bool]] = {
    "a C++ compiler": lambda: compiler.found() is not None,
    "NVRTC": lambda: nvrtc.library_path() is not None,
}


@dataclass(frozen=True)
class Block:
    """`file`: what the page calls it, if it is one. `output`: of the text block that follows at once, if there is one:
    where it is in the page."""
    language: str
    text: str
    start: int
    end: int
    file: str = ""
    reason: str = ""
    needed: str = ""
    output: tuple[int, int] | None = None


def blocks(page: str) -> list[Block]:
    found = list(BLOCK.finditer(page))
    made = []
    for block, following in zip_longest(found, found[1:]):
        before = page[:block.start()]
        mark, named = MARK.search(before), NAMED.search(before)
        output = None
        if following is not None and following[1] == "text" and not page[block.end():following.start()].strip():
            output = following.span(3)
        titled = TITLE.search(block[2])
        file = titled[1] if titled else named[1] if named else ""
        made.append(Block(block[1], block[3], *block.span(3), file,
                          (mark["reason"] or "") if mark else "", (mark["needed"] or "") if mark else "", output))
    return made


def is_excerpt(expected: str, found: str) -> bool:
    """Whether what is expected has lines `…`, each of which stands for some lines of what is found."""
    parts = re.split(rf"^{ANY}\n", expected, flags=re.MULTILINE)
    return len(parts) > 1 and re.fullmatch(r"(?:.*\n)+".join(map(re.escape, parts)), found) is not None


@dataclass
class Reader:
    """Follows a page in a folder. `edits`: what stands in the page elsewise, and where."""
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    shell: Any = None
    changes: bool = False       # the sources

    def follow(self, page: str) -> str:
        """The page as it ought to be."""
        found = blocks(page)
        self.changes = any(block.language == "diff" for block in found)
        if self.changes:
            copy_sources(self.folder)
        for block in found:
            if block.reason or (block.needed and not WHERE[block.needed]()):
                continue
            if block.file and block.language != "diff":
                (self.folder / block.file).write_text(block.text, "utf-8")
            elif block.language in KINDS:
                getattr(self, block.language)(block, page)
        for start, end, text in reversed(self.edits):
            page = page[:start] + text + page[end:]
        return page

    def edit(self, span: tuple[int, int], page: str, text: str) -> None:
        if page[slice(*span)] != text:
            self.edits.append((*span, text))

    def shown(self, block: Block, page: str, text: str) -> None:
        """What the block prints is what stands below it, if anything does."""
        if block.output is not None and page[slice(*block.output)].strip() != ANY:
            self.edit(block.output, page, text.rstrip("\n") + "\n")

    # The languages ------------------------------------------------------------------------------

    def nesl(self, block: Block, page: str) -> None:
        lines = block.text.splitlines()
        told = evaluated("\n".join(line for line in lines if not line.startswith("=> ")))
        found = [line for line in told.splitlines() if line]
        if found != [line.removeprefix("=> ") for line in lines if line.startswith("=> ")]:
            program = [line for line in lines if not line.startswith("=> ")]
            shows = any(line.startswith("=> ") for line in lines) or any(line.startswith("error") for line in found)
            if shows:
                self.edit((block.start, block.end), page, "\n".join([*program, *[f"=> {t}" for t in found]]) + "\n")

    def repl(self, block: Block, page: str) -> None:
        with self.monkeypatch.context() as context:
            found = replayed([], block.text, context).removesuffix("nesl> \n")
        self.edit((block.start, block.end), page, found)

    def console(self, block: Block, page: str) -> None:
        made = []
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            found, status = self.printed(command)
            failed = status != 0 and found != expected and "error: " not in found
            assert not failed and (status == 0 or expected.strip() != ANY), f"{command}\n{found}"
            if is_excerpt(expected, found):
                found = expected
            made.append(f"$ {command}\n{found}")
        self.edit((block.start, block.end), page, "".join(made))

    def sh(self, block: Block, page: str) -> None:
        told = ""
        for command in block.text.replace("\\\n", " ").splitlines():
            found, status = self.printed(command)
            assert status == 0 or (block.output and "error: " in found), f"{command}\n{found}"
            told += found
        self.shown(block, page, told)

    def python(self, block: Block, page: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as told:
            name = f"page-{block.start}"            # its lines are known, as those of a notebook's cells
            linecache.cache[name] = len(block.text), None, block.text.splitlines(True), name
            exec(compile(block.text, name, "exec"), self.names)
            for line in block.text.splitlines():
                value = VALUE.match(line)
                if value and is_expression(value[1]):
                    found = repr(eval(value[1], self.names))
                    assert found == value[2], f"{line}\nit is {found}"
        self.shown(block, page, told.getvalue())

    def ipython(self, block: Block, page: str) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        self.shell = self.shell or InteractiveShell()
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.shell.run_cell(block.text).raise_error()
        self.shown(block, page, re.sub(r"^Out\[\d+\]: ", "", told.getvalue()))


    def diff(self, block: Block, page: str) -> None:
        """The lines before and after the change are told by what they begin with."""
        path, lines = self.folder / block.file, block.text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -\n")
        after = "".join(line[1:] for line in lines if line[0] in " +\n")
        text = path.read_text("utf-8")
        assert text.count(before) == 1, f"{block.file} has not once\n{before}"
        path.write_text(text.replace(before, after), "utf-8")

    def printed(self, command: str) -> tuple[str, int]:
        """What the command prints, and its status. What needs a shell, or changed sources, gets one."""
        words = shlex.split(command, comments=True)
        if self.changes or SHELL.search(re.sub(r"'[^']*'", "", command)) or words[:1] != ["nessie"]:
            return by_shell(command, self.folder if self.changes else ROOT)
        return by_main(words[1:])


def copy_sources(folder: Path) -> None:
    for name in SOURCES:
        (folder / name).unlink(missing_ok=True)         # a link to it
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", folder)             # by which a checkout is known


def evaluated(program: str) -> str:
    """What a program's forms show, of a wrong one its message."""
    told: list[str] = []
    session = Session(Target("reference", world=World(told.append)))

    def run() -> None:
        for outcome in session.run(Source("page", program)):
            told.append(f"error: {outcome.message}\n" if isinstance(outcome, NessieError) else f"{outcome}\n")
    run_deep(run)
    return "".join(told)


def by_main(words: list[str]) -> tuple[str, int]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        stdin, sys.stdin = sys.stdin, io.StringIO()
        try:
            status = main(words)
        except BaseException:
            status = 1
            out.write(traceback.format_exc())
        finally:
            sys.stdin = stdin
    return out.getvalue(), status


def by_shell(command: str, sources: Path) -> tuple[str, int]:
    """As a user's shell runs it, where `nessie` is of these sources and `python` this Python."""
    programs = Path.cwd() / ".bin"
    if not programs.exists():
        programs.mkdir()
        for name, words in (("nessie", "-m nessie"), ("python", "")):
            (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
            (programs / name).chmod(0o755)
    paths = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(sources)}
    done = finished([shutil.which("bash") or "sh", "-c", command], env={**os.environ, **paths},
                    stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr, done.returncode


def is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True
