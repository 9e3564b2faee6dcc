"""Threads of the CPU: each begins on a processor of its own."""
from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from nessie.cudagen.cpu.threads.pool import Pool, processor, spread

NEEDED = pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
                            reason="needs two processors, and a system that moves threads")


@NEEDED
def test_a_thread_leaves_a_processor_where_another_has_begun() -> None:
    def begin() -> tuple[set[int], bool]:
        everywhere = os.sched_getaffinity(0)
        one = min(everywhere)
        os.sched_setaffinity(0, {one})
        here = processor()
        os.sched_setaffinity(0, everywhere)
        busy = set(everywhere) - {max(everywhere)} | {here}
        spread(busy)
        return busy, here == one and os.sched_getaffinity(0) == everywhere

    with ThreadPoolExecutor(1) as threads:
        busy, kept = threads.submit(begin).result()
    assert kept and busy == os.sched_getaffinity(0)


@NEEDED
def test_where_all_are_taken_it_stays() -> None:
    busy = set(os.sched_getaffinity(0))
    spread(busy)
    assert busy == os.sched_getaffinity(0)


@pytest.mark.parametrize("endless", [True, False])
def test_more_threads_than_processors_do_all_chunks(endless: bool) -> None:
    pool = Pool(2 * (os.cpu_count() or 1) + 1)
    done: list[int] = []
    pool.run(lambda first, last, _: done.extend(range(first, last)), 1000, None, (ctypes.c_int64 * 1)(), endless)
    pool.close()
    assert sorted(done) == list(range(1000))
