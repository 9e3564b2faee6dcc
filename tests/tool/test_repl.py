"""The interactive loop: transcripts (tests/golden/repl/*.txt) and pipes.

A transcript has

    # what it shows
    $ nessie options
    --- name of a file that the session finds
    its text
    ---
    what the terminal shows: prompts, what is typed after them, what comes of it

Sessions run in an empty folder; times read 0.000 s. Add a transcript by writing its prompts and what is typed, and
running pytest --update-golden.
"""
from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from paths import ROOT
from processes import finished
from transcripts import replayed, sit_down

from nessie.base.source import LostOutput, NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.running.targets import Target
from nessie.session.commands import INSTEAD, NESL_COMMANDS
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import COMMAND_WORDS
from nessie.syntax.line_by_line import LineLexer
from nessie.syntax.parser import parse_forms
from nessie.tool.cli import main
from nessie.tool.prompt.repl import PROMPT, WELCOME, Repl
from nessie.tool.prompt.screen import Screen

TIME = re.compile(r"\d+\.\d{3} s,")
TRANSCRIPTS = sorted((ROOT / "tests" / "golden" / "repl").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    head, _, shown = path.read_text("utf-8").partition("\n---\n")
    told, *files = re.split(r"(?m)^--- ", head)
    monkeypatch.chdir(tmp_path)
    for name, _, text in (file.partition("\n") for file in files):
        Path(name).write_text(text, "utf-8")
    words = next(line for line in told.splitlines() if line.startswith("$ nessie")).removeprefix("$ nessie")
    actual = TIME.sub("0.000 s,", replayed(shlex.split(words), shown, monkeypatch))
    if update_golden:
        path.write_text(f"{head}\n---\n{actual}", "utf-8")
    else:
        assert actual == shown


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) >= 7


def test_every_command_of_nesl_does_something_or_says_what_does() -> None:
    assert {*(row.word for row in NESL_COMMANDS), *INSTEAD} == COMMAND_WORDS
    typed = [line for path in TRANSCRIPTS for line in path.read_text("utf-8").splitlines() if line.startswith(PROMPT)]
    forms = [form.split() for line in typed for form in line[len(PROMPT):].split(";")]
    assert {words[0] for words in forms if words} >= COMMAND_WORDS


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

    incoming = LineLexer("input", read, by_hand=True)
    assert incoming.form() is not None
    assert asked == [False] + [True] * (len(lines) - 1)


def test_forms_that_share_a_line_are_read_one_by_one() -> None:
    lines = iter(["1; 2; let a = 3;\n", "in a; 4;\n", "5\n", ""])
    incoming = LineLexer("input", lambda inside: next(lines), by_hand=False)
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
        incoming = LineLexer("input", lambda inside, lines=lines: next(lines), by_hand=False)  # type: ignore[misc]
        assert [described(form) for form in iter(incoming.form, None)] == \
            [described(form) for form in parse_forms(Source("input", text))], text


def described(form: syntax.TopLevel | NessieError) -> tuple[object, ...]:
    if isinstance(form, NessieError):
        return (str(form),)
    assert form.span is not None
    return form, form.span.line, form.span.column


def test_how_long_it_took_is_shown_where_the_value_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "show", lambda screen, text: sys.stdout.write(f"<{text}>"))
    shown = replayed(["--target", "reference"], "nesl> :time sum([1, 2])\n", monkeypatch)
    assert re.search(r"<it = 3 : int\n><\d+\.\d{3} s, compiling included; launches: 1, elements: 2\n>", shown)


@pytest.mark.parametrize("where", ["nessie.tool.prompt.repl.LineLexer.form", "nessie.session.session.Session.evaluate"])
@pytest.mark.parametrize(("failure", "told"), [
    (KeyError("lost"), "internal error: KeyError: 'lost'\nThis is a mistake in Nessie, not in your program."),
    (MemoryError(), "error: out of memory"), (NessieError("refused"), "error: refused")])
def test_what_goes_wrong_inside_keeps_the_session(where: str, failure: Exception, told: str,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, name = where.rpartition(".")
    before = getattr(LineLexer if "LineLexer" in owner else Session, name)
    monkeypatch.setattr(where, failing_once(before, failure))
    shown = replayed(["--target", "reference"], "nesl> 1;\nnesl> 2;\n", monkeypatch)
    assert told in shown and shown.count("error") == 1 and "it = 2 : int" in shown


def test_what_the_system_refuses_is_no_mistake_of_nessie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "compute", failing_once(Session.compute, OSError(28, "No space left on device")))
    shown = replayed(["--target", "reference"], "nesl> 1;\nnesl> 2;\n", monkeypatch)
    assert "error: No space left on device\n --> input:1:1" in shown and "mistake" not in shown
    assert "it = 2 : int" in shown


def failing_once(function: Callable[..., object], failure: BaseException) -> Callable[..., object]:
    failures = iter([failure])

    def failing(*given: object) -> object:
        for error in failures:
            raise error
        return function(*given)
    return failing


def test_who_has_no_editing_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie.tool.prompt.repl.find_spec", lambda name: None if name == "prompt_toolkit" else name)
    keyboard = sit_down([":quit\n"], monkeypatch)
    assert main(["--target", "reference"]) == 0
    assert keyboard.shown.getvalue().startswith(
        f"{WELCOME}\nFor editing, completion and colours, in a clone of Nessie: pip install '.[repl]'\n")


def test_output_that_is_lost_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(text: str) -> None:
        raise LostOutput("the output cannot be written")
    monkeypatch.setattr("nessie.tool.prompt.screen.say", write)
    keyboard = sit_down(["1;\n", "2;\n"], monkeypatch)
    assert main(["--target", "reference"]) == 1
    assert keyboard.shown.getvalue() == f"{WELCOME}\nnesl> 1;\nerror: the output cannot be written\n"


def test_ctrl_c_before_the_first_prompt_keeps_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the editor is made ready."""
    keyboard = sit_down(["1;\n"], monkeypatch)
    monkeypatch.setattr("nessie.tool.prompt.repl.line_reader",
                        failing_once(lambda *_: keyboard.read_line, KeyboardInterrupt()))
    assert main(["--target", "reference"]) == 0
    assert keyboard.shown.getvalue() == f"{WELCOME}\n\nInterrupted.\nnesl> 1;\nit = 1 : int\nnesl> \n"


def test_reset_forgets_warnings() -> None:
    """Those of forms that have run before Ctrl-C has ended one that was loaded with them."""
    at = Repl(lambda: Session(Target("reference")), by_hand=False)
    assert [str(found) for found in at.session.run(Source("input", "three = 3;"))] == ["three = 3 : int"]
    at.session.unseen.append(NessieError("a doubt"))
    run_deep(lambda: at.evaluate(syntax.Command(":reset", "")))
    assert at.session.warnings() == [] and at.session.environment.lookup("three") is None


# Pipes --------------------------------------------------------------------------------------------


def piped(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    return finished([sys.executable, "-m", "nessie", "--target", "reference", *words], input=text,
                    env={**os.environ, "PYTHONPATH": str(ROOT)})


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
    ran = finished([sys.executable, "-m", "nessie"], input=b"1 + \xff;\n2;",
                   env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}, text=False)
    assert (ran.stdout, ran.returncode) == (b"it = 2 : int\n", 1) and b"input:1:5" in ran.stderr


def test_the_first_prompt_waits_for_no_heavy_package() -> None:
    heavy = ("numpy.random", "networkx", "pulp", "ply", "llvmlite", "highspy", "scipy", "prompt_toolkit",
             "pygments")
    code = ("import sys, nessie.tool.cli; nessie.tool.cli.main([]); "
            f"print([name for name in {heavy!r} if name in sys.modules])")
    ran = finished([sys.executable, "-c", code], input="exit;", env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ran.stdout == "[]\n"
