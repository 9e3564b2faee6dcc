"""Threads outside Python: each chunk once and in its order, for all numbers of threads, pieces, callers, processes."""
from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.threads.pool import Pool
from nessie.cudagen.cpu.threads.team import Team, possible
from nessie.cudagen.cpu.threads.team_text import PIECE, THREADS

pytestmark = pytest.mark.skipif(not possible(), reason="this system has no POSIX threads")

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)

# words: the number of calls, then for each chunk its turn among all, counted from 1, and how often it was done
TURNS = """
define void @turns(i64 %first, i64 %last, ptr %words) {
entry:
  br label %loop
loop:
  %chunk = phi i64 [ %first, %entry ], [ %next, %loop ]
  %turn = atomicrmw add ptr %words, i64 1 seq_cst
  %double = shl i64 %chunk, 1
  %one = add i64 %double, 1
  %place = getelementptr i64, ptr %words, i64 %one
  %told = add i64 %turn, 1
  store i64 %told, ptr %place
  %two = add i64 %double, 2
  %times = getelementptr i64, ptr %words, i64 %two
  %were = atomicrmw add ptr %times, i64 1 seq_cst
  %next = add i64 %chunk, 1
  %all = icmp eq i64 %next, %last
  br i1 %all, label %end, label %loop
end:
  ret void
}

; until the first word is set
define void @waits(i64 %first, i64 %last, ptr %words) {
entry:
  %second = getelementptr i64, ptr %words, i64 1
  %were = atomicrmw add ptr %second, i64 1 seq_cst
  br label %loop
loop:
  %now = load atomic i64, ptr %words seq_cst, align 8
  %go = icmp ne i64 %now, 0
  br i1 %go, label %end, label %loop
end:
  ret void
}
"""


@lru_cache(maxsize=1)
def functions() -> dict[str, Any]:
    found = building.load(building.build(TURNS), ["turns", "waits"])
    return {name: ENTRY(address) for name, address in found.items()}


class Record:
    """Of the chunks of a phase."""

    def __init__(self, chunks: int) -> None:
        self.words, self.interrupt = (ctypes.c_int64 * (2 * chunks + 1))(), (ctypes.c_int64 * 1)()

    def turns(self) -> list[int]:
        return list(self.words[1::2])

    def times(self) -> list[int]:
        return list(self.words[2::2])


@pytest.mark.parametrize("helpers", [0, 1, 2, 7])
def test_each_chunk_is_done_once_and_pieces_are_done_in_order(helpers: int) -> None:
    team = Team(helpers)
    for chunks in (0, 1, 2, 3, PIECE, PIECE + 1, 1000):
        for pieces in {1, 2, 3, 16, 17, max(1, chunks)}:
            record = Record(chunks)
            assert team.share(functions()["turns"], record.words, chunks, pieces, record.interrupt)
            assert record.times() == [1] * chunks
            turns = record.turns()
            bounds = [-(-piece * chunks // pieces) for piece in range(pieces + 1)]
            for begin, end in zip(bounds, bounds[1:], strict=False):
                assert turns[begin:end] == sorted(turns[begin:end]), (chunks, pieces)
    assert team.helpers == helpers
    team.close()


@pytest.mark.parametrize("pause", [0.0, 0.002])
def test_helpers_that_sleep_and_that_do_not_lose_no_chunk(pause: float) -> None:
    team, chunks = Team(3), 100
    record = Record(chunks)
    rounds = 5000 if not pause else 200
    for _ in range(rounds):
        assert team.share(functions()["turns"], record.words, chunks, 50, record.interrupt)
        time.sleep(pause)
    assert record.times() == [rounds] * chunks
    team.close()


def test_a_second_caller_is_told_that_the_team_is_at_work() -> None:
    team, record, other = Team(1), Record(2), Record(5)
    caller = threading.Thread(target=team.share, args=(functions()["waits"], record.words, 2, 2, record.interrupt))
    caller.start()
    until(lambda: record.words[1] == 2)
    assert not team.share(functions()["turns"], other.words, 5, 5, other.interrupt)
    record.words[0] = 1
    caller.join()
    assert team.share(functions()["turns"], other.words, 5, 5, other.interrupt)
    assert other.times() == [1] * 5
    team.close()


def test_callers_of_one_pool_at_a_time_all_get_their_chunks_done() -> None:
    pool, failures = Pool(3), list[int]()

    def call(chunks: int) -> None:
        for _ in range(300):
            record = Record(chunks)
            pool.share(functions()["turns"], chunks, record.words, record.interrupt)
            if record.times() != [1] * chunks:
                failures.append(chunks)

    callers = [threading.Thread(target=call, args=(chunks,)) for chunks in (5, 100, 1000)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures
    pool.close()


@pytest.mark.parametrize("taken", [False, True])
def test_chains_are_done_in_order_by_the_team_and_by_the_pool_without_it(taken: bool) -> None:
    pool = Pool(3)
    team = pool.team()
    assert team is not None
    if taken:
        team.lock.acquire()
    for chunks, chains in ((0, 3), (1, 3), (7, 3), (1000, 3), (1000, 1), (5, 5)):
        record = Record(chunks)
        pool.share(functions()["turns"], chunks, record.words, record.interrupt, chains)
        assert record.times() == [1] * chunks
        for chain in range(chains):
            turns = record.turns()[-(-chain * chunks // chains):-(-(chain + 1) * chunks // chains)]
            assert turns == sorted(turns)
    if taken:
        team.lock.release()
    pool.close()


def test_an_interrupt_ends_a_phase_between_its_pieces() -> None:
    team, record = Team(1), Record(2)
    caller = threading.Thread(target=team.share, args=(functions()["waits"], record.words, 1000, 1000,
                                                       record.interrupt))
    caller.start()
    until(lambda: record.words[1] == 2)
    record.interrupt[0] = 1
    record.words[0] = 1
    caller.join()
    assert record.words[1] == 2
    after = Record(100)
    assert team.share(functions()["turns"], after.words, 100, 100, after.interrupt)
    assert after.times() == [1] * 100
    team.close()


def test_an_exception_between_pieces_reaches_the_caller_when_no_helper_is_at_work() -> None:
    team, record = Team(1), Record(10_000)
    native, turns = team.native, functions()["turns"]

    def slowly(first: int, last: int, words: int) -> None:
        time.sleep(0.001)
        turns(first, last, words)

    def go_on(address: int) -> int:
        go_on.calls += 1  # type: ignore[attr-defined]
        if go_on.calls == 1:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return int(native.go_on(address))

    go_on.calls = 0  # type: ignore[attr-defined]
    team.native = native._replace(go_on=go_on)
    with pytest.raises(KeyboardInterrupt):
        team.share(ENTRY(slowly), record.words, 10_000, 10_000, record.interrupt)
    assert record.interrupt[0] == 1
    done = sum(record.times())
    assert 0 < done < 10_000
    time.sleep(0.01)
    assert sum(record.times()) == done
    team.native, after = native, Record(100)
    assert team.share(functions()["turns"], after.words, 100, 100, after.interrupt)
    assert after.times() == [1] * 100
    team.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_was_forked_off_has_a_team_of_its_own() -> None:
    pool, record = Pool(2), Record(100)
    pool.share(functions()["turns"], 100, record.words, record.interrupt)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            again = Record(100)
            pool.share(functions()["turns"], 100, again.words, again.interrupt)
            team = pool.team()
            pool.close()
            code = 0 if again.times() == [1] * 100 and team is not None and team.helpers == 1 else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    pool.share(functions()["turns"], 100, record.words, record.interrupt)
    assert record.times() == [2] * 100
    pool.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs Linux's list of threads")
def test_a_team_that_is_closed_or_dropped_leaves_no_threads() -> None:
    before = len(os.listdir("/proc/self/task"))
    teams = [Team(3), Team(2)]
    assert len(os.listdir("/proc/self/task")) == before + 5
    teams[0].close()
    teams.clear()
    gc.collect()
    until(lambda: len(os.listdir("/proc/self/task")) == before)


def test_a_team_that_is_closed_while_it_works_ends_its_phase() -> None:
    team, record = Team(1), Record(2)
    caller = threading.Thread(target=team.share, args=(functions()["waits"], record.words, 2, 2, record.interrupt))
    caller.start()
    until(lambda: record.words[1] == 2)
    team.close()
    others = [(ctypes.c_int64 * (THREADS + 1))(*[-1] * (THREADS + 1)) for _ in range(9)]
    assert all(ctypes.addressof(other) != team.address for other in others)
    record.words[0] = 1
    caller.join(10)
    assert not caller.is_alive()


def test_python_has_a_look_while_pieces_and_chains_take_long() -> None:
    for pieces in (2, 100):
        team, record, looks = Team(1), Record(1000), list[int]()
        native = team.native

        def go_on(address: int, looks: list[int] = looks, native: Any = native) -> int:
            looks.append(1)
            return int(native.go_on(address))

        team.native = native._replace(go_on=go_on)
        slow = ENTRY(lambda first, last, words: time.sleep(0.002))
        assert team.share(slow, record.words, 200 * PIECE, pieces, record.interrupt)
        assert len(looks) > 5
        team.close()


def until(holds: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if holds():
            return
        time.sleep(0.001)
    raise AssertionError("it never did")
