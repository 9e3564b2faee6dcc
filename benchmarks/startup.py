"""How long Nessie takes to start and to give its first answer, beside what Python takes to import NumPy.

    python benchmarks/startup.py [--rounds N] [--save FILE]

Each line is a process of its own, the best of all rounds, in turn. The cache is warm: the answer's kernel has been
compiled before, and so have Nessie's modules. The prompt at a terminal is measured until it stands there.
"""
from __future__ import annotations

import argparse
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ANSWER = "sum({x * x : x in [0:10]});\n"
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
               "PYTHONPATH": str(ROOT), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--save", type=Path, help="write what is printed there as well")
    given = options.parse_args()
    best: dict[str, float] = {}
    answer()
    for _ in range(given.rounds):
        for name, measure in MEASURED.items():
            best[name] = min(best.get(name, float("inf")), timed(measure))
    unit = best["import numpy"]
    lines = [f"best of {given.rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors",
             *(f"{name:34}{seconds:7.3f} s{seconds / unit:7.2f} x import numpy" for name, seconds in best.items())]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if given.save:
        given.save.write_text(f"python benchmarks/startup.py --rounds {given.rounds}\n{text}", "utf-8")


def timed(measure: Callable[[], None]) -> float:
    began = time.perf_counter()
    measure()
    return time.perf_counter() - began


def numpy() -> None:
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)


def version() -> None:
    subprocess.run([sys.executable, "-m", "nessie", "--version"], env=ENVIRONMENT, check=True, capture_output=True)


def answer() -> None:
    """A form that is piped in."""
    ran = subprocess.run([sys.executable, "-m", "nessie"], input=ANSWER, env=ENVIRONMENT, check=True, text=True,
                         capture_output=True)
    assert ran.stdout == "it = 285 : int\n"


def prompt() -> None:
    """Until the prompt stands at a terminal."""
    process, descriptor = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-m", "nessie"], ENVIRONMENT)
    shown = b""
    while b"nesl>" not in shown:
        shown += os.read(descriptor, 4096)
    os.write(descriptor, b"\x04")
    os.close(descriptor)
    os.waitpid(process, 0)


MEASURED: dict[str, Callable[[], None]] = {
    "import numpy": numpy, "nessie --version": version, "first answer, piped": answer, "prompt, and leaving": prompt}


if __name__ == "__main__":
    main()
