"""Workers of one's own, on this machine. They, and a scheduler of Dask's, live in a process of their own, whose
standard input is a pipe from here: it ends when that is closed, or this process ends, in whatever way.

Workers that Python's multiprocessing starts import the script that its parent runs, which would begin once more there,
unless it has `if __name__ == "__main__"`. The process of their own has no script, and Ctrl-C does not reach it.

    OwnWorkers      starts and ends the process
    serve           what the process does
"""
from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from functools import partial
from shutil import rmtree
from tempfile import TemporaryFile, mkdtemp
from threading import Event, Thread
from typing import Any

from nessie.base.source import NessieError
from nessie.base.system.ending import at_end, do_now
from nessie.cudagen.cluster.processes.waiting import answer, in_thread

BEGIN = ("import json, sys; sys.path[:], workers, folder = json.loads(sys.stdin.readline()); "
         "from nessie.cudagen.cluster.processes.own_workers import serve; serve(workers, folder)")
GRACE = 15.0                    # seconds until it must have ended
STAYS = {"distributed.deploy.lost-worker-timeout": "1000 days"}     # one that dies twice in this time would stay away


class OwnWorkers:
    """So many workers, each a process of one thread with a share of this machine's memory. `address`: the scheduler's.
    NessieError if they do not start."""

    def __init__(self, workers: int) -> None:
        self.folder = mkdtemp(prefix="nessie-workers-")         # of what workers have no memory for
        self.files = at_end(partial(rmtree, self.folder, ignore_errors=True))
        flags = subprocess._args_from_interpreter_flags()       # type: ignore[attr-defined]
        with TemporaryFile() as said:
            self.process = subprocess.Popen([sys.executable, *flags, "-c", BEGIN], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=said, start_new_session=True)
            try:
                assert self.process.stdin is not None
                assert self.process.stdout is not None
                self.process.stdin.write(json.dumps([sys.path, workers, self.folder]).encode() + b"\n")
                self.process.stdin.flush()
                self.address = answer(in_thread(self.process.stdout.readline)).decode().strip()
                if not self.address:
                    self.process.wait()
                    said.seek(0)
                    why = said.read().decode(errors="replace").strip().splitlines()
                    raise NessieError(f"workers on this machine do not start: {why[-1] if why else 'they say nothing'}")
            except BaseException:
                self.close()
                raise

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:       # it has stopped, or one of the workers has
            self.kill()
            self.process.wait()
        self.process.stdout.close()
        do_now(self.files)

    def kill(self) -> None:
        """And its workers, on systems that know what belongs together."""
        if hasattr(os, "killpg"):
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()


def serve(workers: int, folder: str) -> None:
    """Start them, tell the scheduler's address, and end with standard input, and the folder of their files."""
    import dask
    from distributed import LocalCluster
    told = os.dup(1)
    os.dup2(2, 1)               # what workers print is no address
    cluster_class: Any = LocalCluster
    begun, ended = Event(), Event()
    Thread(target=listen, args=[folder, begun, ended], daemon=True).start()
    with (dask.config.set(STAYS | {"temporary-directory": folder}),
          cluster_class(n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                        dashboard_address="127.0.0.1:0", local_directory=folder,
                        silence_logs=logging.CRITICAL) as cluster):
        os.write(told, f"{cluster.scheduler_address}\n".encode())
        os.close(told)
        begun.set()
        ended.wait()
    rmtree(folder, ignore_errors=True)


def listen(folder: str, begun: Event, ended: Event) -> None:
    """Standard input ends with who has started this process; then nobody waits for those that are starting, however
    many there are to be."""
    sys.stdin.read()
    if not begun.is_set():
        rmtree(folder, ignore_errors=True)
        os._exit(1)
    ended.set()
