"""Random NESL programs, flattened: their text comes back, and simplifying keeps what they compute."""
from __future__ import annotations

from typing import Any

from amounts import examples
from hypothesis import HealthCheck, given, settings
from random_programs import RandomProgram, programs

from nessie import driver, forms, pipeline
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.types import CHAR, FLOAT, INT, Base, Pair, Seq, Type
from nessie.base.values import flatten_value, plain_value
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.passes.simplify import simplify
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats, execute
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show

TYPES = (Seq(INT), Seq(Seq(INT)), INT, Seq(Pair(INT, INT)), Seq(FLOAT), Seq(CHAR), Seq(Seq(Seq(INT))),
         Seq(Pair(INT, Seq(INT))))


def type_of(layout: ir.Layout) -> Type:
    match layout:
        case ir.PairLayout(first, second):
            return Pair(type_of(first), type_of(second))
        case ir.SeqLayout(element, _):
            return Seq(type_of(element))
    return Base(layout.base)


def nested(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else (values[0], nested(values[1:]))


def outcome(program: ir.Program, values: list[Any], stats: Stats) -> str:
    arguments = values if len(program.entry.arguments) == len(values) else [nested(values)]
    try:
        return repr(plain_value(execute(program, arguments, EvaluationLimits(depth=2_000), stats),
                                type_of(program.entry.result)))
    except NessieError:
        return "error"


@given(programs())
@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
def test_random_programs(random: RandomProgram) -> None:
    run_deep(lambda: compare(random))


def compare(random: RandomProgram) -> None:
    job = pipeline.Job(entry="main", target="reference")
    flat = driver.compile_program(job, forms.TEXT, Source("random.nesl", random.source),
                                    pipeline.pass_named("flatten"))
    check(flat)
    assert parse(show(flat)) == flat
    simple = simplify(flat)
    check(simple)
    values = [flatten_value(argument, type_) for argument, type_ in zip(random.arguments, TYPES, strict=True)]
    before, after = Stats(), Stats()
    assert outcome(simple, values, after) == outcome(flat, values, before)
    assert after.launches <= before.launches and after.elements <= before.elements
