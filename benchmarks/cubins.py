"""What the kernels of all examples, and of a kernel for each skeleton, take of GPUs: registers, shared memory, spills.

    python benchmarks/cubins.py [NAME...] [--arch sm_75 --arch sm_90 ...] [--save FILE]

Each program is compiled without fusion (`none`) and with the usual schedule (`ilp`), then by NVRTC, or else nvcc, for
each architecture; no GPU is needed. A line is a kernel; what differs between architectures is told for each, in their
order. `spills` are bytes of stores and loads together. Needs the extra `test`.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"),
                str(ROOT / "tests" / "support" / "programs"), str(ROOT / "tests" / "cudagen")]

from cuda_programs import PROGRAMS, built  # noqa: E402

from nessie.cudagen.cuda.nvidia import compiler  # noqa: E402
from nessie.cudagen.cuda.nvidia.compiler import assembled  # noqa: E402
from nessie.cudagen.cuda.nvidia.usage import Usage, table  # noqa: E402

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
TITLES = ("program", "form", "schedule", "kernel", "registers", "spills", "shared", "stack")
NAMES = 4                               # columns that are words

Row = tuple[tuple[str, str, str], tuple[Usage, ...]]    # program, form, schedule; a function on each architecture


def main() -> int:
    options = parsed_options()
    if compiler.found() is None:
        print(f"there is neither NVRTC nor nvcc: {compiler.INSTALL}", file=sys.stderr)
        return 2
    architectures = tuple(options.arch or ARCHITECTURES)
    warnings: list[str] = []
    rows = [row for name in options.names or PROGRAMS for row in rows_of(name, architectures, warnings)]
    printed = table([TITLES, *map(cells, rows)], NAMES)
    text = "\n".join([head(architectures), "", printed, *summary(rows), *warnings, ""])
    print(text, end="")
    if options.save:
        Path(options.save).write_text(text, encoding="utf-8")
    return 1 if warnings else 0


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    parser.add_argument("--arch", action="append", help=f"default: {', '.join(ARCHITECTURES)}")
    parser.add_argument("--save", help="a file for the table")
    options = parser.parse_args()
    for name in options.names:
        if name not in PROGRAMS:
            parser.error(f"there is no program {name}; the programs are {', '.join(PROGRAMS)}")
    return options


def head(architectures: Iterable[str]) -> str:
    found = compiler.found()
    assert found is not None
    return f"{found.name} {compiler.version(found)}; {' / '.join(architectures)}"


def rows_of(name: str, architectures: tuple[str, ...], warnings: list[str]) -> Iterator[Row]:
    """A row for each function of the program's; what compilers warn of goes to `warnings`."""
    for made in built(name):
        found = [assembled(made.built.text, architecture) for architecture in architectures]
        for architecture, one in zip(architectures, found, strict=True):
            warnings += [f"{name} {made.schedule} {architecture}: {warning}" for warning in one.warnings]
        usages = [{usage.function: usage for usage in one.usages} for one in found]
        for function in sorted(usages[0], key=lambda name: made.built.text.find(f" {name}(")):
            yield (name, str(made.form), made.schedule), tuple(of[function] for of in usages)


def cells(row: Row) -> tuple[str, ...]:
    of, usages = row
    columns = [[u.registers for u in usages], [u.spill_stores + u.spill_loads for u in usages],
               [u.shared for u in usages], [u.stack for u in usages]]
    return (*of, usages[0].function, *map(told, columns))


def told(numbers: list[int | None]) -> str:
    """One number where all are alike."""
    words = ["-" if number is None else str(number) for number in numbers]
    return words[0] if len(set(words)) == 1 else "/".join(words)


def summary(rows: list[Row]) -> Iterator[str]:
    usages = [usage for _, of in rows for usage in of]
    spilling = sum(any(u.spill_stores or u.spill_loads for u in of) for _, of in rows)
    yield f"{len(rows)} kernels, {spilling} with spills; at most {max(u.registers or 0 for u in usages)} registers, "\
          f"{max(u.shared for u in usages):,} bytes of shared memory, {max(u.stack for u in usages)} of stack"


if __name__ == "__main__":
    sys.exit(main())
