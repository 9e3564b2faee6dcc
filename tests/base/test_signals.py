"""Signals end the command at once, whatever it waits for, and in the way that its caller expects."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

TEXTS_OF_PYTHON = ("Traceback", "KeyboardInterrupt", "Exception ignored", "Fatal Python")
PATIENT = 120                   # seconds for what takes a fifth of one where nothing else runs
ENDLESS = ["run", "loops.nesl", "--depth", "1000000000"]

FILES = {
    "same.nesl": "function same(x) = x;\n",
    "reads.nesl": 'read_string_from_file("pipe");\n',
    "writes.nesl": 'write_string_to_file("ab", "pipe");\n',
    "waits.nesl": 'shell_command("exec sleep 60", "");\n',
    "prints.nesl": 'function p(n) : int -> int = if n == 0 then 0 else let _ = print_string("ab") in p(n - 1);\n'
                   'p(10^9);\n',
    "loops.nesl": "function loop(n) = if n /= 1 then loop(n + 2) else n;\nloop(0);\n",
}
WAITING = {
    "lines": ["eval", "--jsonl"], "forms": [], "a program": ["run", "/dev/stdin"],
    "an argument": ["run", "same.nesl", "-e", "same", "@-"],
    "a pipe as argument": ["run", "same.nesl", "-e", "same", "@pipe.json"], "a pipe as program": ["run", "pipe"],
    "a pipe to read": ["run", "reads.nesl"], "a pipe to write": ["run", "writes.nesl"],
    "a command": ["run", "waits.nesl", "--allow-shell"], "who reads its output": ["run", "prints.nesl"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("pipe", "pipe.json"):
        os.mkfifo(tmp_path / name)
    return tmp_path


@contextmanager
def started(words: list[str], folder: Path, ignored: bool = False,
            python: Sequence[str] = ("-m", "nessie")) -> Iterator[subprocess.Popen[str]]:
    """The command, with a standard input and output that nobody writes and reads. `ignored`: signals, as by nohup."""
    def handle() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)

    with subprocess.Popen([sys.executable, *python, *words], cwd=folder, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=handle,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder)}) as process:
        try:
            yield process
        finally:
            process.kill()


def begun(process: subprocess.Popen[str]) -> None:
    """Its work has begun: it hears of SIGTERM, as Python does by itself of SIGINT. After a moment it waits, or not yet,
    which makes no difference to what it says."""
    status, end = Path(f"/proc/{process.pid}/status"), time.monotonic() + PATIENT
    while status.exists() and process.poll() is None and time.monotonic() < end:
        caught = dict(line.split(":", 1) for line in status.read_text().splitlines())["SigCgt"]
        if int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.02)
    time.sleep(1)


def defined(process: subprocess.Popen[str]) -> None:
    """The first form of the program has been run."""
    assert process.stdout is not None and process.stdout.readline().startswith("loop = fn")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The status, and what it said to standard error."""
    status = process.wait(PATIENT)
    assert process.stderr is not None
    said = process.stderr.read()
    assert not any(text in said for text in TEXTS_OF_PYTHON), said
    return status, said


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("what", WAITING)
def test_one_ctrl_c_ends_who_waits(what: str, folder: Path) -> None:
    with started(WAITING[what], folder) as process:
        begun(process)
        process.send_signal(signal.SIGINT)
        status, said = ended(process)
    assert (status, said.splitlines()[:1]) == (-signal.SIGINT, ["Interrupted."])


def test_a_command_ends_with_who_waits_for_it(folder: Path) -> None:
    (folder / "waits.nesl").write_text('shell_command("echo $$ > pid; exec sleep 600", "");\n')
    with started(["run", "waits.nesl", "--allow-shell"], folder) as process:
        at_work = eventually(lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENT) == -signal.SIGINT
        assert eventually(lambda: not Path(f"/proc/{at_work}").exists())


def eventually(found: Callable[[], Any]) -> Any:
    """What is found in the end."""
    end = time.monotonic() + PATIENT
    while not found() and time.monotonic() < end:
        time.sleep(0.02)
    return found()


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_dies_of_what_ends_it(number: signal.Signals, folder: Path) -> None:
    for words in (ENDLESS, ["eval", "--jsonl"], []):
        with started(words, folder) as process:
            begun(process)
            if words is ENDLESS:
                defined(process)
            process.send_signal(number)
            assert ended(process) == (-number, "")


def test_nobody_reads_the_output(folder: Path) -> None:
    with started(["run", "prints.nesl"], folder) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert ended(process) == (-signal.SIGPIPE, "")


def test_what_is_ignored_stays_so(folder: Path) -> None:
    with started([*ENDLESS, "--time-limit", "4"], folder, ignored=True) as process:
        defined(process)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        status, said = ended(process)
    assert status == 1 and said.startswith("error: it took longer than 4 s")


# A Ctrl-C while a module is looked for, of those that are imported one after another.
STARTING = """
import os, signal, sys
class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressing())
sys.argv = ["nessie", "run", "loops.nesl"]
from nessie.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["nessie.tool.cli", "argparse", "nessie.running.world", "numpy",
                                    "nessie.session.session",
                                    "nessie.syntax.parser", "nessie.cudagen.host.host", "llvmlite"])
def test_python_says_nothing_while_modules_are_imported(module: str, folder: Path) -> None:
    with started([], folder, python=["-c", STARTING.format(module=module)]) as process:
        assert ended(process)[0] == -signal.SIGINT


def test_a_pipe_is_opened_when_somebody_has_its_other_end(folder: Path) -> None:
    with started(["run", "writes.nesl"], folder) as process:
        time.sleep(0.5)
        assert (folder / "pipe").read_text() == "ab"
        assert ended(process) == (0, "")
    with started(["run", "reads.nesl"], folder) as process:
        time.sleep(0.5)
        (folder / "pipe").write_text("ab")
        assert ended(process) == (0, "")


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("words", [["run", "pipe"], ["run", "same.nesl", "-e", "same", "@pipe.json"],
                                   ["check", "pipe"], ["run", "reads.nesl"]])
def test_opening_takes_time_that_is_limited(words: list[str], folder: Path) -> None:
    with started([*words, "--time-limit", "1"], folder) as process:
        status, said = ended(process)
    assert status == 1 and said.startswith("error: it took longer than 1 s\n")
    assert said.endswith("hint: --time-limit sets the limit\n")


COMPILING = "".join(f"function f{i}(v, w) = {{x * {i}.5 + y - sqrt(x * y) : x in v; y in w | x > {i}.0}};\n"
                    for i in range(250))
MANY = f"function main(v, w) = ({', '.join(f'sum(f{i}(v, w))' for i in range(250))});\n"


@pytest.mark.parametrize("last", [["compile", "--emit", "llvm"], ["explain"]])
def test_compiling_takes_time_that_is_limited(last: list[str], folder: Path) -> None:
    (folder / "many.nesl").write_text(COMPILING + MANY)
    words = [last[0], "many.nesl", "-e", "main", "-t", "([float], [float])", *last[1:], "--time-limit", "0.5"]
    with started(words, folder) as process:
        assert ended(process) == (1, "error: it took longer than 0.5 s\nhint: --time-limit sets the limit\n")
