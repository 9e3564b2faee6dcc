"""The first hours on a GPU, as three runs of at most four minutes each, which may be stopped at any time.

    python benchmarks/gpu_runs.py build|test|measure [--out DIR] [--seconds N]

    build       what is here; examples and expressions on the GPU; a first table
    test        tests/gpu/test_on_gpu*.py, then compute-sanitizer's four tools on an example
    measure     the table of benchmarks/gpu.py, then ncu's sectors per request of some of its workloads

A run is a list of steps, commands each of which has its own seconds; one that takes longer is stopped, and so is what
is left when the run's time is over. Whatever a step prints goes to DIR/RUN-STEP.log while it runs, and DIR/RUN.txt says
how each step that has been begun ended, written anew after each: nothing is lost when the machine is taken away.
At its end `measure` writes DIR/sectors.txt: of each kernel the sectors per request that ncu has measured, beside those
that cudasim counts on fewer elements, as `nessie profile --target cudasim --counters` does.

Status 2: there is no GPU, or something else is missing, which is told. Status 1: a step has failed or was stopped.
What a step needs (ncu, compute-sanitizer) may be missing: the step is then left out, and said to be.
"""
from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from statistics import mean
from time import monotonic

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np  # noqa: E402
from gpu import SEED, pytest_on, written  # noqa: E402
from gpu_workloads import WORKLOADS  # noqa: E402
from resident import Resident  # noqa: E402

from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.cudagen.cuda.cudasim import compiler as cudasim  # noqa: E402
from nessie.cudagen.cuda.cudasim.counted import LOAD, STORE  # noqa: E402
from nessie.cudagen.cuda.cudasim.counting import Counting  # noqa: E402
from nessie.cudagen.cuda.nvidia import detection  # noqa: E402
from nessie.cudagen.cuda.nvidia.usage import table  # noqa: E402
from nessie.running.counting import counting_program  # noqa: E402

SECONDS = 240                           # of a run
MISUSED = 2
NESSIE = (sys.executable, "-m", "nessie")
TABLE = (sys.executable, str(HERE / "gpu.py"), "--tests", "none", "--rounds", "10")
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")
PROFILED = ("map", "scan", "filter", "segmented reduce, 8", "SpMV, 16 a row", "sort")
LOADS, STORES = (f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio" for op in ("ld", "st"))
METRICS = (LOADS, STORES, "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum")
LAUNCHES = "24"                         # that ncu measures: gpu.py's trial of the GPU, and a run of any workload
NCU = ("ncu", "--clock-control", "none", "--launch-count", LAUNCHES, "--metrics", ",".join(METRICS), "--csv")
COUNTED = 1 << 15                       # elements

Sectors = dict[str, dict[str, float]]   # of a kernel per request, by metrics


@dataclass(frozen=True)
class Step:
    """`command` runs for so many seconds at most; its first word may be missing here."""
    name: str
    command: tuple[str, ...]
    seconds: int


def steps(run: str, out: Path) -> list[Step]:
    example = str(ROOT / "nesl_examples" / "quicksort.nesl")
    if run == "build":
        return [Step("card", ("nvidia-smi",), 20), Step("doctor", (*NESSIE, "doctor"), 30),
                *(Step(name, (*NESSIE, "run", str(ROOT / "nesl_examples" / f"{name}.nesl"), "--target", "cuda"), 20)
                  for name in ("norm2", "quicksort", "bfs", "sparse_mxv", "primes")),
                Step("long", (*NESSIE, "eval", "--target", "cuda", "sum(plus_scan({i : i in [0:30000000]}))"), 60),
                Step("table", (*TABLE, "--save", str(out / "first.txt"), "map", "copy", "reduce", "scan", "filter"),
                     120)]
    if run == "test":
        at_once = ("-n", "8") if find_spec("xdist") else ()
        return [Step("tests", tuple(pytest_on("cuda", "-q", "--maxfail=30", *at_once)), 200),
                *(Step(tool, ("compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *NESSIE, "run", example,
                              "--target", "cuda"), 40) for tool in SANITIZERS)]
    return [Step("table", (*TABLE, "--save", str(out / "table.txt")), 150),
            *(Step(short(name), (*NCU, "--log-file", str(out / f"{short(name)}.csv"), *TABLE[:-1], "1", "--size",
                                 str(1 << 24), name), 40) for name in PROFILED)]


def short(name: str) -> str:
    return f"ncu-{name.split()[0].lower()}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", choices=("build", "test", "measure"))
    parser.add_argument("--out", type=Path, default=Path("gpu-out"), help="a folder for what is found (gpu-out)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"for all of the run ({SECONDS})")
    options = parser.parse_args(words)
    missing = detection.problem()
    if missing:
        print(f"benchmarks/gpu_runs.py cannot run: {': '.join(missing)}", file=sys.stderr)
        return MISUSED
    options.out.mkdir(parents=True, exist_ok=True)
    out = options.out.resolve()
    done = carry_out(options.run, steps(options.run, out), out, options.seconds)
    if options.run == "measure":
        compare(out)
    return int(not done)


def carry_out(run: str, todo: Sequence[Step], out: Path, seconds: float) -> bool:
    """Carries the steps out, and keeps account; has all gone well? A signal that ends the run is told, too."""
    end, told = monotonic() + seconds, list[str]()

    def tell(line: str) -> None:
        told.append(line)
        print(line, flush=True)
        (out / f"{run}.txt").write_text("".join(f"{line}\n" for line in told), encoding="utf-8")

    def stopped(number: int, _: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = signal.signal(signal.SIGTERM, stopped)
    well = True
    try:
        for step in todo:
            left = min(step.seconds, end - monotonic())
            if shutil.which(step.command[0]) is None:
                tell(f"{step.name}: not run: there is no {step.command[0]}")
            elif left <= 0:
                tell(f"{step.name}: not run: the time is over")
                well = False
            else:
                how = carried_out(step, out / f"{run}-{step.name}.log", left)
                tell(f"{step.name}: {how}")
                well = well and how.startswith("done")
    except KeyboardInterrupt as signalled:
        tell(f"stopped by {signalled or 'Ctrl-C'}")
        return False
    finally:
        signal.signal(signal.SIGTERM, before)
    return well


def carried_out(step: Step, log: Path, seconds: float) -> str:
    """How it went. A step's processes are of a group of their own, which ends with it."""
    began = monotonic()
    with log.open("w", encoding="utf-8") as said, subprocess.Popen(
            step.command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT,
            start_new_session=True, env={**os.environ, "PYTHONUNBUFFERED": "1", "NESSIE_TESTS": "ci"}) as process:
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"stopped after {monotonic() - began:.0f} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return f"{'done' if status == 0 else f'failed, status {status},'} in {monotonic() - began:.0f} s"


# What ncu says, and what was counted --------------------------------------------------------------


def compare(out: Path) -> None:
    """Writes sectors.txt, of the workloads that ncu has been through."""
    told = ""
    for name in PROFILED:
        measured = out / f"{short(name)}.csv"
        if measured.exists():
            told += f"{name}\n{side_by_side(sectors(measured.read_text('utf-8')), counts(name, COUNTED))}\n"
            (out / "sectors.txt").write_text(told, encoding="utf-8")


def counts(name: str, size: int) -> Sectors:
    """Of the workload's kernels, on cudasim; none where that is not."""
    if not cudasim.found():
        return {}
    [workload] = [w for w in WORKLOADS if w.name == name]
    built, points = counting_program(*written(workload))
    driver = Counting(points)
    arguments = workload.given(*workload.arguments(np.random.default_rng(SEED), size))
    run_deep(lambda: Resident(built, driver, arguments, 1 << 40).run())
    sums = defaultdict[tuple[str, str], list[int]](lambda: [0, 0])
    for access in driver.accesses():
        if not access.point.shared and access.point.kind in (LOAD, STORE):
            of = sums[access.launched, LOADS if access.point.kind == LOAD else STORES]
            of[0] += access.sectors
            of[1] += access.requests
    found: Sectors = {}
    for (kernel, metric), (moved, requests) in sums.items():
        found.setdefault(kernel, {})[metric] = moved / requests
    return found


def side_by_side(measured: Sectors, by_cudasim: Sectors) -> str:
    def cell(found: Sectors, kernel: str, metric: str) -> str:
        number = found.get(kernel, {}).get(metric)
        return "-" if number is None else f"{number:.1f}"

    return table([("kernel", "loads: ncu", "counted", "stores: ncu", "counted"),
                  *((kernel, *(cell(found, kernel, metric) for metric in (LOADS, STORES)
                               for found in (measured, by_cudasim))) for kernel in {**measured, **by_cudasim})])


def sectors(text: str) -> Sectors:
    """Of each kernel per request, the mean of its launches on the most blocks, from what `ncu --csv` has printed: first
    gpu.py tries the GPU with a kernel on one element, which may have the same name."""
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), len(lines))    # programs print, too
    found = dict[str, dict[str, list[tuple[int, float]]]]()
    for row in csv.DictReader(StringIO("\n".join(line for line in lines[first:] if line.startswith('"')))):
        number = (row.get("Metric Value") or "").replace(",", "")
        if row.get("Metric Name") in (LOADS, STORES) and number.replace(".", "", 1).isdigit():
            kernel = str(row["Kernel Name"]).partition("(")[0]
            blocks = int(str(row["Grid Size"]).strip("(").split(",")[0])
            found.setdefault(kernel, {}).setdefault(str(row["Metric Name"]), []).append((blocks, float(number)))
    return {kernel: {metric: mean([value for blocks, value in of if blocks == max(of)[0]])
                     for metric, of in metrics.items()} for kernel, metrics in found.items()}


if __name__ == "__main__":
    sys.exit(main())
