"""Rules for effects: statements of the host, in the order in which the program evaluates them.

    print_string(s)     under a domain one effect, which prints what all its elements print, in order; so _paint(v)
    error(s)            under a domain the message of its first element; where there are none, nothing
    _now(t)             under a domain once: the time is the same for all its elements
    others              on the host only: inside an apply-to-each they are refused

All elements take a step before any takes the next. Whatever precedes an effect in the program has been computed when
the effect happens: a control region ends there.
"""
from __future__ import annotations

from nessie.base.source import NessieError, places
from nessie.base.types import STRING, Type, nest_right
from nessie.base.types import Pair as PairType
from nessie.flatten.calls.entry import dense_result, from_outside
from nessie.flatten.rules.nesting import flatten
from nessie.flatten.threads.thread import nothing
from nessie.flatten.translator import Translator
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, atom_of, op
from nessie.flatten.values.materialise import from_host_term
from nessie.flatten.values.spaces import limit_sizes
from nessie.flatten.values.values import Both, Leaf, Sequence, Value, constant, delayed, pull
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import layout_of
from nessie.library.primitives import IN_MONO, LIFTED_EFFECTS, ONE_AT_A_TIME, TOGETHER
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of


def is_effect(name: str) -> bool:
    return name in IN_MONO and IN_MONO[name].kind == "effect"


def effect(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    takes = nest_right([type_of(a) for a in exp.arguments], PairType)
    argument = nest_right(values, Both)
    if domain is HOST:
        return perform(t, exp, argument, takes, hint)
    if exp.name not in LIFTED_EFFECTS:
        raise NessieError(ONE_AT_A_TIME, *places(exp.origin))
    if exp.name in TOGETHER:
        perform(t, exp, together(t, exp, argument, domain), takes, hint)
        return constant(True, "bool")
    if exp.name == "error":
        fail(t, exp, argument, domain)
        zero = nothing(exp.type)
        return delayed(domain, lambda at, context: zero, zero)
    return perform(t, exp, constant(True, "bool"), takes, hint)


def perform(t: Translator, exp: mono.Prim, argument: Value, takes: Type, hint: str) -> Value:
    """Emit the effect and return its result."""
    atoms, layout = dense_result(t.emitter, argument, takes, HOST)
    results: list[ir.Param] = []
    gives = layout_of(exp.type)
    value = from_outside(t.emitter, gives, exp.type, HOST, hint, results, {})
    t.emitter.emit(ir.Effect(tuple(results), exp.name, tuple(atoms), layout, gives, origin=exp.origin))
    limit_sizes(t.emitter, results, exp.origin)
    return value


def together(t: Translator, exp: mono.Prim, sequences: Value, domain: Domain) -> Value:
    """Return the sequences of all elements of the domain, concatenated."""
    size = atom_of(domain.size)
    rows = Sequence(HOST, lambda at, context: ZERO, lambda at, context: size, (Leaf(domain, sequences),))
    return flatten(t, exp, [rows], HOST, "text")


def fail(t: Translator, exp: mono.Prim, message: Value, domain: Domain) -> None:
    """Perform `error` with the first element's message, if there is an element."""
    emitter = t.emitter
    some = emitter.host().name(op("<", ZERO, atom_of(domain.size)), "bool", "some")

    def stop() -> None:
        first = pull(message, domain, At(ZERO), emitter.host())
        perform(t, exp, from_host_term(emitter, first, "message"), STRING, "_")

    _, statements = emitter.block(stop)
    emitter.emit(ir.Branch((), some, ir.Block(statements, ()), ir.Block((), ()), origin=exp.origin))
