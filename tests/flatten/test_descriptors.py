"""Descriptors that the compiler finds: their forms, what they compute everywhere, and the loops that walk them."""
from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from executors import QUICK, Compiled, Failed, outcome, same
from paths import ROOT

from nessie.base.source import Source
from nessie.cudagen.generate import generate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.unread import unread
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import space_of
from nessie.lambda_cu.text.printer import show_kernel
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

INTS: Any = ([], [3], [4, 1, 3], [2, 0, 5, 1, 7, 6, 4, 3])
SIZES: Any = (0, 1, 2, 7)
FOUND = {               # the forms of the spaces that a program's SOACs walk; its type; what to call it with
    "a triangle": ("{sum([0:i+1]) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "a strict triangle": ("{sum([0:i]) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "wider rows": ("{sum(dist(i, 2 * i + 3)) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "constant rows": ("{sum({i * j : j in [0:50]}) : i in [0:n]}", "int -> [int]", {"uniform"}, SIZES),
    "rows as long as a vector": ("{sum({x * y : y in n}) : x in n}", "[int] -> [int]", {"flat", "uniform"},
                                INTS),
    "a vector's triangle": ("{{n[i] * n[j] : j in [0:i]} : i in [0:#n]}", "[int] -> [[int]]", {"closed"}, INTS),
    "prefixes": ("{sum(take(n, i)) : i in [0:#n]}", "[int] -> [int]", {"closed"}, INTS),
    "a length bound by let": ("{let k = i + 2 in sum(dist(1, k)) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "an offset of the host": ("{sum([0:i+#n]) : i in [0:#n]}", "[int] -> [int]", {"closed"}, INTS),
    "an offset that is checked": ("{sum([0:i+n]) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "an offset in the range": ("{sum([2:i+4]) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "positions that start later": ("{sum([0:i]) : i in [5:n+9]}", "int -> [int]", {"closed"}, SIZES),
    "a matrix": ("{{i * j : j in [0:n]} : i in [0:n]}", "int -> [[int]]", {"uniform"}, SIZES),
    "three deep": ("{{sum({i + j * k : k in [0:n]}) : j in [0:n]} : i in [0:n]}", "int -> [[int]]",
                   {"uniform"}, SIZES),
    "scans and filters of a triangle": ("{sum({x in plus_scan([0:i+1]) | x > 1}) : i in [0:n]}", "int -> [int]",
                                        {"closed", "irregular"}, SIZES),
    "a triangle of sorted rows": ("{sort({rem(i * 7 + j * 5, 4) : j in [0:i+1]}) : i in [0:n]}", "int -> [[int]]",
                                  {"closed"}, SIZES),
    "a triangle in a triangle": ("{{sum([0:j+1]) : j in [0:i+1]} : i in [0:n]}", "int -> [[int]]",
                                 {"nested"}, SIZES),
    "positions in a row": ("{{sum({k * i : k in [0:j]}) : j in [0:n]} : i in [0:n]}", "int -> [[int]]",
                           {"nested"}, SIZES),
    "falling lengths": ("{sum([0:n-i]) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "an upper triangle": ("{{i * j : j in [i:n]} : i in [0:n]}", "int -> [[int]]", {"closed"}, SIZES),
    "falling by two": ("{sum(dist(i, 2*n - 2*i)) : i in [0:n]}", "int -> [int]", {"closed"}, SIZES),
    "falling from a constant": ("{dist(i, 5 - i) : i in [0:n]}", "int -> [[int]]", {"closed"}, SIZES),
    "suffixes": ("{sum({n[j] : j in [i:#n]}) : i in [0:#n]}", "[int] -> [int]", {"closed"}, INTS),
    "sorted suffixes": ("{sort({n[j] : j in [i:#n]}) : i in [0:#n]}", "[int] -> [[int]]", {"closed"}, INTS),
    "lengths of rows": ("{{r[j] + j : j in [0:#r]} : r in n}", "[[int]] -> [[int]]", {"irregular"},
                        ([], [[]], [[1], [], [2, 3]])),
    "written rows": ("{[0:i+1] <- [(0, i)] : i in [0:n]}", "int -> [[int]]", {"closed", "uniform"}, SIZES),
}


def compiled(body: str, type_: str) -> Compiled:
    return Compiled(f"function main(n) : {type_} = {body};")


def forms(program: ir.Program) -> set[str]:
    spaces = [space_of(bind.soac) for kernel in program.kernels for bind in kernel.binds]
    return {type(space).__name__.lower() for space in spaces if space is not None}


@pytest.mark.parametrize("name", FOUND)
def test_forms(name: str) -> None:
    body, type_, found, arguments = FOUND[name]
    program = compiled(body, type_)
    assert forms(program.flat) == found
    for argument in arguments:
        same(program, argument)


FAIL = "In [s:e:l], e must be >= to s"
FAILING = {
    "a length below zero at the end": ("{[0:2-i] : i in [0:4]}", "int -> [[int]]", 0, FAIL),
    "a length below zero at the start": ("{[0:i-1] : i in [0:n]}", "int -> [[int]]", 2, FAIL),
    "an offset below zero": ("{sum([0:i+n]) : i in [0:3]}", "int -> [int]", -1, FAIL),
    "a uniform length below zero": ("{[0:n] : i in [0:3]}", "int -> [[int]]", -1, FAIL),
    "of dist": ("{dist(i, i - 2) : i in [0:n]}", "int -> [[int]]", 1, "Bounds error for function DIST"),
    "a triangle that has too many": ("{sum([0:i+1]) : i in [0:n]}", "int -> [int]", 2 ** 25, "have more elements"),
    "a few rows that have too many": ("{[0:n] : x in [1, 2]}", "int -> [[int]]", 2 ** 62, "have more elements"),
    "a few rows of a product that has too many": (
        "let v = [0:n] in {sum([0:1000 * #v]) : x in [1, 2, 3, 4]}", "int -> [int]", 2 ** 47, "have more elements"),
    "a few rows of a triangle that has too many": (
        "let v = [0:n] in {sum([0:i + 1000 * #v]) : i in [0:4]}", "int -> [int]", 2 ** 47, "have more elements"),
    "a matrix that has too many": ("{sum({k * i : k in [0:n]}) : i in [0:n]}", "int -> [int]", 2 ** 25,
                                   "have more elements"),
}


MANY = {                # of lengths that are known when it runs; n is 2^47, k 2^17
    "ranges as long as rows": "{{[0:#r] : q in [0:k]} : r in {[0:n] : n in ns}}",
    "the same rows again": "{{r : q in [0:k]} : r in {[0:n] : n in ns}}",
    "as often as is read": "{{r : q in [0:j]} : r in {[0:n] : n in ns}; j in [k]}",
    "rows of both": "{{[0:n] ++ r : q in [0:k]} : r in {[0:n] : n in ns}; n in ns}",
    "chosen ones": "{{(if q > 0 then [0:n] else [0:n + 1]) : q in [0:k]} : n in ns}",
}


@pytest.mark.parametrize("name", MANY)
def test_totals_do_not_wrap(name: str) -> None:
    program = Compiled(f"function main(ns, k) : ([int], int) -> int = #flatten(flatten({MANY[name]}));")
    for executor in ("reference none", "reference ilp", "cpu ilp"):
        found = outcome(program, executor, ([2 ** 47], 2 ** 17))
        assert isinstance(found, Failed) and "more elements" in found.message, executor
    same(program, [3, 0, 2], 2)


def test_one_long_row_among_many_is_no_failure() -> None:
    body = "#flatten({[0:if i == 9 then n else 1] : i in [0:k]})"
    program = Compiled(f"function main(n, k) : (int, int) -> int = {body};")
    assert outcome(program, "cpu ilp", (2 ** 40, 2 ** 12)) == 2 ** 40 + 2 ** 12 - 1
    same(program, 20, 12)


@pytest.mark.parametrize("name", FAILING)
def test_failures(name: str) -> None:
    """Where rows are too many, the interpreter would make them: the others alone are asked."""
    body, type_, argument, message = FAILING[name]
    program = compiled(body, type_)
    if "too many" in name:
        found = [outcome(program, executor, (argument,)) for executor in QUICK]
    else:
        found = [same(program, argument)]
    assert all(isinstance(result, Failed) and message in result.message for result in found)


@pytest.mark.parametrize(("body", "type_", "argument"), [
    ("{[0:n] : x in [] int}", "int -> [[int]]", -1),
    ("{dist(x, n) : x in [] int}", "int -> [[int]]", -1),
    ("{[0:10/#n] : x in n}", "[int] -> [[int]]", []),
    ("{[0:i-5] : i in [0:n]}", "int -> [[int]]", 0),
    ("{if x < 9 then [x] else [0:n] : x in [1, 2]}", "int -> [[int]]", -1),
    ("{{[0:n] : y in [0:x]} : x in [0, 0]}", "int -> [[[int]]]", -1),
])
def test_nothing_is_checked_where_there_are_no_elements(body: str, type_: str, argument: int) -> None:
    assert not isinstance(same(compiled(body, type_), argument), Failed)


# Memory -----------------------------------------------------------------------------------------

MXV = "function mxv(m, v) = {sum({x * y : x in r; y in v}) : r in m};"
NO_OFFSETS = {
    "a generated matrix": f"""{MXV}
        function main(n) : int -> [float] = mxv({{{{float(i * j) : j in [0:n]}} : i in [0:n]}}, dist(1.0, n));""",
    "a stored matrix": f"""{MXV}
        function main(n) : int -> ([float], [float]) =
          let m = {{{{float(i * j) : j in [0:n]}} : i in [0:n]}}; v = {{float(i) : i in [0:n]}}
          in (mxv(m, v), mxv(m, v));""",
    "a triangular matrix": """function main(n) : int -> [float] =
        let v = {float(i) : i in [0:n]} in {sum({float(i * j) * v[j] : j in [0:i+1]}) : i in [0:n]};""",
    "a matrix by its transpose": """function main(n) : int -> [float] =
        let a = {{float(i * j) : j in [0:n]} : i in [0:n]}
        in {sum({sum({x * y : x in r; y in c}) : c in a}) : r in a};""",
}


@pytest.mark.parametrize("name", NO_OFFSETS)
def test_no_descriptor_is_in_memory(name: str) -> None:
    """All int arrays are descriptors here: there is none, and none of length n+1."""
    program = Compiled(NO_OFFSETS[name])
    for fuse in ("none", "ilp"):
        for kernel in program.executable(fuse).kernels:
            arrays = [p.type for p in kernel.params if isinstance(p.type, ir.Array)]
            made = [bind.soac for bind in kernel.binds if isinstance(bind.soac, ir.Scan)]
            assert [array for array in arrays if array.base == "int"] == []
            assert made == []
    for n in SIZES:
        same(program, n)


def test_a_matrix_from_outside_has_no_offsets() -> None:
    """The one kernel of a matrix times a vector reads no ints, and the host makes no arrays for it."""
    row = ir.SeqLayout(ir.ScalarLayout("float"))
    matrix = ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("float"), "uniform"))
    source = f"{MXV} function main(m, v) : ([[float]], [float]) -> [float] = mxv(m, v);"
    program = Compiled(source, layouts=(matrix, row)).executable("ilp")
    (kernel,) = program.kernels
    assert [p.type.base for p in kernel.params if isinstance(p.type, ir.Array)] == ["float", "float"]
    assert [type(statement) for statement in program.functions[0].body.statements] == [ir.HostLet, ir.Run]


def test_a_target_compiles_for_how_its_arguments_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of files have no offsets, nor has what they give; sequences of other rows have."""
    monkeypatch.chdir(tmp_path)
    np.save("m.npy", np.arange(6.0).reshape(2, 3))
    np.save("v.npy", np.ones(3))
    Path("m.json").write_text("[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]")
    twice = "function twice(m) : [[float]] -> [[float]] = {{2.0 * x : x in r} : r in m};"
    Path("mxv.nesl").write_text(f"{MXV}\n{twice}")
    for matrix, argument in (("m.npy", "uniform [float]"), ("m.json", "[[float]]")):
        for target in ("cpu", "reference"):
            run = ["run", "mxv.nesl", "-e", "mxv", f"@{matrix}", "@v.npy", "--target", target, "-o", "y.npy"]
            assert main([*run, "--dump", f"{matrix}-{target}"]) == 0
            assert np.load("y.npy").tolist() == [3, 12]
            (flat,) = Path(f"{matrix}-{target}").glob("*/*simplify.flat")
            assert argument in flat.read_text().splitlines()[-1]
    assert main(["run", "mxv.nesl", "-e", "twice", "@m.npy", "-o", "m2.npy"]) == 0
    assert np.load("m2.npy").tolist() == [[0, 2, 4], [6, 8, 10]]


# Loops ------------------------------------------------------------------------------------------

NESTS = {
    "two deep": ("{{x * y : y in n} : x in n}", "[int] -> [[int]]"),
    "three deep": ("{{{x * y + z : z in n} : y in n} : x in n}", "[int] -> [[[int]]]"),
    "four deep": ("{{{{x * y + z - w : w in n} : z in n} : y in n} : x in n}", "[int] -> [[[[int]]]]"),
    "sums": ("{{sum({x * y + z : z in n}) : y in n} : x in n}", "[int] -> [[int]]"),
    "outer positions": ("{{sum({i * j + k : k in [0:n]}) : j in [0:n]} : i in [0:n]}", "int -> [[int]]"),
    "a generated matrix by itself": (
        "let a = {{i * j : j in [0:n]} : i in [0:n]} in {{sum({x * y : x in r; y in c}) : c in a} : r in a}",
        "int -> [[int]]"),
    "a matrix by itself": ("{{sum({x * y : x in r; y in c}) : c in n} : r in n}", "[[int]] -> [[int]]"),
    "a matrix by a vector": ("{sum({x * y : x in r; y in r}) : r in n}", "[[int]] -> [int]"),
    "a triangle": ("{sum({i * n[j] : j in [0:i+1]}) : i in [0:#n]}", "[int] -> [int]"),
    "scans": ("{{plus_scan({x * y + z : z in n}) : y in n} : x in n}", "[int] -> [[[int]]]"),
}


@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("fuse", ["none", "ilp"])
def test_innermost_loops_do_not_divide(name: str, fuse: str) -> None:
    """Neither by operators nor by a search, but for what nobody reads, which LLVM drops."""
    body, type_ = NESTS[name]
    program = compiled(body, type_)
    module = unread(generate(program.executable(fuse), "cpu"))
    inner = [loop for function in module.functions if function.kind == "host" and "sweep" in function.name
             for loop in innermost(function.body)]
    assert inner
    for loop in inner:
        parts = [part for statement in loop.body for part in within(statement)]
        assert not [p for p in parts if isinstance(p, loops.While | loops.Call)]
        assert not [p for p in parts if isinstance(p, loops.Op) and p.op in ("/", "rem", "mod")]
    if fuse == "ilp":
        rows: Any = [[], [[1, 2], [3, 4]]]
        for argument in SIZES if type_.startswith("int") else INTS if type_.startswith("[int]") else rows:
            same(program, argument)


def test_divisions_are_in_the_loop_over_segments() -> None:
    body, type_ = NESTS["three deep"]
    module = generate(compiled(body, type_).executable("ilp"), "cpu")
    sweeps = [f for f in module.functions if "sweep" in f.name]
    assert any(isinstance(part, loops.Op) and part.op == "/" for f in sweeps for s in f.body for part in within(s))


def innermost(statements: tuple[loops.Stmt, ...]) -> Iterator[loops.For]:
    for statement in statements:
        if isinstance(statement, loops.For):
            inner = list(innermost(statement.body))
            yield from inner or [statement]
        elif isinstance(statement, loops.If):
            yield from innermost((*statement.then, *statement.orelse))


def within(node: Any) -> Iterator[Any]:
    """The statements and expressions that a statement is made of."""
    yield node
    for part in vars(node).values():
        for item in part if isinstance(part, tuple) else (part,):
            if hasattr(item, "__dataclass_fields__"):
                yield from within(item)


# The page ---------------------------------------------------------------------------------------

def test_the_example_of_the_page() -> None:
    page = (ROOT / "docs" / "descriptors.md").read_text("utf-8")
    example = page[page.index("## An example"):]
    source = next(line for line in example.splitlines() if line.startswith("    function"))
    job = Job(entry="main", argument=parse_type(Source("type", "[float]")))
    program = compile_program(job, TEXT, Source("page", source), pass_named("fuse"))
    for kernel in program.kernels:
        assert textwrap.indent(show_kernel(kernel), "    ").rstrip() in example
