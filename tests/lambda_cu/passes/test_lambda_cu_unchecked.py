"""The pass behind --unchecked: checks go, results of right programs stay."""
from __future__ import annotations

import pytest
from built import run_passes

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.passes.unchecked import only_fails, unchecked
from nessie.pipeline import Job
from nessie.running.targets import Target
from nessie.session.session import Outcome, Session

RIGHT = ["{[1, 2, 3][i] : i in [0, 2, 1]}", "{10 / a : a in [1, 2, 5]}", "take([1, 2, 3], 2) ++ drop([1, 2, 3], 2)",
         "{a + b : a in [1, 2]; b in [3, 4]}", "{sum({x / #v : x in v}) : v in [[4, 6], [] int, [9]]}",
         "[7, 8, 9] -> [2, 0]", "[1, 2, 3] <- [(0, 5), (2, 6)]", "{sqrt(x) : x in [4.0, 9.0]}",
         "{if a == 0 then 0 else 6 / a : a in [0, 2]}", "{10 / a : a in [1, 0, 2] | a /= 0}"]


def value(text: str, target: str, unchecked: bool) -> str:
    session = Session(Target(target), Job(unchecked=unchecked))
    (outcome,) = run_deep(lambda: list(session.run(Source("test", f"{text};"))))
    assert isinstance(outcome, Outcome), outcome
    return outcome.value


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_right_programs_compute_the_same(target: str) -> None:
    for text in RIGHT:
        assert value(text, target, True) == value(text, target, False), text


PROGRAM = "function g(v, w) : ([int], [int]) -> [int] = {v[i] / i + x : i in w; x in v};"


def test_no_site_is_left() -> None:
    def made(*passes: str) -> str:
        before = ["parse", "infer", "monomorphise", "inline", "flatten", "specialise-sites", "device-scalars"]
        return run_deep(lambda: run_passes([*before, *passes], PROGRAM, Job(entry="g")))

    checked, unchecked = made("simplify"), made("unchecked", "simplify")
    assert checked.count("site ") >= 3 and "fail" in checked
    assert "site " not in unchecked and "fail" not in unchecked and "MAP" in unchecked


def test_the_program_may_set_it() -> None:
    session = Session(Target("reference"))
    text = "set arg_check off; {x : x in [1, 2]; y in [1, 2, 3]}; set arg_check on; {x : x in [1, 2]; y in [1, 2, 3]};"
    outcomes = run_deep(lambda: list(session.run(Source("test", text))))
    assert isinstance(outcomes[1], Outcome) and outcomes[1].value == "[1, 2]"
    assert isinstance(outcomes[3], NessieError) and "Length mismatch" in outcomes[3].message


def test_what_only_fails() -> None:
    fail, x = ir.Fail("s", "int"), ir.Var("x")
    assert only_fails(fail) and only_fails(ir.Tuple((fail, fail))) and only_fails(ir.Let(("x",), fail, x))
    assert not only_fails(ir.Tuple(())) and not only_fails(ir.Tuple((fail, x))) and not only_fails(x)


def test_conditions_that_can_fail_stay() -> None:
    inner = ir.If(ir.Var("a"), ir.Var("b"), ir.Fail("s1", "bool"))
    asked = ir.Let(("c",), ir.Fail("s1", "bool"), ir.Var("c"))
    for condition, expected in ((inner, "x"), (asked, "if")):
        body = ir.If(condition, ir.Var("x"), ir.Fail("s2", "int"))
        parameters = ir.Param("a", "bool"), ir.Param("b", "bool"), ir.Param("x", "int")
        function = ir.ScalarFunction("g", parameters, ("int",), body)
        program = ir.Program((), (function,), (), (), ir.Entry("g", (), ir.ScalarLayout("int")))
        (changed,) = unchecked(program).scalar_functions
        assert changed.body == (ir.Var("x") if expected == "x" else body)
