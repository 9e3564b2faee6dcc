"""Times Nessie beside the best of Python's libraries and hand-written C on the same work, in one process, in turn.

    python benchmarks/peers.py [NAME...] [--rounds N] [--save FILE] [--against CHECKOUT]
    python benchmarks/peers.py [NAME...] [--rounds N] --unchecked

Each workload of suite/ is run by Nessie, by each peer that is installed, and by C where a compiler is (cc). Results are
compared first. Every round times each once, in turn; the best of all rounds counts. A call of Nessie is one from
Python on resident NumPy arrays, whose result is a NumPy array: what a library's call is. With --against, another
version of Nessie takes part, in a process of its own. docs/pictures.py draws what --save has written. With --unchecked,
Nessie alone is timed, beside itself without run-time checks, in processor time: what these cost.
"""
from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

from processor import processor
from suite import report
from suite.report import Row

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SEED = 1
C_FLAGS = ["-O3", "-march=native", "-ffast-math", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC"]
SECONDS = 1.0                   # of rounds for a workload, at least; --rounds at most
PAUSE = 0.02                    # seconds between two calls


def main(suites: Sequence[str] = ("regular", "irregular"), description: str | None = __doc__) -> None:
    """Measure the workloads of these files of suite/."""
    options = parsed_options(description)
    sys.path[:0] = [str(options.serve or ROOT), str(HERE)]
    table = {w.name: w for suite in suites for w in getattr(import_module(f"suite.{suite}"), suite.upper())}
    for name in options.names:
        if name not in table:
            sys.exit(f"there is no workload {name!r}; there are {', '.join(table)}")
    chosen = [table[name] for name in options.names or table]
    if options.serve:
        serve(table)
        return
    if options.unchecked:
        what_checks_cost(chosen, options.rounds)
        return
    other = Other(options.against) if options.against else None
    hand = compiled_c()
    print(report.head(bool(other)))
    rows = []
    for workload in chosen:
        rows.append(measured(workload, hand, other, options.rounds))
        print(report.line(rows[-1]), flush=True)
    print(report.summary(rows))
    if options.save:
        report.save(f"{processor()}, {os.cpu_count()} cores", rows, options.save)


def parsed_options(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads (default: all)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the seconds there, as JSON")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another version, to compare with")
    parser.add_argument("--unchecked", action="store_true", help="time the run-time checks instead")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


# One workload -----------------------------------------------------------------------------------------


def measured(workload: Any, hand: Any, other: Other | None, rounds: int) -> Row:
    """Time Nessie and the others on the workload. AssertionError where a result differs."""
    import numpy as np
    arguments = workload.arguments(np.random.default_rng(SEED))
    own = nessies(workload, arguments)
    works: dict[str, Callable[[], Any]] = {"": own}
    works |= others(workload, {name: (peer, workload.prepare.get(name, as_given)) for name, peer in
                               workload.peers.items()}, arguments, own(), hand)
    if other is not None and other.run(workload.name) is not None:
        works["before"] = lambda: other.run(workload.name)
    seconds = best_times(works, rounds)
    nessie, c, before = seconds.pop(""), seconds.pop("C", None), seconds.pop("before", None)
    return Row(workload.name, workload.size, nessie, seconds, c, before)


def as_given(*arguments: Any) -> Any:
    return arguments


def others(workload: Any, peers: dict[str, tuple[Any, Any]], arguments: Any, result: Any, hand: Any
           ) -> dict[str, Callable[[], Any]]:
    """What those do that are here: peers, each with what makes its arguments, and C. AssertionError where their result
    is another."""
    works: dict[str, Callable[[], Any]] = {}
    for name, (peer, prepare) in peers.items():
        try:
            given = prepare(*arguments)

            def work(peer: Any = peer, given: Any = given) -> Any:
                return peer(*given)
            found = work()
        except ImportError:
            continue
        assert workload.same(result, found), f"{workload.name}: {name} and Nessie differ"
        works[name] = work
    if hand is not None and workload.by_c is not None:
        function = c_function(hand, workload.c)
        works["C"] = lambda: workload.by_c(function, *arguments)
        assert workload.same(result, works["C"]()), f"{workload.name}: C and Nessie differ"
    return works


def best_times(works: dict[str, Callable[[], Any]], rounds: int,
               clock: Callable[[], float] = perf_counter) -> dict[str, float]:
    """The least seconds of each, in rounds that run each once, every other round backwards: who comes next finds the
    arguments in caches. What is called "before" says its seconds itself. Between two is a pause: threads of OpenMP go
    on spinning for a while, and take a core from whoever comes next."""
    seconds = {name: float("inf") for name in works}
    spent = 0.0
    for number in range(max(rounds, 1) * 10):
        if number >= rounds and spent > SECONDS:
            break
        for name, work in list(works.items())[::1 if number % 2 == 0 else -1]:
            gc.collect(0)
            sleep(PAUSE)
            began = clock()
            answer = work()
            taken = clock() - began
            seconds[name] = min(seconds[name], answer if name == "before" else taken)
            spent += taken
    return seconds


def what_checks_cost(workloads: Sequence[Any], rounds: int) -> None:
    """Print the seconds of each workload with and without run-time checks, of all processors together: two runs of one
    program wait alike, and other programs on the machine matter little."""
    import numpy as np
    print(report.checks_head())
    found = {}
    for workload in workloads:
        arguments = workload.arguments(np.random.default_rng(SEED))
        works = {"checked": nessies(workload, arguments), "unchecked": nessies(workload, arguments, unchecked=True)}
        assert workload.same(works["checked"](), works["unchecked"]()), f"{workload.name}: results differ"
        found[workload.name] = best_times(works, rounds, process_time)
        print(report.checks_line(workload.name, found[workload.name]), flush=True)
    print(report.checks_summary(found))


def nessies(workload: Any, arguments: Sequence[Any], unchecked: bool = False) -> Callable[[], Any]:
    """The workload's call of Nessie."""
    import nessie
    text = (HERE / "suite" / f"{workload.program}.nesl").read_text("utf-8")
    program = nessie.compile(text, unchecked=unchecked)
    entry = getattr(program, workload.entry)
    return lambda: entry(*arguments)


# Hand-written C ---------------------------------------------------------------------------------------


def compiled_c(source: str = "hand.c") -> Any:
    """The library of this file of suite/, or None where no compiler is."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "hand.so"
        command = [os.environ.get("CC", "cc"), *C_FLAGS, str(HERE / "suite" / source), "-o", str(library), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"no hand-written C: {error}", file=sys.stderr)
            return None
        return ctypes.CDLL(str(library))


def c_function(library: Any, name: str) -> Callable[..., Any]:
    """The function of the library, called with ints and NumPy arrays."""
    function = getattr(library, name)
    function.restype = ctypes.c_double if name in ("dot_product", "float_dot") else ctypes.c_int64

    def call(*arguments: Any) -> Any:
        return function(*[ctypes.c_void_p(a.ctypes.data) if hasattr(a, "ctypes") else ctypes.c_int64(a)
                          for a in arguments])
    return call


# Another version --------------------------------------------------------------------------------------


class Other:
    """A process that runs workloads with the version in this folder."""

    def __init__(self, tree: Path) -> None:
        command = [sys.executable, str(Path(sys.argv[0]).resolve()), "--serve", str(tree.resolve())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, name: str) -> Any:
        """The seconds that one run took there, or None if the program does not compile there."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def serve(table: dict[str, Any]) -> None:
    """Answer each workload's name with the seconds of one run."""
    import numpy as np
    name, call = "", None
    for asked in map(str.strip, sys.stdin):
        if asked != name:
            name, workload = asked, table[asked]
            try:
                call = nessies(workload, workload.arguments(np.random.default_rng(SEED)))
                call()
            except Exception:           # an older version may lack what the program uses
                call = None
        began = perf_counter()
        if call is not None:
            call()
        print(json.dumps(perf_counter() - began if call else None), flush=True)


if __name__ == "__main__":
    main()
