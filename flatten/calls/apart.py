"""Recursion that stops flattening: small activations of a recursive function run apart, each by one thread.

    for activations whose sequences have at most `limit` elements together
        done, results = f^apart         the function's sequential version f~, for each activation
        results if done, else those of f^, which then runs nothing apart
    for the others, f^                  the lifted version, which goes on so

`limit` is a share of all elements of the first call's activations, or few elements; the recursion goes on with it.
Where one of the activations up to the limit is more than all others of them together, most threads would wait for it:
then only those of few elements run apart, and it is divided first. Versions differ in speed only: f~ is the same
function, translated for the host; whoever runs it gives it up where a check fails, memory or stack ends, and then all
is done again by f^, which tells the failure that there is. So f~ is an offer (lambda_cu.nodes, Function), which may be
declined.

A function is divided if it is recursive, has no effects, takes sequences, and gives scalars and sequences of them that
it makes itself.
"""
from __future__ import annotations

from nessie.base.types import Pair, Seq, Type, is_scalars
from nessie.flatten.calls.crossing import UNDECIDED
from nessie.flatten.translator import Translator
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import Domain, op, plus
from nessie.flatten.values.emitter import PLUS
from nessie.flatten.values.materialise import own_element, store
from nessie.flatten.values.values import Scalar, ScalarTerm, SeqTerm, Term, Value, pull, stored
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.analysis.provenance import Signature, Sources, of_element, shared
from nessie.mono.walk import called, expressions

FEW = 1 << 15                   # elements that one thread has in any case
MOST = 1 << 19                  # that it has at most
SHARE = 2                       # of all elements: for this many threads there is work at least
SUM_AND_MOST = ir.Thunk(("a", "b", "c", "d"), ir.Tuple((op("+", ir.Var("a"), ir.Var("c")),
                                                       op("max", ir.Var("b"), ir.Var("d")))))


def is_divided(t: Translator, function: mono.Function) -> bool:
    """May activations of the function run apart, by threads?"""
    return t.recursion and runs_alone(t, function)


def runs_alone(t: Translator, function: mono.Function) -> bool:
    """May an activation of the recursion run by itself?"""
    summary = t.summaries[function.name]
    return (bool(summary.again) and not summary.pools
            and any([isinstance(p.type, Seq) for p in function.parameters]) and is_flat(function.result)
            and makes_its_own(summary.result) and not has_effects(t, function))


def is_flat(type_: Type) -> bool:
    """Is it made of scalars and sequences of scalars?"""
    match type_:
        case Pair(first, second):
            return is_flat(first) and is_flat(second)
        case Seq(element):
            return is_scalars(element)
    return True


def makes_its_own(signature: Signature) -> bool:
    """Do all sequences of the result come with their payloads?"""
    match signature:
        case (first, second):
            return makes_its_own(first) and makes_its_own(second)
        case Sources():
            return not shared(signature) and makes_its_own(of_element(signature))
    return True


def has_effects(t: Translator, function: mono.Function) -> bool:
    seen: set[str] = set()
    waiting = [function.name]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            body = t.functions[name].body
            waiting += called(body)
            used = [IN_MONO[e.name] for e in expressions(body) if isinstance(e, mono.Prim) and e.name in IN_MONO]
            if any([primitive.kind == "effect" for primitive in used]):
                return True
    return False


# The parts ----------------------------------------------------------------------------------------


def elements_of(arguments: list[Value], domain: Domain, context: Context) -> ir.Exp:
    """Return how many elements an activation's sequences have together."""
    total: ir.Exp = ir.Const(0, "int")
    for argument in arguments:
        for term in sequences_in(pull(argument, domain, domain.here(), context)):
            total = plus(total, term.length)
    return total


def sequences_in(term: Term) -> list[SeqTerm]:
    match term:
        case SeqTerm():
            return [term]
        case ScalarTerm():
            return []
    return [*sequences_in(term.first), *sequences_in(term.second)]


def small(t: Translator, arguments: list[Value], domain: Domain) -> tuple[Scalar, ir.Atom]:
    """Return which activations are small enough to run apart, and the limit."""
    emitter, limit = t.emitter, t.frame.apart
    context = Context(emitter, domain)
    exp = elements_of(arguments, domain, context)
    lengths = own_element(exp, domain, context) or store(emitter, domain, context, [(exp, "int")], "elements")[0]
    if limit == UNDECIDED:
        total = emitter.declare("t", "int")
        read = ir.Read(lengths, ir.Var("i"))
        emitter.run(ir.Reduce(scope.thunk(("i",), read), (ir.Const(0, "int"),), PLUS, ir.Flat(domain.size)), [total])
        share = op("min", op("/", ir.Var(total.name), ir.Const(SHARE, "int")), ir.Const(MOST, "int"))
        limit = emitter.host().name(op("max", share, ir.Const(FEW, "int")), "int", "limit")
    test = Context(emitter, domain)
    here = ir.Read(lengths, domain.here().i)
    few = store(emitter, domain, test, [(op("<=", here, balanced(t, lengths, limit, domain)), "bool")], "small")[0]
    return stored(domain, few, "bool"), limit


def balanced(t: Translator, lengths: str, limit: ir.Atom, domain: Domain) -> ir.Atom:
    """Return up to which length activations run apart here: the limit, if none of them is longer than its share."""
    emitter, zero, length = t.emitter, ir.Const(0, "int"), ir.Read(lengths, ir.Var("i"))
    whole, longest = emitter.declare("whole", "int"), emitter.declare("longest", "int")
    counted = ir.If(op("<=", length, limit), length, zero)
    emitter.run(ir.Reduce(scope.thunk(("i",), ir.Tuple((counted, counted))), (zero, zero), SUM_AND_MOST,
                          ir.Flat(domain.size)), [whole, longest])
    even = op("<=", op("*", ir.Var(longest.name), ir.Const(SHARE, "int")), ir.Var(whole.name))
    return emitter.host().name(ir.If(even, limit, op("min", limit, ir.Const(FEW, "int"))), "int", "most")

