"""Pass: make random numbers from a state that is passed along, so that drawing becomes arithmetic.

  in    mono, in which `_draw` returns 64 random bits as interpreter.random_numbers defines them
  out   mono without `_draw`. If the program may draw, its entry begins by asking for the seed, by `_seed`;
        `rand_seed` stays, because later programs see its effect
  how   A function that may draw takes the state as one more parameter and returns its result with the state after it.
        In a body, lets bind the expressions that draw and the states, in the order of evaluation. A conditional, a
        check or a call that draws is bound as a pair of value and state; where it comes last, it is that pair itself,
        so that tail calls stay tail calls. In an apply-to-each that draws, elements have states of their own from one
        more generator, and tell whether theirs has changed, on which the state around it depends. A filter that draws
        is evaluated by an apply-to-each before.
  sound because an expression evaluated before a draw is bound before it, and an expression guarded by a conditional
        or a check stays in it. Filters come before bodies in flattened programs, too. A state does not recur: each
        step adds an odd number, and there are fewer than 2**64 steps.

    {bits(_draw(t)) + i : i in v}       in state s becomes the last line of

    let key = mix(s);
        states = {mix(key xor mix(position)) : position in [0:#v]};
        drawn = {let b = mix(state); after = state + GAMMA in (bits(b) + i, (after, after /= state))
                 : i in v; state in states};
        s_1 = if any({changed : (_, (_, changed)) in drawn}) then s + GAMMA else s in
    {value : (value, _) in drawn}
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from nessie.base.call_graph import components
from nessie.base.names import Names
from nessie.base.types import BOOL, INT, Pair, Seq
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import binders, called, expressions, is_trivial, let_chain, map_parts, parts

GAMMA = mono.Const(0x9E3779B97F4A7C15 - 2**64, INT)         # from one state to the next
TRUE = mono.Const(True, BOOL)


def random_state(program: mono.Program) -> mono.Program:
    drawing = functions_that_draw(program)
    if program.entry not in drawing:
        return program                      # and nothing that runs draws
    names = Names(binders(program))
    entry = next(f for f in program.functions if f.name == program.entry)
    inner = Names([*IN_MONO, *(f.name for f in program.functions)]).fresh(entry.name)
    drawing[entry.name] = inner
    made = [threaded(f, drawing, names) if f.name in drawing else f for f in program.functions]
    return mono.Program((*made, starting(entry, inner, names)), entry.name)


def functions_that_draw(program: mono.Program) -> dict[str, str]:
    """Return the functions that may draw, with their names in the new program."""
    found = {f.name: f.name for f in program.functions if any(map(is_draw, expressions(f.body)))}
    calls = {f.name: called(f.body) for f in program.functions} if found else {}
    for component in components(calls):         # callees first
        if any(name in found or callee in found for name in component for callee in calls[name]):
            found |= {name: name for name in component}
    return found


def is_draw(exp: Exp) -> bool:
    """Does this primitive change the state?"""
    return isinstance(exp, mono.Prim) and exp.name in ("_draw", "rand_seed")


def starting(entry: mono.Function, inner: str, names: Names) -> mono.Function:
    """Return the new entry, which calls the old one's new version in the first state."""
    parameters = tuple([mono.Parameter(names.fresh(p.name), p.type) for p in entry.parameters])
    arguments: list[Exp] = [mono.Var(p.name, p.type) for p in parameters]
    arguments.append(mix(mono.Prim("_seed", (TRUE,), INT)))
    body = mono.First(mono.Call(inner, tuple(arguments), Pair(entry.result, INT)))
    return mono.Function(entry.name, parameters, entry.result, body, origin=entry.origin)


def threaded(function: mono.Function, drawing: dict[str, str], names: Names) -> mono.Function:
    """Return the function that takes the state and returns it."""
    marked: set[int] = set()                # the expressions in the body that may draw, by their ids
    for exp in reversed(list(expressions(function.body))):
        if is_draw(exp) or is_call(exp, drawing) or any(id(part) in marked for part in parts(exp)):
            marked.add(id(exp))
    state = mono.Var(names.fresh("state"), INT)
    parameters = (*function.parameters, mono.Parameter(state.name, INT))
    body = Line(names, drawing, marked, state).branch(function.body, state)
    return replace(function, name=drawing[function.name], parameters=parameters, result=Pair(function.result, INT),
                   body=body, fold=None)


def is_call(exp: Exp, drawing: dict[str, str]) -> bool:
    return isinstance(exp, mono.Call) and exp.function in drawing


class Line:
    """A straight line of evaluation: the names bound on it, and the state after them, which is trivial."""

    def __init__(self, names: Names, drawing: dict[str, str], marked: set[int], state: Exp) -> None:
        self.names, self.drawing, self.marked, self.state = names, drawing, marked, state
        self.bound: list[tuple[str, Exp]] = []

    def draws(self, exp: Exp | None) -> bool:
        return id(exp) in self.marked

    def bind(self, name: str, value: Exp) -> Exp:
        """Return the value, evaluated here."""
        if is_trivial(value):
            return value
        name = self.names.fresh(name)
        self.bound.append((name, value))
        return mono.Var(name, type_of(value))

    def branch(self, exp: Exp, state: Exp) -> Exp:
        """Return the expression's value with the state after it, on a line of its own that begins in this state."""
        line = Line(self.names, self.drawing, self.marked, state)
        end = line.last(line.lets(exp))
        return let_chain(line.bound, end)

    def lets(self, exp: Exp) -> Exp:
        """Bind the names of the lets around an expression, and return the expression."""
        while isinstance(exp, mono.Let):
            self.bound.append((exp.name, self.value(exp.value)))
            exp = exp.body
        return exp

    def value(self, exp: Exp) -> Exp:
        """Return the expression's value, to be used after the current bindings; parts that draw are bound."""
        if not self.draws(exp):
            return exp
        match exp:
            case mono.Let():
                return self.value(self.lets(exp))
            case mono.Prim("_draw", arguments):
                (ignored,) = self.values(arguments)
                self.bind("ignored", ignored)
                bits = self.bind("bits", mix(self.state))
                self.state = self.bind("state", after(self.state))
                return bits
            case mono.Prim("rand_seed", arguments):
                (value,) = self.values(arguments)
                seed = self.bind("seed", value)
                done = self.bind("seeded", replace(exp, arguments=(seed,)))
                self.state = self.bind("state", mix(seed))
                return done
            case mono.Each():
                return self.each(exp)
        if self.is_split(exp):
            both = self.bind("drawn", self.last(exp))
            self.state = mono.Second(both)
            return mono.First(both)
        return self.parts(exp)

    def parts(self, exp: Exp) -> Exp:
        """Return the expression with the values of its parts, all of which it evaluates."""
        values = iter(self.values(parts(exp)))
        return map_parts(exp, lambda part: next(values))

    def values(self, exps: tuple[Exp, ...]) -> list[Exp]:
        """Return the values of expressions that are evaluated one after another."""
        waiting = sum(map(self.draws, exps))
        found: list[Exp] = []
        for exp in exps:
            waiting -= self.draws(exp)
            value = self.value(exp)
            found.append(self.bind("part", value) if waiting else value)
        return found

    def is_split(self, exp: Exp) -> bool:
        """Does its value come with a state, that of the branch taken or of a call?"""
        match exp:
            case mono.If(_, then, orelse):
                return self.draws(then) or self.draws(orelse)
            case mono.Prim("check", (_, _, checked)):
                return self.draws(checked)
        return is_call(exp, self.drawing)

    def last(self, exp: Exp) -> Exp:
        """Return the expression's value with the state after it."""
        if not self.is_split(exp):
            value = self.value(exp)
            return mono.Pair(value, self.state)
        match exp:
            case mono.If(condition, then, orelse, origin=origin):
                condition = self.value(condition)
                return mono.If(condition, self.branch(then, self.state), self.branch(orelse, self.state), origin=origin)
            case mono.Prim(check, (condition, message, checked), type_, origin=origin):
                condition = self.value(condition)
                both = self.branch(checked, self.state)
                return mono.Prim(check, (condition, message, both), Pair(type_, INT), origin=origin)
            case mono.Call(function, arguments, type_, origin=origin):
                values = self.values(arguments)
                return mono.Call(self.drawing[function], (*values, self.state), Pair(type_, INT), origin=origin)
        raise TypeError(exp)

    def each(self, each: mono.Each) -> Exp:
        """Return the sequence; its elements draw from states of their own, in the filter and then in the body."""
        sources = self.values(tuple([g.source for g in each.generators]))
        each = replace(each, generators=tuple([
            mono.Generator(g.name, self.bind("source", s)) for g, s in zip(each.generators, sources, strict=True)]))
        if not (self.draws(each.filter) or self.draws(each.body)):
            return each
        states = self.bind("states", self.first_states(each.generators[0].source))
        steps: list[Exp] = []
        if each.filter is not None and self.draws(each.filter):
            tests = replace(each, body=each.filter, filter=None)
            fresh = {g.name: self.names.fresh(g.name) for g in each.generators}
            tested = self.bind("tested", renamed(self.elements(tests, states), fresh))
            passed = mono.Var(self.names.fresh("passed"), BOOL)
            more = mono.Generator(passed.name, self.parts_of(tested, mono.First))
            each = replace(each, generators=(*each.generators, more), filter=passed)
            states = self.bind("states", self.parts_of(tested, lambda test: mono.First(mono.Second(test))))
            steps.append(self.steps(tested))
        value: Exp = each
        if self.draws(each.body):
            drawn = self.bind("drawn", self.elements(each, states))
            value = self.parts_of(drawn, mono.First)
            steps.append(self.steps(drawn))
        step = reduce(lambda a, b: mono.Prim("or", (a, b), BOOL), steps)
        self.state = self.bind("state", mono.If(step, after(self.state), self.state))
        return value

    def first_states(self, source: Exp) -> Exp:
        """Return the states in which the elements begin."""
        key = self.bind("key", mix(self.state))
        position = mono.Var(self.names.fresh("position"), INT)
        length = mono.Prim("length", (source,), INT)
        positions = mono.Prim("iseq", (mono.Const(0, INT), mono.Const(1, INT), length), Seq(INT))
        return mono.Each(mix(mono.Prim("xor", (key, mix(position)), INT)), (mono.Generator(position.name, positions),))

    def elements(self, each: mono.Each, states: Exp) -> Exp:
        """Return for each element its value, the state after it, and whether the state has changed."""
        state = mono.Var(self.names.fresh("state"), INT)
        both = self.branch(each.body, state)
        drawn = mono.Var(self.names.fresh("drawn"), type_of(both))
        end = mono.Second(drawn)
        body = mono.Pair(mono.First(drawn), mono.Pair(end, mono.Prim("/=", (end, state), BOOL)))
        return mono.Each(mono.Let(drawn.name, both, body),
                         (*each.generators, mono.Generator(state.name, states)), each.filter, origin=each.origin)

    def parts_of(self, elements: Exp, part: Callable[[Exp], Exp]) -> Exp:
        """Return a part of each of the elements."""
        type_ = type_of(elements)
        assert isinstance(type_, Seq)
        element = mono.Var(self.names.fresh("element"), type_.element)
        return mono.Each(part(element), (mono.Generator(element.name, elements),))

    def steps(self, elements: Exp) -> Exp:
        """Has one of the elements drawn?"""
        changes = self.parts_of(elements, lambda element: mono.Second(mono.Second(element)))
        return mono.Prim("reduce_or", (changes,), BOOL)


def mix(state: Exp) -> Exp:
    return mono.Prim("mix", (state,), INT)


def after(state: Exp) -> Exp:
    return mono.Prim("+", (state, GAMMA), INT)


def renamed(exp: Exp, by: dict[str, str]) -> Exp:
    """Return the expression with other names for these, bound or free."""
    exp = map_parts(exp, lambda part: renamed(part, by))
    match exp:
        case mono.Var(name):
            return replace(exp, name=by.get(name, name))
        case mono.Each(_, generators):
            changed = [mono.Generator(by.get(g.name, g.name), g.source) for g in generators]
            return replace(exp, generators=tuple(changed))
    return exp
