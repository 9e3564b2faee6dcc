"""How the time to check, compile and run a program grows with its length.

    python benchmarks/growth.py [NAME...] [--size N] [--doublings N] [--target reference] [--stages]

A program of each shape is made at N, 2N, 4N, ...; a line has the seconds of processor time at each, and the exponent of
the growth at the last doubling: 1 where twice the length takes twice the time, 2 where it takes four times. With
--stages, there are lines for the passes of which a run is made, each with the checks of what it makes; `code` is the
target's, `rest` all around the compiler. Nothing is kept from run to run.
"""
from __future__ import annotations

import argparse
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable
from math import isqrt, log2
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from nessie.__main__ import RARELY  # noqa: E402
from nessie.activity import Activity  # noqa: E402
from nessie.base.source import Source  # noqa: E402
from nessie.base.system.deep import run_deep  # noqa: E402
from nessie.library import library  # noqa: E402
from nessie.pipeline import Checking, Job  # noqa: E402
from nessie.running.targets import Target  # noqa: E402
from nessie.session.session import Session  # noqa: E402
from nessie.syntax import nodes as syntax  # noqa: E402
from nessie.syntax.parse import parse as parse_program  # noqa: E402
from nessie.tool.options import CHECKS  # noqa: E402
from nessie.typing import infer  # noqa: E402

LEAST = 0.02                    # seconds that a pass must take to be shown


def lets(n: int, first: str, more: str) -> str:
    """a0 = `first`, and each further name by `more` of the one before, which is called @."""
    return "; ".join([f"a0 = {first}", *(f"a{i} = {more.replace('@', f'a{i - 1}')}" for i in range(1, n))])


def each(n: int, text: str, between: str = "") -> str:
    """The text n times, with the numbers from 0 in the place of @."""
    return between.join(text.replace("@", str(i)) for i in range(n))


def functions(n: int, body: Callable[[int], str]) -> str:
    """Functions g0, g1, .. of x with these bodies."""
    return "".join(f"function g{i}(x) = {body(i)};\n" for i in range(n))


def all_before(n: int) -> str:
    """As many functions as make n calls, each of all before it."""
    count = isqrt(2 * n)
    bodies = functions(count, lambda i: f"if x > {i} then x else {each(i, 'g@(x)', ' + ') or 0}")
    return f"{bodies}g{count - 1}({count});"


def program(n: int) -> str:
    """Functions of several kinds, and forms that call some of them."""
    bodies = ("let y = x + {0} in y * y", "if x > {0} then g{1}(x - 1) else x", "sum({{k * x : k in [0:9]}}) + g{1}(x)")
    return functions(n, lambda i: bodies[i % 3].format(i, i - 1)) + "".join(f"g{i}(2);\n" for i in range(0, n, 20))


SHAPES: dict[str, Callable[[int], str]] = {
    # literals
    "literal": lambda n: f"[{each(n, '@', ', ')}];",
    "nested literal": lambda n: f"[{each(n, '[@, @]', ', ')}];",
    "literal of tuples": lambda n: f"[{each(n, '(@, 0.5)', ', ')}];",
    "literal of strings": lambda n: f"[{each(n, chr(34) + 'word@' + chr(34), ', ')}];",
    "literal per element": lambda n: f"{{[{each(n, '[x]', ', ')}] : x in [1, 2]}};",
    "computed literal": lambda n: f"function g(x) = [{each(n, 'x + @', ', ')}]; g(1);",
    "brackets": lambda n: f"{'[' * n}1{']' * n};",
    "brackets per element": lambda n: f"{{{'[' * n}x{']' * n} : x in [1, 2]}};",
    "tuple": lambda n: f"({each(n, '@', ', ')});",
    "tuple per element": lambda n: f"{{({each(n, 'x', ', ')}) : x in [1, 2]}};",
    "tuple over a range": lambda n: f"{{({each(n, 'x + @', ', ')}) : x in [0:200]}};",
    "string": lambda n: '"' + "x" * n + '";',
    "comments": lambda n: f"{each(n, '% line @ %' + chr(10))}1;",
    # one expression
    "parentheses": lambda n: "(" * n + "1" + ")" * n + ";",
    "additions": lambda n: f"{each(n, '1', '+')};",
    "operators": lambda n: f"function g(x) = {each(n, 'x', ' + ')}; g(1);",
    "operators per element": lambda n: f"{{{each(n, 'x', ' + ')} : x in [1, 2]}};",
    "conditionals": lambda n: f"function g(x) = {each(n, 'if x == @ then @ else ')}0; g(3);",
    "conditions per element": lambda n: f"{{{each(n, 'if x == @ then @ else ')}0 : x in [1, 2]}};",
    "lets": lambda n: f"function g(x) = let {lets(n, 'x', '@ + 1')} in a{n - 1}; g(1);",
    "parallel lets": lambda n: f"function g(v) = let {lets(n, 'v', '{x + 1 : x in @}')} in a{n - 1}; g([1]);",
    "parallel lets side by side": lambda n: f"function g(v) = let {each(n, 'a@ = {x + @ : x in v}', '; ')} "
                                            f"in {each(n, 'sum(a@)', ' + ')}; g([1]);",
    "parallel lets used again": lambda n: f"function g(v) = let {lets(n, 'v', '{x + 1 : x in @}')} "
                                          f"in {each(n, 'sum(a@)', ' + ')}; g([1]);",
    "maps of maps": lambda n: f"{'{x + 1 : x in ' * n}[1, 2]{'}' * n};",
    "calls of maps": lambda n: f"function g(v) = {{x + 1 : x in v}}; {'g(' * n}[1, 2]{')' * n};",
    "filters of filters": lambda n: f"{'{x - 1 : x in ' * n}[1, {2 * n}]{' | x > 0}' * n};",
    "appended": lambda n: f"function g(v) = {each(n, 'v', ' ++ ')}; g([1]);",
    "calls in calls": lambda n: f"function g(x) = x + 1; {'g(' * n}1{')' * n};",
    "generators": lambda n: f"{{{each(n, 'a@', ' + ')} : {each(n, 'a@ in [1, 2]', '; ')}}};",
    "pattern": lambda n: f"let ({each(n, 'a@', ', ')}) = ({each(n, '@', ', ')}) in a0;",
    "deep pattern": lambda n: f"let {'(' * n}a{each(n, ', b@)')} = {'(' * n}1{', 2)' * n} in a;",
    "lambdas": lambda n: f"{each(n, '(x => x + @)(1)', ' + ')};",
    # functions
    "functions": lambda n: functions(n, lambda i: f"x + {i}") + "g0(1);",
    "chain of calls": lambda n: functions(n, lambda i: f"g{i - 1}(x) + 1" if i else "x") + f"g{n - 1}(1);",
    "calls of two before": lambda n: functions(
        n, lambda i: f"if x < {i} then g{i - 1}(x) else g{i - 2}(x)" if i > 1 else "x") + f"g{n - 1}({n});",
    "calls of all before": all_before,
    "ring of calls": lambda n: each(n, "function g@(x) : int -> int;\n") + functions(
        n, lambda i: f"if x == 0 then 0 else g{(i + 1) % n}(x - 1)") + f"g0({2 * n});",
    "polymorphic": lambda n: functions(n, lambda i: "[x]") + f"({each(n, 'g@(1), g@(0.5), g@(t)', ', ')});",
    "program": program,
    # forms
    "forms": lambda n: each(n, "a@ = @;\n"),
    "string forms": lambda n: each(n, '"line @";\n'),
    "lambda forms": lambda n: each(n, "h@ = (x => x + @);\n"),
    "new types": lambda n: each(n // 2, "a = @; a = @.5;\n"),
    "datatypes": lambda n: each(n, "datatype d@(int, int);\n") + "d0(1, 2);",
}


Times = dict[str, float]        # seconds, by what they were spent on


class Watch(Activity):
    """Counts the time of each activity: until another begins."""

    def __init__(self) -> None:
        super().__init__()
        self.spent: Counter[str] = Counter()
        self.since, self.current = thread_time(), "rest"

    def begin(self, doing: str, launches: Callable[[], int] | None = None,
              calls: Callable[[], tuple[int, str]] | None = None) -> None:
        now = thread_time()
        self.spent[self.current] += now - self.since
        self.since, self.current = now, doing.removeprefix("compiling: ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SHAPES))
    parser.add_argument("--size", type=int, default=500, help="the length to begin with")
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--target", default="reference")
    parser.add_argument("--stages", action="store_true", help="show the passes, too")
    options = parser.parse_args()
    sizes = [options.size << i for i in range(options.doublings + 1)]
    gc.set_threshold(*RARELY)
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        print(f"{'shape':28}{'what':14}" + "".join(f"{n:>10,}" for n in sizes) + f"{'exponent':>10}")
        times("functions", 10, options.target)              # what is read once
        for name in options.names or SHAPES:
            measured = [times(name, n, options.target) for n in sizes]
            for what in measured[-1]:
                seconds = [found.get(what, 0.0) for found in measured]
                if what in ("parse", "check", "run") or (options.stages and seconds[-1] >= LEAST):
                    print(line(name, what, seconds), flush=True)


def line(name: str, what: str, seconds: list[float]) -> str:
    grown = f"{log2(seconds[-1] / seconds[-2]):10.2f}" if seconds[-2] > 0.01 else ""
    return f"{name:28}{what:14}" + "".join(f"{s:10.3f}" for s in seconds) + grown


def times(name: str, n: int, target: str) -> Times:
    """Seconds to parse a program, to find its types, and to evaluate it all, compiling included; and for each pass."""
    source, watch = Source(name, SHAPES[name](n)), Watch()

    def seconds(work: Callable[[], Any]) -> float:
        began = thread_time()
        work()
        return thread_time() - began

    def evaluate() -> None:
        job = Job(activity=watch, checks=Checking(CHECKS.share))
        for outcome in Session(Target(target, activity=watch), job).run(source):
            if isinstance(outcome, Exception):
                raise outcome
            watch.begin("rest")

    def check() -> None:
        environment = library.library()
        for form in forms:
            environment = infer.infer(syntax.Program((form,)), environment)[1]

    def parse() -> None:
        forms.extend(parse_program(source).forms)

    forms: list[syntax.TopLevel] = []
    found = {"parse": seconds(parse), "check": seconds(check)}
    watch.begin("rest")
    watch.spent.clear()
    return {**found, "run": seconds(evaluate), **{f"  {stage}": spent for stage, spent in watch.spent.items()}}


if __name__ == "__main__":
    run_deep(main)
