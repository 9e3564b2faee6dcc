"""What tests are told of processes that do not end, or end badly (tests/support/processes.py)."""
from __future__ import annotations

import re
import subprocess

import pytest
from processes import ended, finished

LATE, FAILS = [["sh", "-c", f"echo out; echo err >&2; {last}"] for last in ("exec sleep 60", "exit 3")]


def test_what_ends_is_given() -> None:
    done = finished(FAILS)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert finished("echo 1", shell=True, text=False, check=True).stdout == b"1\n"


@pytest.mark.parametrize("text", [True, False])
def test_what_takes_too_long_is_told_with_what_it_has_said(text: bool) -> None:
    told = f"not at its end after 2 s: {' '.join(LATE)}\nout\nerr\n"
    with pytest.raises(pytest.fail.Exception, match=re.escape(told)):
        finished(LATE, seconds=2, text=text)
    with subprocess.Popen(LATE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text) as process, \
            pytest.raises(pytest.fail.Exception, match=re.escape(told)):
        ended(process, 2)
    assert process.returncode == -9


def test_a_status_that_may_not_be_is_told() -> None:
    with pytest.raises(pytest.fail.Exception, match=re.escape(f"status 3: {' '.join(FAILS)}\nout\nerr\n")):
        finished(FAILS, check=True)
