"""Times the programs of the Ikra paper's benchmarks: nessie.array fused and not fused, NumPy, Numba, JAX, C.

    python benchmarks/ikra.py [NAME...] [--rounds N] [--processor] [--save FILE]

All take part in one process, round by round in turn; the best of all rounds counts, and results must agree first. Not
fused means that each operation is evaluated before the next; of a host section, that it is compiled with the schedule
`none`. Kernels and bytes are those of one run: what kernels move between memory and their threads, as `nessie profile`
counts them. NumPy goes operation by operation, Numba's loops (@njit(parallel=True)) and C (OpenMP) are written by hand,
as one loop where that can be; JAX compiles NumPy's text by jit, and its arrays are its own before the call. With
--processor, times are those of all processors together, which other work on the machine disturbs least. The last lines
tell what fusing gains, who is ahead, and how long chains of maps take to compile.
"""
from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
os.environ["OMP_WAIT_POLICY"] = "passive"               # who waits takes no processor time
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="nessie-ikra-")      # nothing is compiled before

import numpy as np  # noqa: E402
import peers  # noqa: E402
from processor import processor  # noqa: E402
from suite.ikra import PROGRAMS, Program  # noqa: E402
from suite.report import mean, milliseconds  # noqa: E402

import nessie  # noqa: E402
from nessie.api import program as programs  # noqa: E402
from nessie.arrays import nodes, running  # noqa: E402
from nessie.arrays.array import Array  # noqa: E402
from nessie.running.targets import Target  # noqa: E402

SEED = 1
OTHERS = ("numpy", "numba", "jax", "C")
LARGE, NOISE = 1_000_000, 0.05
CHAINS = (64, 200)


@dataclass(frozen=True)
class Row:
    """What a program has taken: seconds by who, and the kernels and bytes of a run, fused and not."""
    program: Program
    seconds: dict[str, float]
    kernels: dict[str, int]
    bytes: dict[str, int]

    def ratio(self, other: str) -> float:
        return self.seconds.get(other, float("nan")) / self.seconds["fused"]


def main() -> None:
    options = parsed_options()
    chosen = [one for one in PROGRAMS if one.name in options.names or not options.names]
    if missing := set(options.names) - {one.name for one in PROGRAMS}:
        sys.exit(f"there is no program {missing.pop()!r}; there are {', '.join([one.name for one in PROGRAMS])}")
    hand = peers.compiled_c("ikra.c")
    kind, clock = ("processor time, ", process_time) if options.processor else ("", perf_counter)
    told = [f"{processor()}, {os.cpu_count()} cores; {kind}the best of {options.rounds} rounds and more", "", head()]
    print("\n".join(told))
    rows = []
    for program in chosen:
        rows.append(measured(program, hand, options.rounds, clock))
        told.append(line(rows[-1]))
        print(told[-1], flush=True)
    told += ["", *([] if options.names else compile_times(clock)), *summary(rows)]
    print("\n".join(told[len(rows) + 3:]))
    if options.save:
        options.save.write_text("\n".join(told) + "\n", encoding="utf-8")


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processor", action="store_true", help="time all processors together")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the lines there, too")
    return parser.parse_args()


# Fused and not fused ----------------------------------------------------------------------------------


class NotFused(programs.Program):
    """A program each of whose kernels has one operation."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._session.job = replace(self._session.job, fuse="none")


class Edition:
    """Programs of arrays, fused or not, which are kept apart from the others."""

    def __init__(self, fused: bool) -> None:
        self.fused = fused
        self.kept: dict[Any, Any] = {}

    def of(self, program: Program, arguments: Sequence[Any]) -> Callable[[], Any]:
        own = nessie.host_section(program.own) if program.section else program.own

        def work() -> Any:
            with self.compiling():
                return evaluated(own(*arguments))
        return work

    @contextmanager
    def compiling(self) -> Iterator[None]:
        before = running._kept, Array.__init__
        running._kept = self.kept
        if not self.fused:
            running.Program = NotFused                          # type: ignore[misc]
            Array.__init__ = at_once                            # type: ignore[method-assign]
        try:
            yield
        finally:
            running._kept, Array.__init__ = before              # type: ignore[method-assign]
            running.Program = programs.Program                  # type: ignore[misc]


def at_once(array: Array, node: nodes.Node) -> None:
    """Make an array that is computed now. Places and zipped arrays take no kernel."""
    array._nessie_node = node
    if not isinstance(node.operation, nodes.Index | nodes.Zipped):
        running.evaluate([node], "cpu")


def evaluated(value: Any) -> Any:
    return value.evaluate().to_numpy() if isinstance(value, Array) else value


def counted(fused: bool, program: Program, arguments: Sequence[Any]) -> tuple[int, int]:
    """The launches and the bytes of one run."""
    devices: list[Any] = []
    real = Target.device

    def watched(target: Target, built: Any) -> Any:
        devices.append(real(target, built))
        devices[-1].stats.detailed = True
        return devices[-1]
    Target.device = watched                             # type: ignore[method-assign]
    try:
        Edition(fused).of(program, arguments)()
    finally:
        Target.device = real                            # type: ignore[method-assign]
    return (sum([device.stats.launches for device in devices]),
            sum([kernel.bytes for device in devices for kernel in device.stats.kernels.values()]))


# Measuring --------------------------------------------------------------------------------------------


def measured(program: Program, hand: Any, rounds: int, clock: Callable[[], float]) -> Row:
    """Time all that are here. AssertionError where a result differs."""
    arguments = program.arguments(np.random.default_rng(SEED))
    editions = {"fused": True, "apart": False}
    counts = {name: counted(fused, program, arguments) for name, fused in editions.items()}
    works = {name: Edition(fused).of(program, arguments) for name, fused in editions.items()}
    result = works["fused"]()
    assert program.same(result, works["apart"]()), f"{program.name}: results differ when it is not fused"
    forms = {name: (other, getattr(other, "own_form", peers.as_given)) for name, other in program.others.items()}
    works |= peers.others(program, forms, arguments, result, hand)
    del result
    seconds = peers.best_times(works, rounds, clock)
    return Row(program, seconds, {name: kernels for name, (kernels, _) in counts.items()},
               {name: size for name, (_, size) in counts.items()})


def compile_times(clock: Callable[[], float]) -> list[str]:
    """How long chains of maps take until their first value, in a process that has compiled before."""
    evaluated(chain(3))
    told = []
    for length in CHAINS:
        began = clock()
        chain(length).evaluate()
        taken, kernels = clock() - began, str(chain(length).kernels()).count(" = run K")
        told.append(f"a chain of {length} maps: {taken * 1e3:.0f} ms until its first value, {kernels} kernel"
                    + "s" * (kernels != 1))
    return told


def chain(length: int) -> Array:
    a = nessie.asarray(np.arange(1000.0))
    for _ in range(length // 2):
        a = a.map(lambda x: x * 1.5 + 1.0).map(lambda x: abs(x - 3.0))
    return a.map(lambda x: x + 0.5) if length % 2 else a


# Telling ----------------------------------------------------------------------------------------------


def head() -> str:
    who = "".join([f"{name:>9}" for name in ("fused", "apart", *map(shown_name, OTHERS))])
    return (f"{'milliseconds of':24}{'size':>15}{'kernels':>11}{'MB':>15}{who}{'apart/fused':>13}"
            + "".join([f"{shown_name(name) + '/':>8}" for name in OTHERS]))


def line(row: Row) -> str:
    kernels = f"{row.kernels['fused']} / {row.kernels['apart']}"
    size = f"{megabytes(row.bytes['fused'])} / {megabytes(row.bytes['apart'])}"
    times = "".join([f"{milliseconds(row.seconds.get(name)):>9}" for name in ("fused", "apart", *OTHERS)])
    ratios = [row.ratio(name) for name in ("apart", *OTHERS)]
    shown = ["-" if ratio != ratio else f"{ratio:.2f}" for ratio in ratios]
    return (f"{row.program.name:24}{row.program.size:>15}{kernels:>11}{size:>15}{times}{shown[0]:>13}"
            + "".join([f"{one:>8}" for one in shown[1:]]))


def megabytes(size: int) -> str:
    return f"{size / 1e6:.{0 if size > 1e7 else 1}f}"


def summary(rows: Sequence[Row]) -> list[str]:
    large = [row for row in rows if row.program.elements >= LARGE and not row.program.dense]
    told = [f"geometric means: {mean([row.ratio('apart') for row in rows]):.2f} x as fast as apart, " + ", ".join([
            f"{mean([row.ratio(name) for row in rows if name in row.seconds]):.2f} x {shown_name(name)}"
            for name in OTHERS if any([name in row.seconds for row in rows])])]
    slower = [row for row in rows if row.ratio("apart") < 1 - NOISE]
    told.append(f"slower fused than apart, by more than {NOISE:.0%}: {names(slower)}")
    for other, least in (("numpy", 1.0), ("jax", 1.0), ("numba", 0.9)):
        behind = [row for row in large if row.ratio(other) < least]
        told.append(f"below {least:g} x {shown_name(other)}, of 10^6 elements and more, but dense products: "
                    f"{names(behind)}")
    for other in ("numba", "jax"):
        if not any([other in row.seconds for row in rows]):
            told.append(f"{shown_name(other)} is not installed")
    return told


def shown_name(name: str) -> str:
    return {"numpy": "NumPy", "numba": "Numba", "jax": "JAX"}.get(name, name)


def names(rows: Sequence[Row]) -> str:
    return "; ".join([row.program.name for row in rows]) or "none"


if __name__ == "__main__":
    main()
