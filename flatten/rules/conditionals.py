"""Rules for conditionals whose branches are parallel.

On the host, one branch runs, and both define the same names. Under a domain, PARTITION splits the indices, and each
branch runs over its own elements (nothing is packed: outer variables are read through the indices). The merge pulls

    c[i] ? then at pos[i] : else at pos[i]

so bounds are selected, payloads shared, and no element is copied. A branch that nobody takes runs over no elements.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.base.types import Type
from nessie.flatten.calls.boundary import Packer, params_of, received, unpack
from nessie.flatten.calls.crossing import of_values
from nessie.flatten.rules.emptiness import undivided
from nessie.flatten.translator import Translator, Values, scalar
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, At, Domain, subset
from nessie.flatten.values.emitter import int_results
from nessie.flatten.values.materialise import solid, store
from nessie.flatten.values.values import Scalar, Term, Value, delayed, exp_of, pull
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of


def conditional(t: Translator, exp: mono.If, env: Values, domain: Domain, hint: str) -> Value:
    if domain is not HOST and (found := undivided(t, exp)) is not None:
        bound, chosen = found
        inner = dict(env)
        for name, value in bound:
            hint_of = hint if name.startswith("#") else name
            inner[name] = solid(t.emitter, t.value(value, inner, domain, hint_of), domain, hint_of, light=True)
        return t.value(chosen, inner, domain, hint)
    test = scalar(t.value(exp.condition, env, domain, "test"))
    return on_host(t, exp, test, env, hint) if domain is HOST else split(t, exp, test, env, domain, hint)


def on_host(t: Translator, exp: mono.If, test: Scalar, env: Values, hint: str) -> Value:
    return either(t, test, type_of(exp), hint, exp.origin, lambda: t.value(exp.then, env, HOST, hint),
                  lambda: t.value(exp.orelse, env, HOST, hint))


def either(t: Translator, test: Scalar, type_: Type, hint: str, origin: Origin, then_value: Callable[[], Value],
           else_value: Callable[[], Value]) -> Value:
    """One of two values, as the test says, of which the host computes only that."""
    emitter = t.emitter
    condition = Packer(emitter, "test").name(test, HOST, "bool")
    parts = emitter.part(), emitter.part()
    values = [emitter.into(part, value) for part, value in zip(parts, (then_value, else_value))]
    crossing = of_values(values, t.frame.named)
    pack = Packer(emitter, hint, t.frame).pack
    atoms = [emitter.into(part, pack, value, type_, HOST, crossing) for part, value in zip(parts, values)]
    then, orelse = [ir.Block(tuple(part.statements), tuple(names)) for part, names in zip(parts, atoms)]
    results = params_of(emitter, type_, HOST, crossing, hint)
    emitter.emit(ir.Branch(tuple(results), condition, then, orelse, origin=origin))
    return unpack(emitter, type_, HOST, received(results), crossing)


def split(t: Translator, exp: mono.If, test: Scalar, env: Values, domain: Domain, hint: str) -> Value:
    t.emitter.origin = exp.origin
    return divided(t, test, domain, hint, lambda side: t.value(exp.then, env, side, hint),
                   lambda side: t.value(exp.orelse, env, side, hint))


def divided(t: Translator, test: Scalar, domain: Domain, hint: str, yes_value: Callable[[Domain], Value],
            no_value: Callable[[Domain], Value]) -> Value:
    """Divide the domain by the test; what is said of each side makes its value there."""
    origin = t.emitter.origin
    sides = parted(t, test, domain)
    then, orelse = yes_value(sides.yes), no_value(sides.no)
    t.emitter.origin = origin
    return merged(t, sides, then, orelse, domain, hint)


def merged(t: Translator, sides: Sides, then: Value, orelse: Value, domain: Domain, hint: str) -> Value:
    """Return over the domain what is given over its sides."""
    def term_at(at: At, context: Context) -> Term:
        return sides.choose(at, context, lambda there, c: pull(then, sides.yes, there, c),
                            lambda there, c: pull(orelse, sides.no, there, c))

    value = delayed(domain, term_at, term_at(domain.here(), Context(t.emitter, domain)))
    return solid(t.emitter, value, domain, hint)


@dataclass(frozen=True)
class Sides:
    """A domain divided in two: the arrays of what was chosen for each element, and of its place on its side."""
    yes: Domain
    no: Domain
    chosen: str
    place: str

    def choose(self, at: At, context: Context, then: Callable[[At, Context], Term],
               orelse: Callable[[At, Context], Term]) -> Term:
        """Return what is there at the element's index on its side, whose parent is the element."""
        there = At(context.let(ir.Read(self.place, at.i), "at"), parent=at)
        return context.branch(ir.Read(self.chosen, at.i), lambda c: then(there, c), lambda c: orelse(there, c))


def parted(t: Translator, test: Scalar, domain: Domain) -> Sides:
    """Divide the domain by the test."""
    emitter = t.emitter
    chosen = stored_test(t, test, domain)
    yes, no = int_results(emitter, "yes", "no")
    to_yes, to_no = (emitter.declare(f"{side.name}_of", ir.Array("int", side.name)) for side in (yes, no))
    place = emitter.declare("place", ir.Array("int", domain.size))
    index = scope.thunk(domain.params, ir.Var("i"))
    emitter.run(ir.Partition(index, scope.thunk(domain.params, ir.Read(chosen, ir.Var("i"))), emitter.walked(domain)),
                [yes, no, to_yes, to_no, place])
    return Sides(subset(domain, yes.name, to_yes.name), subset(domain, no.name, to_no.name), chosen, place.name)


def stored_test(t: Translator, test: Scalar, domain: Domain) -> str:
    """Return the array of the tests' outcomes, which PARTITION and the merge both read."""
    if test.home is domain and test.name is not None:
        return test.name
    context = Context(t.emitter, domain)
    exp = exp_of(pull(test, domain, domain.here(), context))
    return store(t.emitter, domain, context, [(exp, "bool")], "test")[0]
