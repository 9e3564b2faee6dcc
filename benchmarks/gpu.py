"""Tests and measures Nessie on an NVIDIA GPU: one command, for a machine that has one.

    python benchmarks/gpu.py [NAME...] [--target cuda|cudasim] [--size N] [--rounds N] [--tests EXPR] [--save FILE]

First tests/gpu/test_on_gpu*.py run on the GPU: kernels, programs, examples, recorded and random cases must give what
the reference executor gives. Then programs are timed whose arguments lie on the GPU and whose results stay there: a run
is over when the GPU has done it, and the median of all counts. Results are compared with NumPy's first. `moved` is what
lambda_cu.running.traffic counts of a run; `of copy` is its bytes a second as a share of those of a copy by the driver.
`in kernels` is what events on the GPU measure of the kernels alone, without what the host does between them, and the
second `of copy` is the share of that.
Beside stands what CuPy (with CUB) and PyTorch take for the same, where they are installed. The table is printed, and
written to results/gpu-CARD.txt.

The machine needs NVIDIA's driver, PyCUDA and NVRTC (benchmarks/README.md: how to bring them where there is no network);
without them the script says what is missing, and ends with status 2. Status 1: a test has failed, or a result differs.
--target cudasim does all of it on the CPU, on few elements: what its times say is nothing.
"""
from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from threading import Timer
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np  # noqa: E402
from gpu_peers import Peer, peers_for  # noqa: E402
from gpu_workloads import HELD, WORKLOADS, Workload  # noqa: E402
from resident import Clocked, Resident, leaves  # noqa: E402

from nessie.base.source import NessieError, Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.cudagen.cuda.cudasim import compiler as cudasim  # noqa: E402
from nessie.cudagen.cuda.driver import Driver  # noqa: E402
from nessie.cudagen.cuda.link import GpuProgram  # noqa: E402
from nessie.cudagen.cuda.nvidia import compiler, detection  # noqa: E402
from nessie.cudagen.cuda.nvidia.usage import table  # noqa: E402
from nessie.driver import compile_program  # noqa: E402
from nessie.forms import FUSED, TEXT, Form, read  # noqa: E402
from nessie.pipeline import Job, pass_named  # noqa: E402
from nessie.running.targets import Target  # noqa: E402
from nessie.syntax.parser import parse_type  # noqa: E402

SIZES = {"cuda": 1 << 28, "cudasim": 5000}      # elements, unless told otherwise
WARM = 2                                        # runs that nobody times
SEED = 1
MISUSED = 2
PATIENCE, SHOWN_AFTER = 1200, 300               # seconds: for all tests; for one, until it is shown where it is
ELEMENT = 8                                     # bytes
BY_DRIVER = "copy by the driver"
TITLES = ("workload", "n", "kernels", "Nessie ms", "moved MB", "GB/s", "of copy", "in kernels", "of copy")


@dataclass(frozen=True)
class Result:
    """`seconds`: of the median run; `moved`: bytes that a run moves. `peers`: seconds of each, None where it has none.
    `wrong`: what went wrong, of whom. `in_kernels`: seconds that the GPU itself measures, where it does."""
    name: str
    size: int
    launches: int
    seconds: float
    moved: int
    peers: tuple[float | None, ...]
    wrong: tuple[str, ...] = ()
    in_kernels: float | None = None

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return self.moved / self.seconds if self.seconds else 0.0


def main(words: Sequence[str] | None = None) -> int:
    options = parsed_options(words)
    missing = problem(options)
    if missing:
        print(f"benchmarks/gpu.py cannot run: {': '.join(missing)}", file=sys.stderr)
        return MISUSED
    passed, tested = (True, "not run") if options.tests == "none" else run_tests(options)
    head = "".join(f"{line}\n" for line in machine(options, tested))
    print(head, flush=True)
    peers = peers_for(options.target)
    save = options.save or (results_file() if options.target == "cuda" and not options.names else None)
    results: list[Result] = []
    for result in measured(options, peers):
        results.append(result)
        print(f"{result.name}: {milliseconds(result.seconds)} ms", file=sys.stderr)
        told = "".join([table(rows(results, peers)), *(f"{wrong}\n" for r in results for wrong in r.wrong)])
        if save:                                # what is measured is not lost if the next one hangs
            Path(save).write_text(f"{head}\n{told}", encoding="utf-8")
    print(told, end="")
    return int(not passed or any(result.wrong for result in results))


def parsed_options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(w.name for w in WORKLOADS))
    parser.add_argument("--target", choices=("cuda", "cudasim"), default="cuda")
    parser.add_argument("--size", type=positive, help="elements (default: 2**28, or as many as fit; cudasim: 5000)")
    parser.add_argument("--rounds", type=positive, default=20, help="runs that are timed (default: 20)")
    parser.add_argument("--tests", metavar="EXPR", help="run the tests with these names (pytest -k); none: none")
    parser.add_argument("--save", help="a file for the table (default: one in results/, for the card)")
    options = parser.parse_args(words)
    known = [workload.name for workload in WORKLOADS]
    for name in options.names:
        if name not in known:
            parser.error(f"there is no workload {name}; the workloads are {', '.join(known)}")
    if options.save and (Path(options.save).is_dir() or not Path(options.save).absolute().parent.is_dir()):
        parser.error(f"--save: {options.save} cannot be written: it is a folder, or in one that is not there")
    return options


def positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def problem(options: argparse.Namespace) -> tuple[str, str] | None:
    """What is missing, and how to get it."""
    if options.tests != "none" and find_spec("pytest") is None:
        return "pytest is not installed", "pip install pytest, or leave tests out by --tests none"
    if options.target == "cuda":
        return detection.problem() or unusable(options) or too_large(options)
    return too_large(options) if cudasim.found() else ("there is no C++ compiler", "the target cudasim needs one")


def too_large(options: argparse.Namespace) -> tuple[str, str] | None:
    """Whether there is no room for a copy of as many elements as were asked for."""
    memory, needed = Target(options.target).memory(), 2 * ELEMENT * (options.size or 1)
    if needed <= memory:
        return None
    return (f"a copy of {options.size:,} elements takes {needed / 1e9:,.1f} GB, and there are {memory / 1e9:,.1f}",
            "leave --size out, or make it less")


def unusable(options: argparse.Namespace) -> tuple[str, str] | None:
    """What goes wrong with the least of programs on the GPU."""
    try:
        run_deep(lambda: one_measured(WORKLOADS[0], 1, Target(options.target), 1, ()))
    except NessieError as error:
        return str(error.message), "nessie doctor says what the target cuda needs"
    return None


def pytest_on(target: str, *options: str) -> list[str]:
    """The command that runs the tests of GPUs on the target."""
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--on", target, *options,
            *(str(path) for path in sorted((ROOT / "tests" / "gpu").glob("test_on_gpu*.py")))]


def run_tests(options: argparse.Namespace) -> tuple[bool, str]:
    """Runs them in a process of their own, whose processes end with it: have they passed? And pytest's last line."""
    command = pytest_on(options.target, "-o", f"faulthandler_timeout={SHOWN_AFTER}",
                        "-o", "faulthandler_exit_on_timeout=false", *(["-k", options.tests] if options.tests else []))
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
                          start_new_session=True, env={**os.environ, "NESSIE_TESTS": "ci"}) as tests:
        assert tests.stdout is not None
        alarm = Timer(PATIENCE, os.killpg, (tests.pid, signal.SIGKILL))
        alarm.start()
        try:
            for line in tests.stdout:
                print(line, end="", flush=True)
                last = line.strip(" =\n") or last
        except KeyboardInterrupt:
            os.killpg(tests.pid, signal.SIGKILL)
            raise
        finally:
            alarm.cancel()
    passed = tests.returncode == 0
    return passed, last if passed else f"failed, pytest's status is {tests.returncode}: {last}"


def machine(options: argparse.Namespace, tested: str) -> Iterator[str]:
    """What was measured, where."""
    if options.target == "cuda":
        gpu, found = detection.devices()[0], compiler.found()
        assert found is not None
        yield f"{gpu.name} ({gpu.architecture}), driver of CUDA {detection.version()}, " \
              f"{found.name} {compiler.version(found)}"
    else:
        yield "cudasim: threads of a GPU on the CPU; times say nothing"
    yield f"tests: {tested}"


def results_file() -> str:
    name = re.sub(r"[^a-z0-9]+", "-", detection.devices()[0].name.lower()).strip("-")
    return str(HERE / "results" / f"gpu-{name}.txt")


# Measuring ----------------------------------------------------------------------------------------


def measured(options: argparse.Namespace, peers: Sequence[Peer]) -> Iterator[Result]:
    """The driver's copy first, then the workloads. What goes wrong with one is told in its result."""
    target = Target(options.target)
    memory = target.memory()
    size = options.size or SIZES[options.target]
    yield driver_copy(target.driver(), size if options.size else fitting(size, memory), options.rounds, len(peers))
    for workload in WORKLOADS:
        if workload.name in (options.names or [workload.name]):
            n = min(size, workload.most or size)
            n = n if options.size else fitting(n, memory, workload.held)
            try:
                yield run_deep(lambda w=workload, n=n: one_measured(w, n, target, options.rounds, peers))
            except Exception as error:          # the next one may do better, and the GPU may be here only once
                wrong = f"{workload.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
                yield Result(workload.name, n, 0, 0.0, 0, (None,) * len(peers), (wrong,))


def fitting(size: int, memory: int, held: int = HELD) -> int:
    """Halved until so many arrays fit."""
    while size > 1 and size * ELEMENT * held > memory:
        size //= 2
    return size


def driver_copy(driver: Driver, size: int, rounds: int, peers: int) -> Result:
    """From place to place on the device."""
    values = np.random.default_rng(SEED).random(size)
    source, copied = driver.allocate(values.nbytes), driver.allocate(values.nbytes)
    driver.write(source, values)

    def work() -> None:
        driver.copy(copied, source, values.nbytes)
        driver.synchronise()

    seconds = timed(work, rounds)
    found = np.empty_like(values)
    driver.read(copied, found)
    for address in (source, copied):
        driver.free(address)
    wrong = () if (found == values).all() else (f"{BY_DRIVER}: the copy differs",)
    return Result(BY_DRIVER, size, 0, seconds, 2 * values.nbytes, (None,) * peers, wrong)


def clocked(target: Target) -> Driver:
    """A driver that measures the time in kernels, if the target has one."""
    return Clocked() if target.name == "cuda" else target.driver()


def in_kernels(resident: Resident, rounds: int) -> float | None:
    """Seconds of the median run."""
    driver = resident.device.driver
    if not isinstance(driver, Clocked):
        return None
    return median([driver.seconds_in_kernels(resident.run) for _ in range(rounds)])


def one_measured(workload: Workload, size: int, target: Target, rounds: int, peers: Sequence[Peer]) -> Result:
    arguments = workload.arguments(np.random.default_rng(SEED), size)
    expected = workload.numpy(*arguments)
    resident = Resident(program_of(workload), clocked(target), workload.given(*arguments), target.memory())
    try:
        resident.run()
        wrong = [f"{workload.name}: {said}" for said in [difference(leaves(resident.value()), expected)] if said]
        seconds = timed(resident.run, rounds)
        within = in_kernels(resident, rounds)
        launches, moved = resident.counted()
    finally:
        resident.close()
    theirs: list[float | None] = []
    for peer in peers:
        found = beside(peer, workload, arguments, expected, rounds)
        peer.release()
        theirs.append(found if isinstance(found, float) else None)
        wrong += [f"{workload.name}, {peer.name}: {found}"] if isinstance(found, str) else []
    return Result(workload.name, size, launches, seconds, moved, tuple(theirs), tuple(wrong), within)


def program_of(workload: Workload) -> GpuProgram:
    """Compiled for GPUs."""
    built: GpuProgram = compile_program(*written(workload), pass_named("link"))
    return built


def written(workload: Workload) -> tuple[Job, Form[Any], Any]:
    """How it is to be compiled, its form, and the program as it is written."""
    source = Source(workload.name, workload.program)
    type_ = parse_type(Source("type", workload.type)) if workload.type else None
    form = FUSED if workload.lambda_cu else TEXT
    return Job(entry=workload.entry, argument=type_, target="cuda"), form, read(form, source)


def difference(found: list[Any], expected: list[Any]) -> str:
    """What differs from NumPy's; empty if nothing does."""
    try:
        for ours, numpys in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, numpys, rtol=1e-9, atol=1e-12)
    except (AssertionError, ValueError) as error:
        return f"differs from NumPy: {' '.join(str(error).split())[:300]}"
    return ""


def timed(work: Any, rounds: int) -> float:
    """Seconds of the median run."""
    times = []
    for number in range(WARM + rounds):
        began = perf_counter()
        work()
        if number >= WARM:
            times.append(perf_counter() - began)
    return median(times)


def beside(peer: Peer, workload: Workload, arguments: Sequence[Any], expected: list[Any],
           rounds: int) -> float | str | None:
    """The peer's seconds; what is wrong; None where it has nothing for this workload."""
    try:
        ready = peer.ready(workload, arguments)
        if ready is None:
            return None

        def work() -> None:
            ready()
            peer.synchronise()

        return difference(peer.arrays(ready()), expected) or timed(work, rounds)
    except Exception as error:                  # whatever another library may raise: the table goes on without it
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


# The table ----------------------------------------------------------------------------------------


def rows(results: Sequence[Result], peers: Sequence[Peer]) -> list[Sequence[str]]:
    copy = results[0].bandwidth
    found: list[Sequence[str]] = [(*TITLES, *(f"{peer.name} ms" for peer in peers))]
    for r in results:
        ours = ["-"] * 6
        if r.seconds:
            ours = [milliseconds(r.seconds), f"{r.moved / 1e6:.1f}", f"{r.bandwidth / 1e9:.1f}",
                    f"{r.bandwidth / copy:.1%}", milliseconds(r.in_kernels),
                    f"{r.moved / r.in_kernels / copy:.1%}" if r.in_kernels else "-"]
        found.append((r.name, f"{r.size:,}", str(r.launches), *ours, *map(milliseconds, r.peers)))
    return found


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f}"


if __name__ == "__main__":
    sys.exit(main())
