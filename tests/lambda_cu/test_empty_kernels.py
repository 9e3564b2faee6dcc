"""Kernels with nothing to do: what they give without a launch is what a launch would give."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from executors import Compiled
from test_cost import CASES

from nessie.base.values import DTYPES
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.context import Context, EvaluationLimits
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.running.empty_kernels import EmptyRun, empty_run
from nessie.lambda_cu.running.stats import Stats
from nessie.lambda_cu.text.parser import parse

ZEROS: dict[str, Any] = {"int": 0, "float": 0.0, "bool": False, "char": "\0"}


def by_launch(program: ir.Program, kernel: ir.Kernel, found: EmptyRun) -> list[Any]:
    """What a launch gives where the sizes that must be 0 are 0, and all others 3."""
    held: dict[str, Any] = {param.name: 0 if number in found.sizes else 3 if param.type == "int" else ZEROS[param.type]
                            for number, param in enumerate(kernel.params) if isinstance(param.type, str)}
    for param in kernel.params:
        if isinstance(param.type, ir.Array):
            size = param.type.size if isinstance(param.type.size, int) else held[param.type.size]
            held[param.name] = np.zeros(size + param.type.plus, DTYPES[param.type.base])
    context = Context(program, EvaluationLimits(), Stats())
    results = run_kernel(kernel, [held[param.name] for param in kernel.params], context)
    assert context.stats.launches == 0
    return results


def listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("name", CASES)
def test_what_is_known_is_what_a_launch_gives(name: str) -> None:
    program = Compiled(CASES[name].source)
    for fuse in ("none", "ilp"):
        compiled = program.executable(fuse)
        functions = {f.name: f for f in compiled.scalar_functions}
        for kernel in compiled.kernels:
            found = empty_run(kernel, functions)
            if found is not None:
                expected = [given.value if isinstance(given, ir.Const) else list(given[1]) for given in found.gives]
                assert list(map(listed, by_launch(compiled, kernel, found))) == expected, kernel


@pytest.mark.parametrize("text, gives", [
    ("let a = MAP { i => i } (n)", ("a", ("int", ()))),
    ("let a = MAP { i => i } (3)", None),
    ("let a = REDUCE { i => i } (7) { (x, y) => max(x, y) } (n)", ("a", 7)),
    ("let a = REDUCE { i => i } (m) { (x, y) => max(x, y) } (n)", None),
    ("let a = SCAN { i => i } (1) { (x, y) => x * y } (n) total", ("a", ("int", (1,)))),
    ("let (k, a) = FILTER { i => i } { i => i > 2 } (n)", ("k", 0)),
    ("let (k, b) = FILTER { i => i } { i => i > 2 } (n) let a = MAP { i => i } (k)", ("a", ("int", ()))),
    ("let a = PERMUTE { i => i } { i => i } (n) into 4 (0) distinct", None),
    ("let a = PERMUTE { i => i } { i => i } (n) into m (0) distinct", ("a", ("int", ()))),
    ("let a = ONCE { () => m + 1 }", None),
])
def test_what_is_known(text: str, gives: Any) -> None:
    result = gives[0] if gives else "a"
    kernel = parse(f"kernel K (n : int, m : int) {{ {text} return {result} }}"
                   " function f () -> (m : int) { return 0 } entry f : () -> int").kernels[0]
    found = empty_run(kernel, {})
    if gives is None:
        assert found is None
    else:
        assert found is not None and found.gives == (gives[1] if isinstance(gives[1], tuple)
                                                     else ir.Const(gives[1], "int"),)
        assert found.sizes == ((0, 1) if "into m" in text else (0,))
