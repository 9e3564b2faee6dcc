"""Slices whose lengths have a form: subseq(v, start, end), and what the library makes of it (take, drop, slice).

    {take(row, i + 1) : row in m; i in index(m)}        the host checks that the longest, #m, is no longer than a row
    {take(drop(v, i), 3) : i in [0:n]}                  slices of slices, too

Each condition says that low <= high: those of the checks around, then 0 <= start <= end <= #v. Where the difference is
a step polynomial of the index, it is least at an end or beside a place, and the host checks that; each element checks
what else is in doubt, before there are slices. So lengths are a form, of which there is no array.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.base.types import INT
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import SIZE
from nessie.flatten.rules.lengths import LengthAt, check, known_form
from nessie.flatten.threads.thread import SUBSEQ, thread
from nessie.flatten.translator import Translator, Values, with_data
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, At, Domain, expression, minus, op, plus
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import check_before
from nessie.flatten.values.spaces import on_host
from nessie.flatten.values.values import SeqTerm, Sequence, Value, delayed, exp_of, seq_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.polynomials import Polynomial
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of

ONE = mono.Const(1, INT)


@dataclass(frozen=True, eq=False)
class Condition:
    """That low <= high, or the message is told."""
    low: mono.Exp
    high: mono.Exp
    message: str
    origin: Origin


def part(t: Translator, exp: mono.Exp, env: Values, domain: Domain) -> Value | None:
    """Return a slice over the domain whose length has a form, what is in doubt of its conditions checked; None where
    it has none, or what the bounds are computed from can fail."""
    if domain is HOST or not is_slice(exp):
        return None
    emitter, conditions = t.emitter, list[Condition]()
    exp, env = with_data(t, exp, env)
    while not (isinstance(exp, mono.Prim) and exp.name == "subseq"):
        match exp:
            case mono.Let(name, value, body):
                env = {**env, name: part(t, value, env, domain) or unstored(emitter, value, env, domain)}
                exp = body
            case mono.Prim("check", (condition, mono.String(message), value), _, origin=origin):
                for pair in comparisons(condition):
                    if pair is None:
                        return None
                    conditions.append(Condition(*pair, message, origin))
                exp = value
    whole, first, last = exp.arguments
    zero, size = mono.Const(0, INT), mono.Prim("length", (whole,), INT, origin=exp.origin)
    begins, proper, ends = [Condition(low, high, SUBSEQ, exp.origin)
                            for low, high in ((zero, first), (first, last), (last, size))]
    conditions += [begins, proper, ends]

    def sides(asked: Condition, at: At, context: Context) -> list[ir.Exp]:
        return [exp_of(thread(side, env, domain, at, context)) for side in (asked.low, asked.high)]

    def room(asked: Condition) -> LengthAt:
        return lambda at, context: minus(*reversed(sides(asked, at, context)))

    def term_at(at: At, context: Context) -> SeqTerm:
        sequence, start, end = [thread(part, env, domain, at, context) for part in (whole, first, last)]
        length = minus(exp_of(end), exp_of(start))
        context.note(length, lambda: SIZE)
        return SeqTerm(plus(seq_of(sequence).start, exp_of(start)), length, seq_of(sequence).leaves)

    trial, here = Context(emitter, domain), domain.here()
    length = trial.ranges.form(room(proper)(here, trial))
    even = on_host(length, trial) and length.divisor == 1
    doubtful: dict[tuple[Polynomial, ...], Condition] = {}          # by what is compared: the first tells
    for asked in conditions:
        both = sides(asked, here, trial)
        if not holds(trial.ranges, op("<=", *both)):
            doubtful.setdefault(tuple(map(trial.ranges.form, both)), asked)
    if trial.failing or not (doubtful or even):
        return None
    wanted = dict.fromkeys([*doubtful.values(), *([] if even else [proper])])
    forms = {asked: known_form(emitter, domain, room(asked), exp.origin) for asked in wanted}
    if not even and forms[proper] is None:
        return None
    for asked in doubtful.values():
        form, context = forms[asked], Context(emitter, domain)
        if form is not None:
            check(emitter, domain, form, asked.message, asked.origin)
        else:
            within = op("<=", *sides(asked, here, context))
            check_before(emitter, domain, context, within, asked.message, asked.origin)
    slices = delayed(domain, term_at, term_at(here, trial))
    assert isinstance(slices, Sequence)
    return replace(slices, even=True, length=lambda at, context: expression(length)) if even else slices


def is_slice(exp: mono.Exp) -> bool:
    while isinstance(exp, mono.Let) or (isinstance(exp, mono.Prim) and exp.name == "check"):
        exp = exp.body if isinstance(exp, mono.Let) else exp.arguments[2]
    return isinstance(exp, mono.Prim) and exp.name == "subseq"


def comparisons(condition: mono.Exp) -> Iterator[tuple[mono.Exp, mono.Exp] | None]:
    """Yield pairs of ints that say, each first <= second, what the condition says; None for what no pair says."""
    match condition:
        case mono.Prim("and", (first, second)):
            yield from comparisons(first)
            yield from comparisons(second)
        case mono.Prim("<=" | "<" | ">=" | ">" as name, (first, second)) if type_of(first) == INT:
            low, high = (first, second) if name[0] == "<" else (second, first)
            yield (low if name[1:] else mono.Prim("+", (low, ONE), INT, origin=condition.origin)), high
        case _:
            yield None


def unstored(emitter: Emitter, exp: mono.Exp, env: Values, domain: Domain) -> Value:
    """Return the value of a pure expression over the domain, computed where it is used."""
    shape = thread(exp, env, domain, domain.here(), Context(emitter, domain))
    return delayed(domain, lambda at, context: thread(exp, env, domain, at, context), shape)
