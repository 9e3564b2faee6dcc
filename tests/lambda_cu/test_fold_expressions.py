"""Folds, the loops of an index's own thread: all executors agree on them with loops of Python."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from built import cpu_device, execute, gpu_device
from test_borders import ROW

from nessie.base.names import Names
from nessie.base.source import IllFormed, NessieError
from nessie.base.types import INT, Seq
from nessie.base.values import flatten_value, plain_value
from nessie.cudagen.cpu.interpreted import Interpreted
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.borders import borders
from nessie.lambda_cu.borders.checker import check_interiors
from nessie.lambda_cu.check import check
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.passes.lets import tidy_expression
from nessie.lambda_cu.reference import reference
from nessie.lambda_cu.rename import freshen, substitute
from nessie.lambda_cu.scope import bound_names, free_names
from nessie.lambda_cu.text.parser import parse, parse_exp
from nessie.lambda_cu.text.printer import show_exp
from nessie.schedule.graph.arithmetic import operation_counts

PROGRAM = f'site s1 "no such element"\n\n{ROW}'
IN_RANGE = "if 0 <= at and at < n then v[at] else fail s1 : int"
Meaning = Callable[[int, list[int], int], int]


def rounds(count: int) -> range:
    return range(max(count, 0))


def pairs(i: int, v: list[int], r: int) -> int:
    a, b = 0, 1
    for j in rounds(r):
        a, b = b, (a * 2 + b + j + v[i]) % 1000
    return a - b


def sums(i: int, v: list[int], r: int) -> int:
    return len(v) + sum(v[(i + j) % len(v)] for j in rounds(r))


def loop(i: int, v: list[int], r: int) -> int:
    x = r
    for j in rounds(v[i] - 2):
        x = x * 2 - len(v) + j
    return x


def nest(i: int, v: list[int], r: int) -> int:
    x = 0
    for j in rounds(r):
        for k in rounds(j - 1):
            x = x + len(v) * k if v[i] > k else x - 1
    return x


def choice(i: int, v: list[int], r: int) -> int:
    if v[i] <= 2:
        return len(v) - r
    x = i
    for _ in rounds(v[i]):
        x = max(x + r, v[x % len(v)])
    return x


FOLDS: dict[str, Meaning] = {
    "fold j < r from x = n in x + v[(i + j) mod n]": sums,
    "fold j < v[i] - 2 from x = r in x * 2 - n + j": loop,
    "let (a, b) = fold j < r from (c, d) = (0 * n, 1) in (d, (c * 2 + d + j + v[i]) mod 1000) in a - b": pairs,
    "fold j < r from x = 0 in fold k < j - 1 from y = x in if v[i] > k then y + n * k else y - 1": nest,
    "if v[i] > 2 then fold j < v[i] from x = i in max(x + r, v[x mod n]) else n - r": choice,
}


def outcomes(program: ir.Program, v: list[int], r: int) -> list[Any]:
    check(program)
    given = [flatten_value(v, Seq(INT)), r]
    executors: list[Callable[[], Any]] = [
        lambda: reference.execute(program, given),
        lambda: execute(program, given, Interpreted(program, 3)),
        lambda: execute(program, given, cpu_device(program, threads=2, width=3)),
        lambda: execute(program, given, gpu_device(program, Cudasim()))]
    found: list[Any] = []
    for executor in executors:
        try:
            found.append(plain_value(executor(), Seq(INT)))
        except NessieError as error:
            found.append(error.message)
    return found


@pytest.mark.parametrize("body", FOLDS)
def test_executors_agree_with_loops(body: str) -> None:
    numbers = random.Random(1)
    program = parse(PROGRAM.format(body))
    for n, r in ((0, 2), (1, 0), (7, -1), (7, 1), (40, 5)):
        v = [numbers.randint(0, 9) for _ in range(n)]
        assert outcomes(program, v, r) == [[FOLDS[body](i, v, r) for i in range(n)]] * 4


def test_rounds_fail() -> None:
    program = parse(PROGRAM.format(f"fold j < r from x = 0 in let at = i + j - 1 in x + ({IN_RANGE})"))
    for r in (1, 9):
        assert outcomes(program, [5, 6, 7], r) == ["no such element"] * 4
    assert outcomes(program, [5, 6, 7], 0) == [[0, 0, 0]] * 4


def test_after_a_failure_no_round_reads_out_of_bounds() -> None:
    """What goes round is made of what has failed, and is an index in the next round."""
    program = parse(PROGRAM.format(f"fold j < r from x = i in let at = x * 1000 in v[({IN_RANGE}) mod n]"))
    assert outcomes(program, [1, 2, 3], 50) == ["no such element"] * 4


def test_names_are_bound_by_folds() -> None:
    exp = parse_exp("fold j < j from (x, y) = (x, 1) in (x + j + z, y)")
    assert free_names(exp) == ("j", "x", "z") and bound_names(exp) == ("j", "x", "y")
    assert show_exp(substitute(exp, {"j": ir.Var("k"), "z": ir.Var("x")})) == \
        "fold j < k from (x_1, y) = (x, 1) in (x_1 + j + x, y)"
    fresh = freshen(exp, Names(("j", "x", "y", "z")))
    assert free_names(fresh) == ("j", "x", "z") and not {"j", "x", "y"} & set(bound_names(fresh))


def test_copies_of_other_branches_are_not_taken_for_what_a_fold_binds() -> None:
    exp = parse_exp("if b then let j = 5 in f[j] else fold j < n from x = 0 in x + f[j]")
    assert show_exp(tidy_expression(exp, ())) == "if b then f[5] else fold j < n from x = 0 in x + f[j]"


def test_all_rounds_cost() -> None:
    assert operation_counts(parse_exp("fold j < 10 from x = 0 in fold k < 3 from y = x in y + j * k")) == (60, 0)
    assert operation_counts(parse_exp("fold j < 0 - 4 from x = 0 in x + 1")) == (17, 0)


@pytest.mark.parametrize(("body", "message"), [
    ("fold j < 2.0 from x = n in v[i] + r", "the count of a fold is not an int"),
    ("fold j < r from x = (n, 1) in v[i]", r"fold \(x\) begins with 2 components"),
    ("fold j < r from x = n in v[i] > x", "a fold begins with int, but goes on with bool"),
    ("fold i < r from x = n in v[i] + x", "fold binds i, which is bound already"),
    ("fold j < r from j = n in v[i] + j", "j is bound twice"),
    ("let x = 1 in fold j < r from x = n in v[i] + x", "fold binds x, which is bound already"),
])
def test_what_is_no_fold(body: str, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        check(parse(PROGRAM.format(body)))


def test_only_thunks_fold() -> None:
    text = PROGRAM.format("v[i] + n + r")
    host = text.replace("  let it : ", "  let t : int = fold j < n from x = 0 in x + j\n  let it : ")
    device = text.replace("\nkernel", "scalar g (n : int) -> int { fold j < n from x = 0 in x + j }\n\nkernel", 1)
    for program in (host, device):
        with pytest.raises(IllFormed, match="outside of thunks"):
            check(parse(program))


# Borders ----------------------------------------------------------------------------------------

BOXES = {
    "clamped": "v[max(0, min(n - 1, i + j - r))]",
    "wrapped": "v[(i + j - r) mod n]",
    "checked": "if 0 <= i + j - r and i + j - r < n then v[i + j - r] else 0",
}


@pytest.mark.parametrize("rule", BOXES)
def test_rounds_decide_nothing_in_the_interior(rule: str) -> None:
    program = borders(parse(PROGRAM.format(f"fold j < 2 * r + 1 from x = 0 in x + ({BOXES[rule]})")))
    check(program)
    check_interiors(program)
    (bind,) = program.kernels[0].binds
    assert isinstance(bind.soac, ir.Map) and bind.soac.interior is not None
    assert not any(isinstance(e, ir.If) or (isinstance(e, ir.Op) and e.op in ("min", "max", "mod"))
                   for e in subexpressions(bind.soac.interior.thunk.body))
    numbers = random.Random(2)
    for n, r in ((0, 1), (1, 0), (3, 1), (3, 4), (40, -1), (60, 2), (61, 7)):
        v = [numbers.randint(0, 9) for _ in range(n)]
        at = {"clamped": lambda k, n=n: max(0, min(n - 1, k)), "wrapped": lambda k, n=n: k % n,
              "checked": lambda k, n=n: k if 0 <= k < n else None}[rule]
        expected = [sum(0 if at(i + j - r) is None else v[at(i + j - r)] for j in rounds(2 * r + 1)) for i in range(n)]
        assert outcomes(program, v, r) == [expected] * 4


WIDTHS: dict[str, Callable[[int, int, int], int]] = {
    "min(n, i + r + 1) - max(0, i - r)": lambda i, n, r: min(n, i + r + 1) - max(0, i - r),
    "if i < r then i else let c = i < n - r in if c then r else n - i":
        lambda i, n, r: i if i < r else r if i < n - r else n - i,
}


@pytest.mark.parametrize("count", WIDTHS)
def test_as_many_rounds_as_a_band_is_wide(count: str) -> None:
    """They read nothing: neighbours go round together in the interior."""
    text = PROGRAM.format(f"fold j < ({count}) from x = 0 in x + i * j")
    program = borders(parse(text.replace("using n, v, r", "using n, r")))
    check(program)
    check_interiors(program)
    (bind,) = program.kernels[0].binds
    assert isinstance(bind.soac, ir.Map) and bind.soac.interior is not None
    assert not any(isinstance(e, ir.If) or (isinstance(e, ir.Op) and e.op in ("min", "max"))
                   for e in subexpressions(bind.soac.interior.thunk.body))
    assert not any(isinstance(e, ir.Op) and e.op in ("-", "*") and ir.Var("n") in e.arguments
                   for e in subexpressions(bind.soac.interior.thunk.body))
    for n, r in ((0, 1), (1, 0), (3, 1), (3, 4), (60, 2), (61, 7)):
        expected = [i * sum(rounds(WIDTHS[count](i, n, r))) for i in range(n)]
        assert outcomes(program, [0] * n, r) == [expected] * 4


def test_an_interior_asks_for_a_count_that_can_be_computed_with() -> None:
    program = borders(parse(PROGRAM.format("fold j < r from x = 0 in x + v[max(0, min(n - 1, i - 3 + j))]")))
    (bind,) = program.kernels[0].binds
    assert isinstance(bind.soac, ir.Map) and bind.soac.interior is not None
    check_interiors(program)
    inside = subexpressions(bind.soac.interior.thunk.body)
    assert not any(isinstance(e, ir.Op) and e.op in ("min", "max") for e in inside)
    v = [k * k % 11 for k in range(120)]
    for r in (-1, 0, 1, 5, 9):
        expected = [sum(v[max(0, min(119, i - 3 + j))] for j in rounds(r)) for i in range(120)]
        assert outcomes(program, v, r) == [expected] * 4


@pytest.mark.parametrize(("old", "new"), [("2 * r", "2 * r + 1"), ("j < ", "j < 1 + ")])
def test_an_interior_for_fewer_rounds_than_there_are_is_found(old: str, new: str) -> None:
    """The fold goes round once more than when the interior was made."""
    program = borders(parse(PROGRAM.format(f"fold j < 2 * r + 1 from x = 0 in x + ({BOXES['clamped']})")))
    (bind,) = program.kernels[0].binds
    assert isinstance(bind.soac, ir.Map) and bind.soac.interior is not None
    longer = [show_exp(thunk.body).replace(old, new, 1) for thunk in (bind.soac.thunk, bind.soac.interior.thunk)]
    wrong = ir.Map(ir.Thunk(("i",), parse_exp(longer[0]), bind.soac.thunk.using), bind.soac.space,
                   ir.Interior(bind.soac.interior.rows, bind.soac.interior.range,
                               ir.Thunk(("i",), parse_exp(longer[1]), bind.soac.interior.thunk.using)))
    kernel = program.kernels[0]
    changed = ir.Program(program.sites, (), (ir.Kernel(kernel.name, kernel.params, (ir.Bind(bind.names, wrong),),
                                                       kernel.returns),), program.functions, program.entry)
    check(changed)
    with pytest.raises(IllFormed, match="not proven"):
        check_interiors(changed)
