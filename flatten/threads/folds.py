"""Pass: sequential folds in a thread: reductions that an element does alone.

  in    mono; `recursion`: may functions that run per element recur?
  out   mono: within an apply-to-each, a reduction of pure elements
          - over a few elements whose number the text tells is written out:
            sum({x[i + d] : d in [-1, 1]}) is 0 + x[i - 1] + x[i + 1]
          - that compares two sequences, and can stop where they differ, is a call of a loop:
            if #a == #b then all({x == y : x in a; y in b}) else f
        and in a function that only elements call, each reduction is a call of a loop, if all of the function then runs
        per element; a reduction by a function walks the elements of what its sequence is made of
  how   A loop is a new function that calls itself last: its index, what is accumulated so far, and the variables that
        the elements mention. It adds up in order, from the identity on.
  why   An element's few operations stay in its thread: nothing is stored, and the MAP that it belongs to fuses as any.
  sound because the elements are evaluated in order, each as often as before; only comparisons that cannot fail stop.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from nessie.base.call_graph import reachable
from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.types import BOOL, FLOAT32, INT, INT32, Base, Type
from nessie.flatten.threads.functions import thread_level
from nessie.flatten.threads.reductions import (
    REDUCE,
    copied,
    element,
    free_variables,
    identity,
    range_length,
    reduced_each,
    together,
    total,
    with_own_elements,
    with_reduced,
)
from nessie.flatten.threads.thread import Purity
from nessie.mono import nodes as mono
from nessie.mono.node_types import element_place, element_type, narrow_types, type_of
from nessie.mono.walk import binders, called, expressions, is_trivial, let_chain, map_parts, parts

FEW, LARGE = 32, 500            # elements that are written out, and nodes that come of them
UNEQUAL = "Length mismatch in an apply-to-each."
TRUE, FALSE = mono.Const(True, BOOL), mono.Const(False, BOOL)


def folds(program: mono.Program, recursion: bool) -> mono.Program:
    places = places_of_sequences(program)
    if not places and not any(isinstance(e, mono.Prim) and e.name.startswith(REDUCE)
                              for f in program.functions for e in expressions(f.body)):
        return program
    inner = called_by_elements(program)
    known = set(thread_level(program, recursion))
    names = Names({*binders(program), *[f.name for f in program.functions]})
    ints = INT32 if INT32 in narrow_types(program) else INT
    plain = Folder(names, Purity(known), ints, places)
    looping = Folder(names, Purity(known | inner), ints, places, loops=True)
    functions = {f.name: replace(f, body=plain.exp(f.body, f.name in inner)) for f in program.functions}
    tried = {name: replace(f, body=looping.exp(functions[name].body, True))
             for name, f in functions.items() if name in inner - known}
    while True:         # those that still do not run per element are left as they were
        made = replace(program, functions=(*{**functions, **tried}.values(), *plain.made, *looping.made))
        found = thread_level(made, recursion)
        if tried.keys() <= found:
            return needed(made)
        tried = {name: f for name, f in tried.items() if name in found}


def places_of_sequences(program: mono.Program) -> dict[str, int]:
    """Return the functions that reduce by another, and which argument of each is the sequence."""
    functions = {f.name: f for f in program.functions}
    found = {f.name: element_place(f, functions[f.fold.operator]) for f in program.functions
             if f.fold is not None and f.fold.form == "reduce"}
    return {name: place + 1 for name, place in found.items() if place is not None}


def called_by_elements(program: mono.Program) -> set[str]:
    """Return the functions that only bodies of apply-to-eaches lead to."""
    functions = {f.name: f for f in program.functions}
    host, waiting = set[str](), [program.entry]
    while waiting:
        name = waiting.pop()
        if name not in host:
            host.add(name)
            waiting += once(functions[name].body)
    return functions.keys() - host


def once(exp: mono.Exp) -> Iterator[str]:
    """Yield the functions that the expression calls outside bodies of apply-to-eaches."""
    waiting = [exp]
    while waiting:
        part = waiting.pop()
        if isinstance(part, mono.Call):
            yield part.function
        waiting += [g.source for g in part.generators] if isinstance(part, mono.Each) else parts(part)


def needed(program: mono.Program) -> mono.Program:
    """Return the program without functions that nothing calls."""
    graph = {f.name: [*called(f.body), *([f.fold.operator] if f.fold else [])] for f in program.functions}
    seen = reachable(graph, (program.entry,))
    return replace(program, functions=tuple([f for f in program.functions if f.name in seen]))


def rounds_once(reduce: str, type_: Type) -> bool:
    """Is it a sum or a product of narrow floats, which is rounded at its end only, and not at each operator?"""
    return type_ == FLOAT32 and reduce.removeprefix(REDUCE) in ("+", "*")


@dataclass
class Folder:
    """Rewrites bodies. `purity` knows the functions that run per element; `ints`: the type of the program's ints;
    `places`: of functions that reduce by another, which argument is the sequence; `loops`: every reduction becomes a
    loop; `literals`: the numbers of elements of variables that are literals; `made`: the loops; the `safe` ones cannot
    fail."""
    names: Names
    purity: Purity
    ints: Base
    places: Mapping[str, int]
    loops: bool = False
    literals: dict[str, int] = field(default_factory=dict)
    made: list[mono.Function] = field(default_factory=list)
    safe: set[str] = field(default_factory=set)

    def exp(self, exp: mono.Exp, inside: bool) -> mono.Exp:
        """Return the expression, which elements evaluate if `inside`, with its folds."""
        match exp:
            case mono.Let():
                return self.lets(exp, inside)
            case mono.Each(body, generators, condition):
                sources = [mono.Generator(g.name, self.exp(g.source, inside)) for g in generators]
                return mono.Each(self.exp(body, True), tuple(sources), condition and self.exp(condition, True),
                                 origin=exp.origin)
        exp = map_parts(exp, lambda part: self.exp(part, inside))
        return self.folded(exp) if inside else exp

    def lets(self, exp: mono.Exp, inside: bool) -> mono.Exp:
        """Rewrite a chain of lets. A sequence that only the reduction after it reads is made in the reduction."""
        bound: list[tuple[str, mono.Exp]] = []
        while isinstance(exp, mono.Let):
            value = self.exp(exp.value, inside)
            if isinstance(value, mono.Literal):
                self.literals[exp.name] = len(value.elements)
            while inside and bound and (joined := together(*bound[-1], value, self.places, exp.body)) is not None:
                bound.pop()
                value = joined
            bound.append((exp.name, value))
            exp = exp.body
        while inside and bound and (joined := together(*bound[-1], exp, self.places)) is not None:
            bound.pop()
            exp = joined
        return let_chain(bound, self.exp(exp, inside))

    def folded(self, exp: mono.Exp) -> mono.Exp:
        """Return what stands for an expression whose parts are done."""
        match exp:
            case mono.Prim(name, _, result) if name.startswith(REDUCE) and rounds_once(name, result):
                return exp
            case mono.Call() if (each := reduced_each(exp, self.places)) is not None:
                return with_reduced(exp, with_own_elements(each), self.places)
            case mono.Prim(name, (mono.Each() as each,)) if name.startswith(REDUCE):
                each = with_own_elements(each)
                if len(each.generators) == 1 and isinstance(each.generators[0].source, mono.Each):
                    return exp
                operator = name.removeprefix(REDUCE)
                if not self.is_pure(each):
                    return replace(exp, arguments=(each,))
                return (self.written_out(operator, each) or (self.loops and self.loop(operator, each))
                        or replace(exp, arguments=(each,)))
            case mono.Prim(name, (whole,)) if name.startswith(REDUCE) and self.loops and self.purity.pure(whole):
                item = mono.Var(self.names.fresh("x"), element_type(whole))
                each = mono.Each(item, (mono.Generator(item.name, whole),), origin=exp.origin)
                return self.loop(name.removeprefix(REDUCE), each) or exp
            case mono.If(mono.Prim("==", (mono.Prim("length", (a,)), mono.Prim("length", (b,)))),
                         mono.Prim("reduce_and", (mono.Each(body, (one, other), None) as each,)), mono.Const(False)):
                if (one.source, other.source) == (a, b) and self.purity.pure(body) and total(body, self.safe):
                    return replace(exp, then=self.loop("and", each, checked=True) or exp.then)
        return exp

    def is_pure(self, each: mono.Each) -> bool:
        return self.purity.pure(each.body) and (each.filter is None or self.purity.pure(each.filter))

    # Few elements

    def written_out(self, operator: str, each: mono.Each) -> mono.Exp | None:
        """Return the reduction written out, if it is over few elements."""
        counts = {self.count(g.source) for g in each.generators}
        count = counts.pop()
        nodes = sum(1 for _ in expressions(each))
        if counts or count is None or not 0 < count <= FEW or count * nodes > LARGE:
            return None
        type_ = type_of(each.body)
        result: mono.Exp = identity(operator, type_)
        for k in range(count):
            by: dict[str, str] = {}
            bound = []
            for g in each.generators:
                by[g.name] = self.names.fresh(g.name)
                bound.append((by[g.name], copied(element(g.source, k, each, self.ints), {}, self.names)))
            value = copied(each.body, by, self.names)
            if each.filter is not None:
                value = mono.If(copied(each.filter, by, self.names), value, identity(operator, type_),
                                origin=each.origin)
            result = mono.Prim(operator, (result, let_chain(bound, value)), type_, origin=each.origin)
        return result

    def count(self, source: mono.Exp) -> int | None:
        """Return the number of the source's elements, if they are at hand and it is known."""
        match source:
            case mono.Literal(elements) if all(map(total, elements)):
                return len(elements)
            case mono.Prim("iseq", (mono.Const(int(start)), mono.Const(int(step)), mono.Const(int(end)))):
                return (end - start + step - 1) // step if start <= end and step > 0 else None
            case mono.Var(name):
                return self.literals.get(name)
        return None

    # Loops

    def loop(self, operator: str, each: mono.Each, checked: bool = False) -> mono.Exp | None:
        """Return a call of a new function that does the reduction, if its sources are at hand. `checked`: they are
        equally long."""
        type_, origin = type_of(each.body), each.origin
        bound: list[tuple[str, mono.Exp]] = []

        def named(value: mono.Exp, hint: str) -> mono.Exp:
            if is_trivial(value):
                return value
            bound.append((self.names.fresh(hint), value))
            return mono.Var(bound[-1][0], type_of(value))

        sources, lengths = list[mono.Exp](), list[mono.Exp]()
        for g in each.generators:
            match g.source:
                case mono.Prim("iseq", (mono.Const(int(start)) as first, mono.Const(1), end)) if (
                        start >= 0 and self.purity.pure(end)):
                    lengths.append(named(range_length(first, end, g.source.origin), "n"))
                    sources.append(first)
                case source if self.purity.pure(source):
                    sources.append(named(source, g.name))
                    lengths.append(mono.Prim("length", (sources[-1],), self.ints, origin=origin))
                case _:
                    return None
        early = operator in ("and", "or") and type_ == BOOL and all([
            total(e, self.safe) for e in (each.body, each.filter) if e is not None])
        free = free_variables(each, sources)
        made = self.function(operator, each, sources, free, early)
        start_of = [] if early else [identity(operator, type_)]
        given = (mono.Const(0, self.ints), lengths[0], *start_of, *free.values())
        call: mono.Exp = mono.Call(made.name, given, type_, origin=origin)
        for length in lengths[1:] if not checked else ():
            equal = mono.Prim("==", (lengths[0], length), BOOL, origin=origin)
            call = mono.Prim("check", (equal, mono.String(UNEQUAL), call), type_, origin=origin)
        self.made.append(made)
        self.purity = Purity({*self.purity.thread_level, made.name})
        if early:
            self.safe.add(made.name)
        return let_chain(bound, call)

    def function(self, operator: str, each: mono.Each, sources: list[mono.Exp], free: Mapping[str, mono.Var],
                 early: bool) -> mono.Function:
        """Return the loop: from an index on, up to the length, with what is accumulated before. A source that is an int
        stands for the range that begins there."""
        fresh, type_, origin = self.names.fresh, type_of(each.body), each.origin
        name = fresh("fold")
        ints = self.ints
        index, length, before = (mono.Var(fresh(n), t) for n, t in (("at", ints), ("n", ints), ("acc", type_)))
        given = {key: mono.Var(fresh(key), var.type) for key, var in free.items()}
        by = {key: var.name for key, var in given.items()}
        bound: list[tuple[str, mono.Exp]] = []
        for g, source in zip(each.generators, sources, strict=True):
            item = mono.Prim("+", (source, index), ints) if isinstance(source, mono.Const) else mono.Prim(
                "elt", (copied(source, by, self.names), index), element_type(source))
            by[g.name] = fresh(g.name)
            bound.append((by[g.name], replace(item, origin=origin)))
        value = copied(each.body, by, self.names)
        passes = None if each.filter is None else copied(each.filter, by, self.names)
        onwards = mono.Prim("+", (index, mono.Const(1, ints)), ints, origin=origin)

        def again(*more: mono.Exp) -> mono.Exp:
            return mono.Call(name, (onwards, length, *more, *given.values()), type_, origin=origin)

        if early:
            goes_on = again()
            step: mono.Exp = mono.If(value, goes_on, FALSE) if operator == "and" else mono.If(value, TRUE, goes_on)
            step = step if passes is None else mono.If(passes, step, goes_on, origin=origin)
            end: mono.Exp = identity(operator, type_)
            params = [index, length]
        else:
            after: mono.Exp = mono.Prim(operator, (before, value), type_, origin=origin)
            after = after if passes is None else mono.If(passes, after, before, origin=origin)
            step, end, params = again(after), before, [index, length, before]
        done = mono.Prim(">=", (index, length), BOOL, origin=origin)
        body = mono.If(done, end, let_chain(bound, step), origin=origin)
        return mono.Function(name, tuple([mono.Parameter(v.name, v.type) for v in (*params, *given.values())]), type_,
                             body, origin=origin)
