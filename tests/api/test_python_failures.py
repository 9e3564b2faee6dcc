"""What Python is told of a call that fails, and while one runs: values, places, progress."""
from __future__ import annotations

import os
import signal
import sys
import threading

import numpy as np
import pexpect
import pytest

import nessie

PROGRAM = """
k = [5, 6];
datatype point(float, float);
function pick(v, i) = {v[j] : j in i};
function quotients(a, b) = {x / y : x in a; y in b};
function sums(v, w) = {x + y : x in v; y in w};
function nested(m, i) = {r[i] : r in m};
function beyond(i) = k[i];
function scaled(v, i := 0) = {x / v[i] : x in v};
function slope(p) = let point(x, y) = p in trunc(y) / trunc(x);
function spin(n) = sum({sum({mod(i * j, 7) : j in [0:n]}) : i in [0:n]});
"""


@pytest.mark.parametrize("target", ["cpu", "reference", "cudasim"])
@pytest.mark.parametrize("function, arguments, values", [
    ("pick", ([1, 2, 3], np.array([0, 7])), "at element 1: the index is 7, the length 3"),
    ("quotients", ([1, 5], [1, 0]), "at element 1: 5 / 0"),
    ("quotients", ([0.0], [0.0]), "at element 0: 0.0 / 0.0"),
    ("sums", ([1, 2], [1]), "the lengths are 2 and 1"),
    ("nested", ([[1, 2], [], [3]], 0), "at element 1: the index is 0, the length 0"),
    ("beyond", (2,), "the index is 2, the length 2"),
    ("scaled", ([1, 0],), None), ("slope", ((0.0, 2.5),), "2 / 0")])
def test_a_failed_check_tells_its_values(target: str, function: str, arguments: tuple[object, ...],
                                         values: str | None) -> None:
    program = nessie.compile(PROGRAM, target=target)
    if values is None:
        assert program[function](*arguments).tolist() == [1, 0]
        arguments, values = ([1, 0], ), "at element 0: 1 / 0"
        with pytest.raises(nessie.NessieError) as raised:
            program[function](*arguments, i=1)
    else:
        with pytest.raises(nessie.NessieError) as raised:
            program[function](*arguments)
    assert values in str(raised.value)


def test_ctrl_c_tells_where_the_program_was() -> None:
    spin = nessie.compile(PROGRAM).spin
    assert spin(2) == 1
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt, match=r"program:11:25[^$]*function spin"):
        spin(200_000)


def test_a_prompt_of_python_shows_progress() -> None:
    python = pexpect.spawn(sys.executable, ["-q"], encoding="utf-8", env={**os.environ, "TERM": "xterm"},
                           dimensions=(24, 100))
    try:
        python.expect(">>> ")
        python.sendline("import nessie")
        python.expect(">>> ")
        python.sendline("program = 'function spin(n) = if n < 0 then n else spin(n + sum(dist(1, 90000)));'")
        python.expect(">>> ")
        python.sendline("p = nessie.compile(program, depth=10 ** 8)")
        python.expect(">>> ")
        python.sendline("p.spin(0)")
        python.expect(r"running, [0-9,]+ launches, [1-9][0-9]* s", timeout=60)
        python.sendintr()
        python.expect("KeyboardInterrupt: Interrupted.*>>> ", timeout=60)
    finally:
        python.ptyproc.delayafterterminate = 1          # seconds, for machines that are busy
        python.close(force=True)


def test_programs_that_nobody_types_show_none(capfd: pytest.CaptureFixture[str]) -> None:
    assert nessie.compile(PROGRAM).spin(30_000) > 0
    assert capfd.readouterr().err == ""


def test_without_checks_the_program_is_blamed() -> None:
    program = nessie.compile("function look(v, is) = {v[i] : i in is};", target="reference", unchecked=True)
    with pytest.raises(nessie.NessieError, match="without its checks, the program went wrong") as raised:
        program.look([1, 2], [0, 5])
    assert "leave --unchecked out" in raised.value.hint
