"""Pass: where only the first few of a sorted sequence are used, they are found without sorting.

  in    mono
  out   mono without sorts of which a few elements are used, and ranks that are only compared with a small number
  how   The few are selected by one reduction (nessie.mono.least), which keeps the least so far in registers:

            let s = sort(v) in subseq(s, 0, 5)
            --------------------------------------------------------------------------------
            let s = {v[p] : p in the positions of the 5 least} in subseq(s, 0, 5)

            {x : x in xs; r in rank(v) | r < 5}
            --------------------------------------------------------------------------------
            let ps = the positions of the 5 least; o = order(ps) in
            {x : x in {xs[ps[r]] : r in o}; r in o}

        where rank(v) is written as the library has it: the inverse of an order. A bound that is known when the program
        runs chooses between this and the sort: if k <= how_many.LIKELY. Not within an apply-to-each: the choice would
        divide its elements, and copy those that are sorted.
  why   A sort takes n log n steps and stores keys, positions and ranks; the keys may be computed where they are used.
  sound as the positions are those that stand first in the stable order, NaN last. Nothing that can fail is dropped:
        slices check their ends against as many elements as are there, and sequences walked with a rank are walked with
        its keys, too. Where anything else reads the sort or the ranks, they stay.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import Origin
from nessie.base.types import INT, Base
from nessie.mono import nodes as mono
from nessie.mono.how_many import EVERYTHING, Limit, Numbers, Unbounded, counted
from nessie.mono.least import Least, Tuples, indices
from nessie.mono.node_types import element_type, type_of
from nessie.mono.nodes import Exp
from nessie.mono.passes.hoist import may_fail
from nessie.mono.walk import binders, expressions, is_trivial, let_chain, map_parts, mentioned, opened

ORDERS = {"order": False, "order_down": True}
COMPARED = {("<", 0): False, (">", 1): False, ("<=", 0): True, (">=", 1): True, ("==", 0): True, ("==", 1): True}


def select_least(program: mono.Program) -> mono.Program:
    if not any(isinstance(e, mono.Prim) and (e.name in ORDERS or e.name == "sort")
               for f in program.functions for e in expressions(f.body)):
        return program
    least = Least(Names(binders(program)), Names([f.name for f in program.functions]))
    functions = tuple([replace(f, body=Selector(least, f).exp(f.body)) for f in program.functions])
    return replace(program, functions=(*functions, *least.made)) if least.made else program


class Selector:
    """Of one function."""

    def __init__(self, least: Least, function: mono.Function) -> None:
        self.least = least
        self.numbers = Numbers(function)
        self.within = 0                     # apply-to-eaches around

    def exp(self, exp: Exp) -> Exp:
        try:
            match exp:
                case mono.Let(_, value, _) if sorted_itself(value):
                    exp = self.without_sort(exp)
                case mono.Prim("subseq" | "elt", (source, *_)) if sorted_itself(opened(source)[1]):
                    exp = self.with_named_sort(exp)
                case mono.Let(_, value, _) if (order := self.ranked(value)) is not None:
                    exp = self.without_ranks(exp, order)
                case mono.Each(_, generators) if any([self.ranked(opened(g.source)[1]) for g in generators]):
                    exp = self.with_named_ranks(exp)
        except Unbounded:
            pass
        self.within += isinstance(exp, mono.Each)
        made = map_parts(exp, self.exp)
        self.within -= isinstance(exp, mono.Each)
        match made:
            case mono.Let(name, mono.Prim(made_by), body) if made_by in ORDERS and name not in mentioned(body):
                return body
        return made

    def counted(self, limits: list[Limit]) -> tuple[int, Exp | None]:
        """How many are selected, and on which condition: of rows on none, as that would divide them."""
        count, few = counted(limits)
        if few is not None and self.within:
            raise Unbounded
        return count, few

    # A sort --------------------------------------------------------------------------------------

    def without_sort(self, exp: mono.Let) -> Exp:
        """The let of a sorted sequence of which only the first few elements are used."""
        assert isinstance(exp.value, mono.Prim)
        (v,), limits = exp.value.arguments, list[Limit]()

        def without(part: Exp) -> Exp:
            match part:
                case mono.Var(name) if name == exp.name:
                    raise Unbounded
                case mono.Prim("length", (mono.Var(name),)) if name == exp.name:
                    return replace(part, arguments=(v,))
                case mono.Prim("subseq" | "elt", (mono.Var(name) as s, *places)) if name == exp.name:
                    limits.append((self.numbers.known(places[-1], self.numbers.place[name]), part.name == "elt"))
                    return replace(part, arguments=(s, *map(without, places)))
            return map_parts(part, without)

        body, origin = without(exp.body), exp.value.origin
        count, few = self.counted(limits)
        key = element_type(v)
        assert isinstance(key, Base)
        p = mono.Var(self.least.names.fresh("p"), INT)
        positions = self.least.positions(v, Tuples(key, INT, count, False), origin)
        chosen = mono.Each(mono.Prim("elt", (v, p), key, origin=origin), (mono.Generator(p.name, positions),),
                           origin=origin)
        return replace(exp, value=either(few, chosen, exp.value), body=body)

    def with_named_sort(self, exp: mono.Prim) -> Exp:
        """The slice or the element of a sort that has no name."""
        bound, sort = opened(exp.arguments[0])
        name = self.least.names.fresh("sorted")
        self.numbers.place[name] = EVERYTHING
        some = replace(exp, arguments=(mono.Var(name, type_of(sort)), *exp.arguments[1:]))
        return let_chain(bound, self.without_sort(mono.Let(name, sort, some, origin=exp.origin)))

    # Ranks ---------------------------------------------------------------------------------------

    def ranked(self, exp: Exp) -> mono.Prim | None:
        """The order whose inverse the expression is, as the library makes it."""
        match exp:
            case mono.Prim("write", (mono.Var(name), mono.Each(mono.Pair(mono.Var(j), mono.Var(i)), (
                    mono.Generator(j_bound, mono.Var(source)), mono.Generator(i_bound, indexed)), None))) \
                    if (name, j, i) == (source, j_bound, i_bound) and counts(indexed, name):
                order = self.numbers.values.get(name)
                if isinstance(order, mono.Prim) and order.name in ORDERS and is_trivial(order.arguments[0]):
                    return order
        return None

    def without_ranks(self, exp: mono.Let, order: mono.Prim) -> Exp:
        """The let of ranks that are only compared with small numbers: what has its name afterwards are the ranks of the
        few, in the order in which they stand."""
        (v,), origin, names = order.arguments, order.origin, self.least.names
        key, ints = element_type(v), element_type(order)
        assert isinstance(key, Base) and isinstance(ints, Base)
        ps, limits = mono.Var(names.fresh("ps"), order.type), list[Limit]()

        def without(part: Exp) -> Exp:
            match part:
                case mono.Var(name) if name == exp.name:
                    raise Unbounded
                case mono.Prim("length", (mono.Var(name),)) if name == exp.name:
                    return replace(part, arguments=(v,))
                case mono.Each(_, generators, condition) if exp.name in map(of_name, generators):
                    ranks = {g.name for g in generators if of_name(g) == exp.name}
                    limits.append(self.limit(condition, ranks, self.numbers.place[exp.name]))
                    sources = tuple([g if of_name(g) == exp.name else replace(g, source=without(g.source))
                                     for g in generators])
                    few = replace(part, body=without(part.body), generators=sources)
                    return self.over_few(few, exp.name, v, ps)
            return map_parts(part, without)

        body = without(exp.body)
        count, few = self.counted(limits)
        found = self.least.positions(v, Tuples(key, ints, count, ORDERS[order.name]), origin)
        places = mono.Prim("order", (ps,), order.type, origin=origin)
        ranks = either(few, places, inverse(ps, names, exp.value.origin))
        return mono.Let(ps.name, either(few, found, order), replace(exp, value=ranks, body=body), origin=origin)

    def limit(self, condition: Exp | None, ranks: set[str], place: int) -> Limit:
        """What is compared with a rank, where the condition is that it is less, and perhaps more that cannot fail."""
        match condition:
            case mono.Prim("and", (left, right)) if not may_fail(condition):
                try:
                    return self.limit(left, ranks, place)
                except Unbounded:
                    return self.limit(right, ranks, place)
            case mono.Prim(name, arguments) if len(arguments) == 2:
                for at, argument in enumerate(arguments):
                    if isinstance(argument, mono.Var) and argument.name in ranks and (name, at) in COMPARED:
                        return self.numbers.known(arguments[1 - at], place), COMPARED[name, at]
        raise Unbounded

    def over_few(self, exp: mono.Each, name: str, v: Exp, ps: mono.Var) -> Exp:
        """The apply-to-each over the few alone: over what stands at their positions `ps`. That its sequences have equal
        lengths is asked of the whole ones."""
        names, bound = self.least.names, list[tuple[str, Exp]]()
        generators, walked = list[mono.Generator](), list[mono.Generator]()
        for generator in exp.generators:
            source = generator.source
            if of_name(generator) != name:
                if not is_trivial(source):
                    bound.append((names.fresh(generator.name), source))
                    source = mono.Var(bound[-1][0], type_of(source))
                walked.append(mono.Generator(names.fresh(generator.name), source))
                source = elements_at(source, mono.Var(name, ps.type), ps, names, exp.origin)
            generators.append(mono.Generator(generator.name, source))
        if walked:
            zero = mono.Const(0, INT)
            whole = mono.Each(zero, (*walked, mono.Generator(names.fresh("x"), v)), origin=exp.origin)
            bound.append((names.fresh("n"), mono.Prim("length", (whole,), INT, origin=exp.origin)))
        return let_chain(bound, replace(exp, generators=tuple(generators)))


    def with_named_ranks(self, exp: mono.Each) -> Exp:
        """The apply-to-each over ranks, once these and all that it walks have names."""
        bound, generators = list[tuple[str, Exp]](), list[mono.Generator]()
        place = self.numbers.place[exp.generators[0].name]
        for generator in exp.generators:
            lets, source = opened(generator.source)
            bound += lets
            if not is_trivial(source):
                bound.append((self.least.names.fresh(generator.name), source))
                self.numbers.place[bound[-1][0]] = place
                source = mono.Var(bound[-1][0], type_of(source))
            generators.append(mono.Generator(generator.name, source))
        named: Exp = replace(exp, generators=tuple(generators))
        for name, value in reversed(bound):
            named = mono.Let(name, value, named, origin=exp.origin)
            if (order := self.ranked(value)) is not None:
                named = self.without_ranks(named, order)
        return named



def sorted_itself(exp: Exp) -> bool:
    """Is it a sort of what has a name?"""
    return isinstance(exp, mono.Prim) and exp.name == "sort" and is_trivial(exp.arguments[0])


def either(few: Exp | None, selected: Exp, sorted_: Exp) -> Exp:
    return selected if few is None else mono.If(few, selected, sorted_)


def of_name(generator: mono.Generator) -> str | None:
    """The name of the sequence that it walks."""
    return generator.source.name if isinstance(generator.source, mono.Var) else None


def counts(exp: Exp, name: str) -> bool:
    """Are these the indices of the sequence?"""
    match exp:
        case mono.Let(size, mono.Prim("length", (mono.Var(of),)), mono.Prim("iseq", (
                mono.Const(0), mono.Const(1), mono.Var(end)))):
            return (size, of) == (end, name)
        case mono.Prim("iseq", (mono.Const(0), mono.Const(1), mono.Prim("length", (mono.Var(of),)))):
            return of == name
    return False


def inverse(ps: mono.Var, names: Names, origin: Origin) -> Exp:
    """The ranks of which `ps` is the order."""
    ints = element_type(ps)
    assert isinstance(ints, Base)
    j, i = mono.Var(names.fresh("j"), ints), mono.Var(names.fresh("i"), ints)
    pairs = mono.Each(mono.Pair(j, i), (mono.Generator(j.name, ps), mono.Generator(i.name, indices(ps, ints, origin))),
                      origin=origin)
    return mono.Prim("write", (ps, pairs), ps.type, origin=origin)


def elements_at(source: Exp, ranks: mono.Var, ps: Exp, names: Names, origin: Origin) -> Exp:
    """The elements of the source at the positions of these ranks."""
    r = mono.Var(names.fresh("r"), element_type(ranks))
    place = mono.Prim("elt", (ps, r), element_type(ranks), origin=origin)
    return mono.Each(mono.Prim("elt", (source, place), element_type(source), origin=origin),
                     (mono.Generator(r.name, ranks),), origin=origin)
