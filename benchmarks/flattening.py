"""What flattening costs: nested programs beside flat ones, and beside loops written by hand. Time and memory.

    python benchmarks/flattening.py [NAME...] [--rounds N] [--threads N]

    mandelbrot    1000 x 1000 points, 200 steps at most, as a nested apply-to-each; the same loop for Numba, parallel
    matmul        512 x 512, as a nest of three; the triple loop in C, compiled with -O2, on one thread
    sparse_mxv    a million rows of ten; the form in which the vector is gathered before, by hand
    memory        peak of a process that reads that matrix and vector from files, computes and writes the result, less
                  that of a small run, by the bytes of matrix, vector and result; with the vector free at depth three,
                  too

Each line has the best seconds of all rounds, taken in turn within one process, and their ratio. What is not installed
(Numba, a C compiler) is left out, and said so.
"""
from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
from run import interleaved  # noqa: E402

from nessie.base.source import Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.base.values import Flat, Nested  # noqa: E402
from nessie.cudagen.cpu import device as cpu  # noqa: E402
from nessie.cudagen.host import host  # noqa: E402
from nessie.driver import compile_program  # noqa: E402
from nessie.forms import TEXT  # noqa: E402
from nessie.pipeline import Job, pass_named  # noqa: E402

PROGRAM = """
function steps(x, y, cx, cy, i, limit) =
  let xx = x * x; yy = y * y
  in if xx + yy > 4.0 or i == limit then i else steps(xx - yy + cx, 2.0 * x * y + cy, cx, cy, i + 1, limit);

function mandelbrot(n, limit) : (int, int) -> [[int]] =
  {{steps(0.0, 0.0, -2.25 + 3.0 * float(c) / float(n), -1.25 + 2.5 * float(r) / float(n), 0, limit)
    : c in [0:n]} : r in [0:n]};

function matmul(a, b) : ([[float]], [[float]]) -> [[float]] =
  let columns = transpose(b) in {{sum({x * y : x in row; y in column}) : column in columns} : row in a};

function sparse_mxv(m, v) : ([[(int, float)]], [float]) -> [float] = {sum({a * v[j] : (j, a) in row}) : row in m};

function hoisted(m, v) : ([[(int, float)]], [float]) -> [float] =
  let entries = flatten(m);
      xs = v -> {j : (j, a) in entries};
      products = {a * x : (j, a) in entries; x in xs}
  in {sum(row) : row in partition(products, {#row : row in m})};

function three(m, v) : ([[(int, float)]], [float]) -> [[float]] =
  let parts = partition(m, [#m / 4, 0, #m - #m / 4])
  in {{sum({a * v[j] : (j, a) in row}) : row in part} : part in parts};
"""
TRIPLE_LOOP = """
void matmul(long n, const double *a, const double *b, double *c) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) {
      double sum = 0.0;
      for (long k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
"""
WATCH = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss * (1 if sys.platform == 'darwin' else 1024))
sys.exit(status != 0)
"""                             # a small process that starts another: a child's peak is its parent's at least
ROWS, ROW = 1_000_000, 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PARTS))
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    for name in given.names or PARTS:
        PARTS[name](given)


def show(name: str, other: str, own: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> None:
    ours, others = map(min, interleaved([own, theirs], rounds))
    print(f"{name:12}{ours * 1e3:9.2f} ms   {other:14}{others * 1e3:9.2f} ms   ratio {ours / others:5.2f}", flush=True)


def entry(name: str, threads: int) -> Callable[..., Any]:
    """The compiled function, on flat values; its programs' launches are in `.launches`."""
    job = Job(entry=name)
    built = run_deep(lambda: compile_program(job, TEXT, Source(name, PROGRAM), pass_named("assemble")))
    device = cpu.Cpu(built, threads)

    def call(*arguments: Any) -> Any:
        return host.execute(built.program, built.host, list(arguments), device)

    call.device = device            # type: ignore[attr-defined]
    return call


def mandelbrot(options: argparse.Namespace) -> None:
    own = entry("mandelbrot", options.threads)
    counts = own(1000, 200)
    print(f"mandelbrot: {own.device.stats.launches} launch")       # type: ignore[attr-defined]
    try:
        from numba import njit, prange, set_num_threads
    except ImportError:
        print("mandelbrot: Numba is not installed")
        return
    set_num_threads(options.threads)

    def loops(n: int, limit: int) -> Any:
        result = np.empty((n, n), np.int64)
        for r in prange(n):
            for c in range(n):
                cx, cy = -2.25 + 3.0 * c / n, -1.25 + 2.5 * r / n
                x, y, i = 0.0, 0.0, 0
                while x * x + y * y <= 4.0 and i != limit:
                    x, y, i = x * x - y * y + cx, 2.0 * x * y + cy, i + 1
                result[r, c] = i
        return result

    compiled = njit(parallel=True)(loops)
    np.testing.assert_array_equal(np.asarray(counts.column.content).reshape(1000, 1000), compiled(1000, 200))
    show("mandelbrot", "Numba", lambda: own(1000, 200), lambda: compiled(1000, 200), options.rounds)


def matmul(options: argparse.Namespace, n: int = 512) -> None:
    random = np.random.default_rng(1)
    a, b = random.random((n, n)), random.random((n, n))
    own = entry("matmul", options.threads)
    rows = [Flat(n, Nested(np.arange(0, n * n + 1, n), matrix.reshape(-1))) for matrix in (a, b)]
    np.testing.assert_allclose(np.asarray(own(*rows).column.content).reshape(n, n), a @ b)
    compiler = shutil.which("cc")
    if compiler is None:
        print("matmul: there is no C compiler")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "matmul.c", Path(folder) / "matmul.so"
        source.write_text(TRIPLE_LOOP)
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        loops = ctypes.CDLL(str(library)).matmul
        c = np.zeros((n, n))
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)]
        show("matmul", "C, one thread", lambda: own(*rows), lambda: loops(ctypes.c_long(n), *pointers), options.rounds)


def sparse_matrix(rows: int) -> tuple[Any, ...]:
    random = np.random.default_rng(1)
    return (np.arange(0, ROW * rows + 1, ROW), random.integers(0, rows, ROW * rows), random.random(ROW * rows),
            random.random(rows))


def sparse_mxv(options: argparse.Namespace) -> None:
    offsets, columns, values, vector = sparse_matrix(ROWS)
    given = Flat(ROWS, Nested(offsets, (columns, values))), Flat(ROWS, vector)
    own, hoisted = entry("sparse_mxv", options.threads), entry("hoisted", options.threads)
    np.testing.assert_allclose(own(*given).column, hoisted(*given).column)
    show("sparse_mxv", "hoisted", lambda: own(*given), lambda: hoisted(*given), options.rounds)


def memory(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.nesl").write_text(PROGRAM)
        for rows in (10, ROWS):
            offsets, columns, values, vector = sparse_matrix(rows)
            np.savez(Path(folder) / f"m{rows}.npz", data=values, indices=columns, indptr=offsets,
                     shape=np.array([rows, rows]), format=b"csr")
            np.save(Path(folder) / f"v{rows}.npy", vector)
        data = (8 + 8) * ROWS * ROW + 8 * (ROWS + 1) + 8 * ROWS + 8 * ROWS
        for name in ("sparse_mxv", "hoisted", "three"):
            peak_of(name, 10, folder)                       # so that the program is in the cache
            more = peak_of(name, ROWS, folder) - peak_of(name, 10, folder)
            print(f"{name:12}{more / 1e6:9.1f} MB for {data / 1e6:.1f} MB of data   ratio {more / data:5.2f}")


def peak_of(name: str, rows: int, folder: str) -> int:
    """Bytes that a run of the command line has in memory at most."""
    output = "out.json" if name == "three" else "out.npy"
    run = ["run", "program.nesl", "-e", name, f"@m{rows}.npz", f"@v{rows}.npy", "-o", output]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": folder}
    told = subprocess.run([sys.executable, "-S", "-c", WATCH, sys.executable, "-m", "nessie", *run], cwd=folder,
                          env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return int(told.stdout)


PARTS = {"mandelbrot": mandelbrot, "matmul": matmul, "sparse_mxv": sparse_mxv, "memory": memory}

if __name__ == "__main__":
    main()
