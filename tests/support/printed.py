"""What papers print, evaluated: lambda_cu text by its validator, reference executor and fusion rules, NESL everywhere,
C++ by the compiler.

    kernel("let a = MAP { i => xs[i] using xs } (n)", "a")       of (n : int, xs : [int; n])
"""
from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from executors import Compiled, agree, outcome
from processes import finished

from nessie.base.source import IllFormed
from nessie.cudagen.cuda.cudasim import compiler
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.reference.context import Context, EvaluationLimits, Stats
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.typing import Scope, bound_types
from nessie.schedule.rewrite.rewrite import rewrite_kernel

FRAME = """
kernel K ({}) {{ {} return {} }}
function f (n : int) -> (m : int) {{ return n }}
entry f : int -> int
"""
EMPTY = ir.Program((), (), (), (), ir.Entry("main", (), ir.ScalarLayout("int")))
EXECUTORS = ("interpreter", "reference none", "reference ilp", "loops ilp")


def kernel(body: str, returns: str, params: str = "n : int, xs : [int; n]") -> ir.Kernel:
    """The kernel, which the validator has accepted."""
    program = parse(FRAME.format(params, body, returns))
    check(program)
    return program.kernels[0]


def refused(body: str, returns: str, params: str = "n : int, xs : [int; n]") -> str:
    """Why the validator does not accept the kernel."""
    with pytest.raises(IllFormed) as error:
        kernel(body, returns, params)
    return str(error.value)


def values(of: ir.Kernel, *arguments: Any) -> list[Any]:
    """The results of its bindings one after another, as plain Python."""
    given = [np.asarray(a, np.int64) if isinstance(a, list) else np.asarray(a)[()] for a in arguments]
    return [value.tolist() for value in run_kernel(of, given, Context(EMPTY, EvaluationLimits(), Stats()))]


def fused(of: ir.Kernel) -> ir.Kernel:
    """By Nessie's rules."""
    scope = Scope({param.name: param.type for param in of.params}, {})
    for bind in of.binds:
        scope.names.update(zip(bind.names, bound_types(bind, scope), strict=True))
    return rewrite_kernel(of, dict(scope.names))


def everywhere(source: str, *arguments: Any) -> Any:
    """What main gives, which is the same everywhere, or how it fails."""
    program = Compiled(source)
    found = [outcome(program, executor, arguments) for executor in EXECUTORS]
    assert all(agree(found[0], other) for other in found), found
    return found[0]


def complaint(text: str) -> str:
    """What the C++ compiler says against the text; nothing, if it accepts it."""
    done = finished([*compiler.compiler(), "-fsyntax-only", "-x", "c++", "-std=c++17", "-"], input=text,
                    env={**os.environ, "LC_ALL": "C"})
    return done.stderr if done.returncode else ""


CXX = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
