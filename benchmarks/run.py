"""Times workloads, NumPy's version of each, and a plain copy loop, side by side in one process.

    python benchmarks/run.py [NAME...] [--size N] [--rounds N] [--threads N] [--counted N] [--save FILE]

Programs are compiled once and run as a library's user would run them again and again. Every round times each of the
three once, in turn, so that a machine that is busy is so for all of them; the best of all rounds counts, and how far
the median is from it says how quiet the machine was. Bytes are counted by interpreting the same kernels
(cudagen.cpu.interpreted) on `--counted` elements, and scaled as the work grows.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
from processor import processor  # noqa: E402
from workloads import WORKLOADS, Workload  # noqa: E402

from nessie.base.source import Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.cudagen.cpu import device as cpu  # noqa: E402
from nessie.cudagen.cpu import llvm  # noqa: E402
from nessie.cudagen.cpu import machine_code as building  # noqa: E402
from nessie.cudagen.cpu.assemble import CpuProgram  # noqa: E402
from nessie.cudagen.cpu.interpreted import Interpreted  # noqa: E402
from nessie.cudagen.cpu.threads.pool import shared_pool  # noqa: E402
from nessie.cudagen.host import host  # noqa: E402
from nessie.cudagen.host.translate import translate  # noqa: E402
from nessie.cudagen.loops import text as loops_text  # noqa: E402
from nessie.driver import compile_program  # noqa: E402
from nessie.forms import TEXT  # noqa: E402
from nessie.lambda_cu import nodes as ir  # noqa: E402
from nessie.pipeline import Job, pass_named  # noqa: E402
from nessie.syntax.parser import parse_type  # noqa: E402

COPY = """
host copy(int first_chunk, int last_chunk, int n, float[] xs, writable float[] ys) {
  for (chunk = first_chunk; chunk < last_chunk; chunk += 1) {
    int low = chunk * 32768;
    int high = min(low + 32768, n);
    for (i = low; i < high; i += 1) {
      float x = xs[i];
      ys[i] = x;
    }
  }
}
"""
CHUNK = 32768
SEED = 1


@dataclass(frozen=True)
class Result:
    """Seconds are the best of the rounds; `unquiet` is the median by the best. `bytes` moved by the kernels in one run,
    as executed."""
    name: str
    size: int
    launches: int
    bytes: int
    nessie: float
    numpy: float
    copy: float
    copied: int
    unquiet: float

    @property
    def bandwidth(self) -> float:
        """As a share of the copy's."""
        return (self.bytes / self.nessie) / (self.copied / self.copy)


def main() -> None:
    options = parsed_options()
    print(f"{'workload':12}{'size':>12}{'launches':>10}{'Nessie':>11}{'NumPy':>11}{'copy':>10}"
          f"{'NumPy/Nessie':>14}{'moved':>11}{'of copy':>9}{'median/best':>13}")
    results = []
    for name in options.names or WORKLOADS:
        result = measured(WORKLOADS[name], options)
        results.append(result)
        print(row(result), flush=True)
    if options.save:
        rows = [{**asdict(r), "of_copy": round(r.bandwidth, 3)} for r in results]
        text = json.dumps({"machine": machine(options.threads), "results": rows}, indent=2)
        Path(options.save).write_text(text + "\n", encoding="utf-8")


def row(r: Result) -> str:
    return (f"{r.name:12}{r.size:12,}{r.launches:10,}{r.nessie * 1e3:8.2f} ms{r.numpy * 1e3:8.2f} ms"
            f"{r.copy * 1e3:7.2f} ms{r.numpy / r.nessie:14.2f}{r.bytes / 1e6:8.1f} MB"
            f"{r.bandwidth:9.0%}{r.unquiet:13.2f}")


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--size", type=int, help="elements (default: each workload's own)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--counted", type=int, help="elements on which bytes are counted")
    parser.add_argument("--save", help="a file for the results, as JSON")
    return parser.parse_args()


def measured(workload: Workload, options: argparse.Namespace) -> Result:
    built = compiled(workload)
    program = built.program
    size = options.size or workload.size
    arguments = workload.arguments(np.random.default_rng(SEED), size)
    device = cpu.Cpu(built, options.threads)
    packed = for_entry(program, workload.given(*arguments))

    def nessie() -> Any:
        return host.execute(program, built.host, packed, device)

    def numpy() -> Any:
        return workload.numpy(*arguments)

    compare(workload, nessie(), numpy())
    before = device.stats.launches
    times = interleaved([nessie, numpy, copy_loop(size, options.threads)], options.rounds)
    launches = (device.stats.launches - before) // (options.rounds + 1)
    own, numpys, copys = map(min, times)
    return Result(workload.entry, size, launches, moved(workload, program, size, options.counted), own, numpys, copys,
                  16 * size, round(median(times[0]) / own, 2))


def compiled(workload: Workload) -> CpuProgram:
    source = Source(workload.entry, (ROOT / "nesl_examples" / f"{workload.entry}.nesl").read_text("utf-8"))
    job = Job(entry=workload.entry, argument=parse_type(Source("type", workload.type)))
    built: CpuProgram = run_deep(lambda: compile_program(job, TEXT, source, pass_named("assemble")))
    return built


def for_entry(program: ir.Program, given: Any) -> list[Any]:
    """The entry's arguments: it may take a tuple as one, or its parts."""
    return [given] if len(program.entry.arguments) == 1 else list(given)


def compare(workload: Workload, found: Any, expected: Any) -> None:
    for ours, numpys in zip(workload.arrays(found), workload.arrays(expected), strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-9, atol=1e-12)


def interleaved(works: list[Callable[[], Any]], rounds: int) -> list[list[float]]:
    """Seconds of each, after one run of each that nobody times. Results live as long as the next run, as in a loop."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 1):
        for work, seconds in zip(works, times, strict=True):
            began = perf_counter()
            work()
            if number:
                seconds.append(perf_counter() - began)
    return times


def copy_loop(n: int, threads: int) -> Callable[[], None]:
    """Copies n floats, compiled and run on threads as kernels are."""
    code = building.build(llvm.llvm(loops_text.parse(COPY)))
    function = cpu.ENTRY(building.load(code, ["copy.call"])["copy.call"])
    xs, ys = np.random.default_rng(SEED).random(n), np.zeros(n)
    words = (ctypes.c_int64 * 3)(n, xs.ctypes.data, ys.ctypes.data)
    interrupt = (ctypes.c_int64 * 1)()
    chunks = -(-n // CHUNK)

    def copy(kept: Any = (xs, ys)) -> None:         # words hold addresses alone
        shared_pool(threads).run(function, chunks, words, interrupt)

    copy()
    np.testing.assert_array_equal(xs, ys)
    return copy


def moved(workload: Workload, program: ir.Program, size: int, counted: int | None) -> int:
    """Bytes that kernels load and store in a run on `size` elements."""
    small = min(size, counted or workload.counted)
    device = Interpreted(program)
    arguments = workload.arguments(np.random.default_rng(SEED), small)
    host.execute(program, translate(program), for_entry(program, workload.given(*arguments)), device)
    return round(device.bytes * workload.work(size) / workload.work(small))


def machine(threads: int) -> dict[str, Any]:
    return {"processor": processor(), "cores": os.cpu_count(), "threads": threads, "system": platform.system(),
            "python": platform.python_version(), "numpy": np.__version__,
            "load": round(os.getloadavg()[0], 1),       # of the last minute; beyond `threads`, others ran as well
            "llvm": ".".join(map(str, building.tools()[0].llvm_version_info))}


if __name__ == "__main__":
    main()
