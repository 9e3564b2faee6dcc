"""Processes that are forked off while other threads call Nessie: none of them waits for what it will never get."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

PROGRAM = """
function twice(v) = {2 * x : x in v};
function total(xss) = {sum(xs) : xs in xss};
function large(v) = sum({x * x + 1.0 : x in v | x > 0.0});
function hello(name) = let _ = print_string("") in name ++ "!";
function inverse(v) = {1 / x : x in v};
function deep(n) : int -> int = if n == 0 then 0 else 1 + deep(n - 1);
"""

# Every import of a call is told that no lock keeps a fork away from.
IMPORTING = """
import os, sys
import nessie
nessie.compile
from nessie.base.system.forking import STEADY
def told(event, arguments):
    if event == "import" and arguments[0] not in sys.modules and not STEADY._is_owned():
        print(arguments[0], flush=True)
sys.addaudithook(told)
p = nessie.compile({program!r})
for target in ("cpu", "reference"):
    p.twice([1, 2], target=target)
    p.total([[1], []], target=target)
    p.large([1.0] * 200_000, target=target)
    p.hello("ab", target=target)
    p.deep(3, target=target)
    for wrong in (lambda: p.inverse([1, 0], target=target), lambda: p.twice(["a"], target=target), lambda: p.twize):
        try:
            wrong()
        except nessie.NessieError as error:
            str(error)
        else:
            print("no error", flush=True)
p.twice.explain([1, 2])
p.twice.stages(type="[int]")
nessie.release_memory()
os._exit(0)
"""

# Four threads compile and call, each program anew, while this one forks.
FORKING = """
import os, random, signal, threading, time
import nessie
program = nessie.compile({program!r})
def compiled(k):
    return nessie.compile(f"function shifted(v) = {{{{x + {{k}} : x in v | x /= {{k}}}}}};")
def call(seed):
    chosen, k = random.Random(seed), seed * 1_000_000
    while True:
        k += 1
        compiled(k).shifted([1, 2], target=chosen.choice(["cpu", "reference"]))
        program.total([[1, 2], []], target=chosen.choice(["cpu", "reference"]))
        program.large([1.0] * 50_000)
        time.sleep(0.01)                # a lock is given to whoever asks first, not to who has waited longest
for seed in range(1, 5):
    threading.Thread(target=call, args=(seed,), daemon=True).start()
for fork in range({forks}):
    time.sleep(random.random() * 0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        right = [program.twice([1, 2], target=t).tolist() == [2, 4] for t in ("cpu", "reference")]
        right += [compiled(9_000_000 + fork).shifted([1, 2]).tolist() == [9_000_001 + fork, 9_000_002 + fork]]
        os._exit(0 if all(right) else 1)
    status = os.waitpid(child, 0)[1]
    if status:
        print("child", fork, "ended with", status, flush=True)
        os._exit(1)
os._exit(0)
"""

# One thread imports a module that adds a lock, while this one waits to fork.
ADDING = """
import os, signal, threading, time
from nessie.base.system.forking import STEADY, across_forks
held, added = threading.Event(), threading.Lock()
def importing():
    with STEADY:
        held.set()
        time.sleep(0.3)
        across_forks(added, last={last})
threading.Thread(target=importing).start()
held.wait()
child = os.fork()
signal.alarm(60)
free = STEADY.acquire() and not added.locked()
if child == 0:
    os._exit(0 if free else 1)
assert free and os.waitpid(child, 0)[1] == 0
"""


def python(text: str, folder: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """A fresh process, in which nothing has been imported or compiled, runs this."""
    return finished([sys.executable, "-c", text], seconds=timeout,
                    env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder)})


def test_calls_import_nothing_while_others_may_fork(tmp_path: Path) -> None:
    found = python(IMPORTING.format(program=PROGRAM), tmp_path, 600)
    assert (found.stdout, found.stderr) == ("", "")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_locks_may_be_added_while_a_fork_waits(last: bool, tmp_path: Path) -> None:
    found = python(ADDING.format(last=last), tmp_path, 120)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.mark.parametrize("forks", [12, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_children_of_threads_that_call_do_not_hang(forks: int, tmp_path: Path) -> None:
    found = python(FORKING.format(program=PROGRAM, forks=forks), tmp_path, 600 + 10 * forks)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
