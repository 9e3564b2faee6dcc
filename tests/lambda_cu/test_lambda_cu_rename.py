"""Free names, reads, failures; substitution that captures nothing."""
from __future__ import annotations

from nessie.base.names import Names
from nessie.base.system.deep import run_deep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.rename import (
    freshen,
    freshen_thunk,
    instantiate,
    rename_kernel,
    rename_thunk,
    replace_reads,
    substitute,
)
from nessie.lambda_cu.scope import can_fail, failing_functions, free_names, reads, soac_names, thunk

x, y, i = ir.Var("x"), ir.Var("y"), ir.Var("i")
ONE = ir.Const(1, "int")


def add(a: ir.Exp, b: ir.Exp) -> ir.Exp:
    return ir.Op("+", (a, b))


def test_free_names_are_in_order_of_use_and_not_let_bound() -> None:
    exp = ir.Let(("x",), ir.Read("xs", add(i, x)), ir.If(x, ir.Var("b"), add(x, y)))
    assert free_names(exp) == ("xs", "i", "x", "b", "y")
    assert free_names(ir.Let(("x",), ONE, add(x, y))) == ("y",)
    assert thunk(("i",), exp).using == ("xs", "x", "b", "y")


def test_reads_are_found_inside_indices() -> None:
    inner = ir.Read("is", i)
    assert reads(ir.Read("xs", inner)) == (ir.Read("xs", inner), inner)


def test_substitution_renames_a_let_that_would_capture() -> None:
    exp = ir.Let(("y",), ONE, add(x, y))
    assert substitute(exp, {"x": add(y, ONE)}) == ir.Let(("y_1",), ONE, add(add(y, ONE), ir.Var("y_1")))


def test_substitution_stops_at_a_let_of_the_name() -> None:
    exp = ir.Let(("x",), x, x)
    assert substitute(exp, {"x": ONE}) == ir.Let(("x",), ONE, x)


def test_arrays_are_renamed_in_reads() -> None:
    assert substitute(ir.Read("x", i), {"x": y, "i": ONE}) == ir.Read("y", ONE)


def test_reads_are_replaced_inside_out() -> None:
    exp = ir.Read("xs", ir.Read("is", i))
    changed = replace_reads(exp, lambda read: add(read.index, ONE) if read.array == "is" else None)
    assert changed == ir.Read("xs", add(i, ONE))


def test_renaming_a_thunk_keeps_its_own_names_apart() -> None:
    before = ir.Thunk(("i",), ir.Let(("v",), ir.Read("xs", i), add(ir.Var("v"), y)), ("xs", "y"))
    after = rename_thunk(before, {"y": "v", "xs": "i"})
    assert after.using == ("i", "v") and after.params == ("i_1",)
    assert free_names(after.body) == ("i", "i_1", "v")


def test_fresh_thunks_share_no_names() -> None:
    before = ir.Thunk(("i",), ir.Let(("v",), ir.Read("xs", i), ir.Var("v")), ("xs",))
    names = Names(("i", "v", "xs"))
    assert freshen_thunk(before, names) == ir.Thunk(
        ("i_1",), ir.Let(("v_1",), ir.Read("xs", ir.Var("i_1")), ir.Var("v_1")), ("xs",))
    assert freshen(before.body, names) == ir.Let(("v_2",), ir.Read("xs", i), ir.Var("v_2"))


def test_an_instance_computes_each_argument_once() -> None:
    square = ir.Thunk(("x",), ir.Op("*", (x, x)))
    assert instantiate(square, (y,), Names("x")) == ir.Op("*", (y, y))
    assert instantiate(square, (add(y, ONE),), Names("x")) == ir.Let(
        ("x_1",), add(y, ONE), ir.Op("*", (ir.Var("x_1"), ir.Var("x_1"))))


def test_renaming_a_kernel_reaches_sizes_and_spaces() -> None:
    kernel = ir.Kernel("K1", (ir.Param("n", "int"), ir.Param("xs", ir.Array("int", "n"))),
                       (ir.Bind(("k", "ys"), ir.Filter(thunk(("i",), ir.Read("xs", i)),
                                                       thunk(("i",), ir.Const(True, "bool")), ir.Flat("n"))),),
                       ("k", "ys"))
    renamed = rename_kernel(kernel, {"n": "m", "k": "count", "xs": "as"})
    assert renamed.params == (ir.Param("m", "int"), ir.Param("as", ir.Array("int", "m")))
    assert renamed.returns == ("count", "ys") and soac_names(renamed.binds[0].soac) == ("as", "m")


def test_failures_are_found_through_calls_and_recursion() -> None:
    def function(name: str, body: ir.Exp) -> ir.ScalarFunction:
        return ir.ScalarFunction(name, (ir.Param("x", "int"),), ("int",), body)

    fails = function("f", ir.If(ir.Op("<", (x, ONE)), ir.Fail("s1", "int"), x))
    calls, loops, total = (function("g", ir.CallScalar("f", (x,))), function("h", ir.CallScalar("h", (x,))),
                           function("t", add(x, ONE)))
    assert failing_functions((fails, calls, loops, total)) == {"f", "g", "h"}
    call = ir.CallScalar("t", (ONE,))
    assert can_fail(call) and not can_fail(call, failing_functions((total,)))


def test_deep_expressions() -> None:
    def work() -> tuple[int, tuple[str, ...]]:
        exp: ir.Exp = x
        for depth in range(10_000):
            exp = ir.Let((f"v{depth}",), add(exp, y), ir.Var(f"v{depth}"))
        changed = substitute(exp, {"x": ir.Read("xs", ONE)})
        return len(reads(freshen(changed, Names()))), free_names(changed)

    assert run_deep(work) == (1, ("xs", "y"))
