"""The interactive loop: transcripts (tests/golden/repl/*.txt), terminals, pipes.

A transcript has

    # what it shows
    $ nessie options
    --- name of a file that the session finds
    its text
    ---
    what the terminal shows: prompts, what is typed after them, what comes of it

Sessions run in an empty folder. Add a transcript by writing its prompts and what is typed, and running
pytest --update-golden.
"""
from __future__ import annotations

import io
import os
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from transcripts import replayed

from nessie.base.source import NessieError, Source
from nessie.cli import main
from nessie.commands import INSTEAD, NESL_COMMANDS
from nessie.frontend import syntax
from nessie.frontend.incoming import Incoming
from nessie.frontend.lexer import COMMAND_WORDS
from nessie.frontend.parser import parse_forms
from nessie.repl import CONTINUED, PROMPT, WELCOME
from nessie.session import Session

ROOT = Path(__file__).parent.parent
TRANSCRIPTS = sorted((ROOT / "tests" / "golden" / "repl").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    head, _, shown = path.read_text("utf-8").partition("\n---\n")
    told, *files = re.split(r"(?m)^--- ", head)
    monkeypatch.chdir(tmp_path)
    for name, _, text in (file.partition("\n") for file in files):
        Path(name).write_text(text, "utf-8")
    words = next(line for line in told.splitlines() if line.startswith("$ nessie")).removeprefix("$ nessie")
    actual = replayed(shlex.split(words), shown, monkeypatch)
    if update_golden:
        path.write_text(f"{head}\n---\n{actual}", "utf-8")
    else:
        assert actual == shown


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) >= 7


def test_every_command_of_nesl_does_something_or_says_what_does() -> None:
    assert {*(row.word for row in NESL_COMMANDS), *INSTEAD} == COMMAND_WORDS
    typed = [line for path in TRANSCRIPTS for line in path.read_text("utf-8").splitlines() if line.startswith(PROMPT)]
    assert {form.split()[0] for line in typed for form in line[len(PROMPT):].split(";") if form.split()} >= COMMAND_WORDS


# Where a form ends --------------------------------------------------------------------------------


ENDS = ["1;", "[`;];", "[`\n];", '"a;\n$ \\" b";', "% ; % 1 % \n;\n % $", "let a = 1; b = 2;\n in a;",
        "{x : x in [1];\n y in [2]};", "datatype d(a)\n :: a in any $", "datatype d(a) :: (a in any; b\n in any);",
        'load "a;\nb" % ; % ;', "describe\n sum;", "function g(x) : a -> a :: (a in any;\n b in any) = x;",
        "(1,\n[2;", "1 +;", "#[1,\n\n\n2];", "help$"]


@pytest.mark.parametrize("form", ENDS)
def test_a_form_is_read_to_its_end_and_no_further(form: str) -> None:
    """The lines asked for are those of the form."""
    lines = f"{form}\n".splitlines(keepends=True)
    asked: list[bool] = []

    def read(inside: bool) -> str:
        asked.append(inside)
        return lines[len(asked) - 1]

    incoming = Incoming("input", read, by_hand=True)
    assert incoming.form() is not None
    assert asked == [False] + [True] * (len(lines) - 1)


def test_forms_that_share_a_line_are_read_one_by_one() -> None:
    lines = iter(["1; 2; let a = 3;\n", "in a; 4;\n", "5\n", ""])
    incoming = Incoming("input", lambda inside: next(lines), by_hand=False)
    spans = [form.span for form in iter(incoming.form, None) if not isinstance(form, Exception)]
    assert [(span.line, span.column) for span in spans if span] == [(1, 1), (1, 4), (1, 7), (2, 7)]


def broken(random: Random) -> str:
    """A program of which some tokens are dropped, doubled or replaced by others."""
    tokens = re.findall(r"\s+|\w+|`.|.", random.choice(PROGRAMS))
    for _ in range(random.randrange(4)):
        at = random.randrange(len(tokens))
        tokens[at:at + 1] = random.choice([[], [tokens[at]] * 2, [random.choice(ODD)], [random.choice(tokens)]])
    return "".join(tokens)


PROGRAMS = [path.read_text("utf-8") for path in sorted((ROOT / "nesl_examples").glob("*.nesl"))]
ODD = [";", "$", "%", '"', "`", "(", ")", "[", "}", "in", "let", "function", "datatype", "::", "=", "1", "2x", "\n",
       "load"]


def test_text_that_arrives_line_by_line_has_the_forms_and_errors_that_it_has_as_a_file() -> None:
    for seed in range(300):
        text = broken(Random(seed))
        lines = iter([*text.splitlines(keepends=True), "", ""])
        incoming = Incoming("input", lambda inside, lines=lines: next(lines), by_hand=False)  # type: ignore[misc]
        assert [told(form) for form in iter(incoming.form, None)] == \
            [told(form) for form in parse_forms(Source("input", text))], text


def told(form: syntax.TopLevel | NessieError) -> tuple[object, ...]:
    if isinstance(form, NessieError):
        return (str(form),)
    assert form.span is not None
    return form, form.span.line, form.span.column


def test_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = replayed(["--target", "reference"], "nesl> :time sum([1, 2])\n", monkeypatch)
    assert re.search(r"it = 3 : int\n\d+\.\d{3} s, compiling included; launches: 1, elements: 2\n", shown)


@pytest.mark.parametrize("where", ["nessie.repl.Incoming.form", "nessie.session.Session.evaluate"])
@pytest.mark.parametrize(("failure", "told"), [
    (KeyError("lost"), "internal error: KeyError: 'lost'\nThis is a mistake in Nessie, not in your program."),
    (MemoryError(), "error: out of memory")])
def test_what_goes_wrong_inside_keeps_the_session(where: str, failure: Exception, told: str,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, name = where.rpartition(".")
    failures = iter([failure])
    before = getattr(Incoming if "Incoming" in owner else Session, name)

    def failing(*given: object) -> object:
        for error in failures:
            raise error
        return before(*given)

    monkeypatch.setattr(where, failing)
    shown = replayed(["--target", "reference"], "nesl> 1;\nnesl> 2;\n", monkeypatch)
    assert told in shown and shown.count("error") == 1 and "it = 2 : int" in shown


# Pipes --------------------------------------------------------------------------------------------


def piped(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "nessie", "--target", "reference", *words], input=text, text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_piped_input_has_no_prompts_and_true_line_numbers() -> None:
    ran = piped("x = 1;\n\nfunction half(a) =\n  a / 0; half(x); x + \n t;\n7;")
    assert ran.stdout == "x = 1 : int\nhalf = fn : int -> int\nit = 7 : int\n"
    assert re.findall(r"input:\d+:\d+", ran.stderr) == ["input:4:3", "input:4:10", "input:4:19", "input:5:2"]
    assert ran.returncode == 1


@pytest.mark.parametrize(("text", "printed", "status"), [
    ("", "", 0), ("exit;", "", 0), ("1; exit; 2;", "it = 1 : int\n", 0), ("quit; 2;", "", 0), ("% only %\n", "", 0),
    ("quit = 1; quit;", "quit = 1 : int\nit = 1 : int\n", 0), ("1 + t; exit;", "", 1), ("1; 2", "it = 1 : int\n", 1),
    ("function quit(x) = x; quit(2);", "quit = fn : a -> a :: (a in any)\nit = 2 : int\n", 0)])
def test_piped_input_ends(text: str, printed: str, status: int, monkeypatch: pytest.MonkeyPatch,
                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["--target", "reference"]) == status
    assert capsys.readouterr().out == printed


def test_options_hold_for_piped_input(tmp_path: Path) -> None:
    assert piped('shell "echo hi";', "--allow-shell").stdout == "hi\n"
    assert "memory" in piped("v = [0:1000000];", "--memory", "1000").stderr
    assert piped("1;", "--dump", str(tmp_path / "dump")).returncode == 0
    assert (tmp_path / "dump" / "01").is_dir()


def test_input_that_is_no_text_is_an_error_with_a_place() -> None:
    ran = subprocess.run([sys.executable, "-m", "nessie"], input=b"1 + \xff;\n2;", capture_output=True,
                         env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"})
    assert (ran.stdout, ran.returncode) == (b"it = 2 : int\n", 1) and b"input:1:5" in ran.stderr


def test_the_first_prompt_waits_for_no_heavy_package() -> None:
    heavy = ("numpy.random", "networkx", "pulp", "ply", "llvmlite", "highspy", "scipy", "prompt_toolkit",
             "pygments")
    code = f"import sys, nessie.cli; nessie.cli.main([]); print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], input="exit;", capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ran.stdout == "[]\n"


# Terminals ----------------------------------------------------------------------------------------


class Terminal:
    """A process at a pseudo-terminal; `shown` is all that it has written."""

    def __init__(self, process: int, descriptor: int) -> None:
        self.process, self.descriptor, self.shown = process, descriptor, ""

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """What it writes up to this text."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self.descriptor], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} does not come; shown: {self.shown!r}"
            self.shown += os.read(self.descriptor, 4096).decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    def interrupt(self) -> str:
        """What Ctrl-C makes it write up to the next prompt. Between showing a prompt and reading what is typed, Python
        hears it only at the next key."""
        for before in ("", *" " * 9):
            self.type(before + "\x03")
            try:
                return self.wait_for(PROMPT, 5)
            except AssertionError:
                continue
        raise AssertionError(f"Ctrl-C does nothing; shown: {self.shown!r}")

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    pty = pytest.importorskip("pty")
    process, descriptor = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "-m", "nessie", *words], {**os.environ, "TERM": "dumb"})
    try:
        yield Terminal(process, descriptor)
    finally:
        os.close(descriptor)            # the process gets a hangup, if it is there still


def test_prompts_and_leaving() -> None:
    with terminal("--target", "reference") as at:
        assert WELCOME in at.wait_for(PROMPT)
        at.type("let a = 1;\n")
        at.wait_for(CONTINUED)
        at.type("in a + 1; 5;\n")
        assert "it = 2 : int\r\nit = 5 : int" in at.wait_for(PROMPT)
        at.type("1/0; 6;\n")
        told = at.wait_for(PROMPT)
        assert "Divide by zero" in told and "--> input:1:1" in told and "it = 6 : int" in told
        at.type("\x04")
        assert at.status() == 0


def test_ctrl_c_while_typing_drops_the_form() -> None:
    with terminal("--target", "reference") as at:
        at.wait_for(PROMPT)
        at.type("x = 5; let a = 1;\n")
        at.wait_for(CONTINUED)
        at.type("b = ")
        at.wait_for("b = ")             # a Ctrl-C before that would drop it on the way, and readline would wait for it
        assert "Interrupted." in at.interrupt()
        at.type("x + 1;\n")
        assert "it = 6 : int" in at.wait_for(PROMPT)
        at.type("(1,\n")
        at.wait_for(CONTINUED)
        at.type("\x04")                 # ends the text, not the session
        assert "this bracket is not closed" in at.wait_for(PROMPT)
        at.type("exit;\n")
        assert at.status() == 0


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_ctrl_c_while_running_keeps_the_session(target: str) -> None:
    with terminal("--target", target) as at:
        at.wait_for(PROMPT)
        at.type("function g(n) : int -> int = if sum([0:n]) < 0 then n else g(n); x = 7;\n")
        at.wait_for("x = 7 : int")
        at.wait_for(PROMPT)
        at.type('let _ = print_string("running") in g(10000); 1;\n')
        at.wait_for('"running"')        # as typed
        at.wait_for("running")
        told = at.interrupt()
        assert "Interrupted." in told and "it = 1" not in told
        at.type("x; quit;\n")
        assert "it = 7 : int" in at.wait_for("7 : int") + "7 : int"
        assert at.status() == 0
