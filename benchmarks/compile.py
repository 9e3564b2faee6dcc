"""How long programs take from text to answer, from a cold cache: cases a second, and where the time goes.

    python benchmarks/compile.py [--target T] [--every N] [--from N] [--rounds N] [--cases FILE] [--against CHECKOUT]

Programs come from a file of JSON lines (tests/support/nesl_cases.jsonl); each is evaluated in a session of its own, in
one process for each checkout, program by program in turn. The best of all rounds counts, as processor time, so that
other work on the machine matters little. Start-up is left out: it is measured by `time nessie eval 1`.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WARM_UP = 5                     # programs, for what is imported and worked out once


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--target", default="cpu")
    options.add_argument("--every", type=int, default=1, metavar="N", help="take each Nth program only")
    options.add_argument("--from", type=int, default=0, dest="first", metavar="N", help="beginning with this one")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--cases", type=Path, default=ROOT / "tests" / "support" / "nesl_cases.jsonl")
    options.add_argument("--against", type=Path, metavar="CHECKOUT", help="another version, to compare with")
    options.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(given.serve, given.target, given.rounds)
    else:
        compare(given)


def compare(options: argparse.Namespace) -> None:
    cases = [json.loads(line)["source"] for line in options.cases.read_text("utf-8").splitlines()]
    cases = cases[options.first::options.every]
    trees = [ROOT] if options.against is None else [options.against.resolve(), ROOT]
    spent: list[Counter[str]] = [Counter() for _ in trees]
    servers = [server(tree, options) for tree in trees]
    for number, case in enumerate(cases[:WARM_UP] + cases):
        for found, process in zip(spent, servers, strict=True):
            answer = ask(process, case)
            if number >= WARM_UP:
                found.update(answer)
    for process in servers:
        process.stdin.close()
        process.wait()
    print(f"{len(cases)} programs, {options.target}" + (", the other version first" if options.against else ""))
    print("cases a second" + "".join(f"{len(cases) / found['all']:10.1f}" for found in spent))
    for name in sorted(spent[-1], key=lambda name: -spent[-1][name]):
        print(f"{name:14}" + "".join(f"{found[name] / len(cases) * 1e3:7.2f} ms" for found in spent))


def server(tree: Path, options: argparse.Namespace) -> Any:
    """A process that evaluates with the version in this folder, whose own script knows its modules."""
    told = ["--serve", str(tree), "--target", options.target, "--rounds", str(options.rounds)]
    script = str(tree / "benchmarks" / "compile.py")
    return subprocess.Popen([sys.executable, script, *told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: Any, case: str) -> dict[str, float]:
    process.stdin.write(json.dumps(case) + "\n")
    process.stdin.flush()
    answer: dict[str, float] = json.loads(process.stdout.readline())
    return answer


# In a process of its own ------------------------------------------------------------------------


def serve(tree: Path, target: str, rounds: int) -> None:
    """Reads programs and writes what each took, until there are no more."""
    sys.path[0] = str(tree)
    from nessie import driver
    from nessie.base.system.deep import run_deep
    from nessie.schedule import schedule
    from nessie.tool.command_line import parse_command_line
    from nessie.tool.commands.evaluate import answer

    options = parse_command_line(["eval", "--jsonl", "--target", target])
    spent: Counter[str] = Counter()
    steps = driver.steps

    def timed_steps(*given: Any) -> Iterator[driver.PassResult]:
        for step in steps(*given):
            spent[step.ran.name] += step.seconds
            yield step

    def cold(case: str, folder: str) -> dict[str, float]:
        schedule._solved.clear()
        for file in Path(folder).rglob("*.o"):
            file.unlink()
        spent.clear()
        started = process_time()
        answer(options, case)
        took = process_time() - started
        spent.update({"all": took, "elsewhere": took - sum(spent.values())})
        return dict(spent)

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            os.chdir(folder)                    # some write files
            for line in sys.stdin:
                tries = [cold(json.loads(line), folder) for _ in range(rounds)]
                print(json.dumps(min(tries, key=lambda found: found["all"])), flush=True)

    driver.steps = timed_steps                # type: ignore[assignment]
    driver.perf_counter = process_time        # type: ignore[attr-defined]
    run_deep(work)


if __name__ == "__main__":
    main()
