"""What the user is told when something is wrong: tests/golden/errors/*.txt, word for word.

A file has several cases, each of them

    # what it shows
    $ nessie words of a command line
    --- name of a file that the command finds
    its text
    ==>
    what it prints: standard output, then standard error, then [status] unless that is 0

Commands run in an empty folder; a limit of their time is one of the processor's, however busy the machine is.
Add a case by writing all above `==>` and running pytest --update-golden.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from paths import GOLDEN_FILES, ROOT
from processes import ended, finished

from nessie.base.system import deadline
from nessie.base.system.deep import wait_for_left
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.library.library import library
from nessie.syntax.errors.other_languages import NAMES, SIGNS
from nessie.syntax.lexer import OPERATORS
from nessie.tool.cli import main
from nessie.tool.commands import evaluate

ERRORS = GOLDEN_FILES / "errors"


@dataclass(frozen=True)
class Case:
    path: Path
    number: int
    command: str
    files: dict[str, str]
    given: str              # all above ==>
    expected: str


def cases_of(path: Path) -> list[Case]:
    texts = re.split(r"(?m)^(?=# )", path.read_text("utf-8"))[1:]
    return [case(path, number, text) for number, text in enumerate(texts)]


def case(path: Path, number: int, text: str) -> Case:
    given, _, expected = text.partition("==>\n")
    head, *files = re.split(r"(?m)^--- ", given)
    command = next(line.removeprefix("$ nessie ") for line in head.splitlines() if line.startswith("$ nessie "))
    named = {name: content for name, _, content in (file.partition("\n") for file in files)}
    return Case(path, number, command, named, given, expected.rstrip("\n") + "\n")


CASES = [case for path in sorted(ERRORS.glob("*.txt")) for case in cases_of(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}-{case.number}")
def test_message(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                 update_golden: bool) -> None:
    monkeypatch.chdir(tmp_path)
    if "--time-limit" in case.command:
        monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=time.process_time))
    for name, content in case.files.items():
        Path(name).write_text(content, "utf-8")
    status = main(shlex.split(case.command))
    out, err = capsys.readouterr()
    actual = out + err + (f"[{status}]\n" if status else "")
    if update_golden:
        found = [replace(c, expected=actual) if c.number == case.number else c for c in cases_of(case.path)]
        case.path.write_text("\n".join(f"{c.given}==>\n{c.expected}" for c in found), "utf-8")
    else:
        assert actual == case.expected
        assert "Traceback" not in actual and "internal error" not in actual


def test_there_are_cases() -> None:
    assert len(CASES) >= 50 and all(case.expected.endswith("]\n") for case in CASES if "error:" in case.expected)


def test_what_stands_elsewhere_is_nothing_here() -> None:
    """No hint tells a name that NESL has to be another language's, and no sign that it has save for one."""
    assert not set(NAMES) & set(library().names())
    assert {sign for sign in SIGNS if sign in OPERATORS} == {"||", "++"}


# JSON lines ---------------------------------------------------------------------------------------


def test_json_lines_are_answered_one_by_one(monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["no JSON", '{"id": 1}', "", '{"id": 2, "source": "let a = 1 in\\n a + b;"}', '{"id": 3, "source": 4}',
             '{"id": 5, "source": "{1/a :\\n a in [1, 0]};"}', '{"id": 6, "source": "1 +"}', '[7]',
             '{"id": 8, "source": ""}', '{"id": 9, "source": "1 + 1;"}']
    monkeypatch.setattr("sys.stdin", lines)
    assert main(["eval", "--jsonl"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    wrong = 'a line of input is {"id": ..., "source": "..."}, in JSON'
    told = [(a["id"], a["error"]["message"], a["error"]["line"], a["error"]["column"]) for a in answers if "error" in a]
    assert told == [(None, wrong, None, None), (1, wrong, None, None), (2, "b is not defined", 2, 6),
                    (3, wrong, None, None), (5, "Divide by zero.", 1, 2),
                    (6, "syntax error: found the end of the text", 1, 4), (None, wrong, None, None),
                    (8, "there is nothing to evaluate", 1, 1)]
    assert (answers[-1]["id"], answers[-1]["value"], len(answers)) == (9, "2", 9)


def test_a_line_that_cannot_be_ended_is_answered(monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    """As while it waits for another program: it is left to itself, and the next line has its turn."""
    answer, further = evaluate.answer, threading.Event()

    def stuck(options: argparse.Namespace, text: str) -> dict[str, Any]:
        return {"late": further.wait(120)} if text == "stuck" else answer(options, text)

    monkeypatch.setattr(evaluate, "answer", stuck)
    monkeypatch.setattr("sys.stdin", ['{"id": 1, "source": "stuck"}', '{"id": 2, "source": "1 + 1;"}'])
    assert main(["eval", "--jsonl", "--time-limit", "3"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    further.set()
    wait_for_left()
    assert first == {"id": 1, "error": {"message": "it took longer than 3 s", "line": None, "column": None}}
    assert (second["id"], second["value"]) == (2, "2")


def test_no_json_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", [])
    assert main(["eval", "--jsonl"]) == 0
    assert capsys.readouterr().out == ""


# Processes ----------------------------------------------------------------------------------------


@contextmanager
def nessie(words: list[str], folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that hears Ctrl-C, which processes in the background do not, and that is gone after the test."""
    with subprocess.Popen([sys.executable, "-m", "nessie", *words], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                          preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL)) as process:
        try:
            yield process
        finally:
            process.kill()


LOOPS = {"scalar": "function g(n) : int -> int = if n /= 1 then g(n + 2) else n;\n"
                   "let _ = print_string(\"running\n\") in g(0);\n1;\n",
         "host": "function g(v) : [int] -> [int] = if #v == 0 then v else g({x + sum(v) : x in v});\n"
                 "let _ = print_string(\"running\n\") in g([1]);\n1;\n"}


ON_CUDASIM = pytest.param("scalar", "cudasim", marks=pytest.mark.skipif(not found(), reason="no C++ compiler"))


@pytest.mark.parametrize("loop, target", [*product(LOOPS, ("cpu", "reference")), ON_CUDASIM])
def test_ctrl_c_ends_a_run(loop: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "loop.nesl").write_text(LOOPS[loop])
    with nessie(["run", "loop.nesl", "--target", target, "--depth", "100000000"], tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("g = fn")
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        status, out, err = ended(process)
    assert (status, out, err.splitlines()[0]) == (-signal.SIGINT, "", "Interrupted.")
    assert "Traceback" not in err


@pytest.mark.parametrize("loop, target", [("scalar", "cpu"), ("host", "reference")])
def test_the_time_is_up_in_a_form(loop: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "loop.nesl").write_text(LOOPS[loop])
    words = ["run", "loop.nesl", "--target", target, "--depth", "100000000", "--time-limit", "3"]
    with nessie(words, tmp_path) as process:
        status, out, err = ended(process)
    assert out.splitlines()[1:] == ["running", "it = 1 : int"] and status == 1
    assert re.match(r"error: it took longer than 3 s\n +--> loop.nesl:[123]:", err) and "Traceback" not in err


def test_no_standard_output(tmp_path: Path) -> None:
    for redirected, told in ((">&-", "Bad file descriptor"), ("> /dev/full", "No space left on device")):
        command = f"{sys.executable} -m nessie eval 1+1 --target reference {redirected}"
        run = finished(command, shell=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert (run.stdout, run.stderr, run.returncode) == ("", f"error: the output cannot be written: {told}\n", 1)


def evaluated(folder: Path, **environment: str) -> tuple[str, str, int]:
    with nessie(["eval", "sum({x + 1 : x in [1, 2]})"], folder, **environment) as process:
        status, out, err = ended(process)
    return out, err, status


def test_a_cache_that_cannot_be_used_is_only_slower(tmp_path: Path) -> None:
    right = ("it = 5 : int\n", "", 0)
    assert evaluated(tmp_path, XDG_CACHE_HOME=str(tmp_path)) == right
    kept = [path for path in (tmp_path / "nessie").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:-7] + b"damaged")
    assert evaluated(tmp_path, XDG_CACHE_HOME=str(tmp_path)) == right
    (tmp_path / "nessie").chmod(0o777)
    out, err, status = evaluated(tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert (out, status) == ("it = 5 : int\n", 0) and "others may write to" in err and err.count("\n") == 1
    (tmp_path / "file").write_text("")
    out, err, status = evaluated(tmp_path, XDG_CACHE_HOME=str(tmp_path / "file"))
    assert (out, status) == ("it = 5 : int\n", 0) and err.startswith("warning: compiled code is not kept")


def test_a_dump_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["eval", "1 + 1", "--dump", "file/dump"]) == 1
    assert capsys.readouterr().err.startswith("error: cannot write file/dump/")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may read everything")
def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.json").write_text("[1]")
    (tmp_path / "v.json").chmod(stat.S_IWUSR)
    assert main(["eval", "1", "-f", "v.json"]) == 1
    assert capsys.readouterr().err == "error: cannot read v.json: Permission denied\n"
