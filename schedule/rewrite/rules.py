"""The fusion rules: each is a function with its inference rule as docstring.

A rule takes two bindings of one kernel, the producer (or merely the first) and the consumer, and returns the binding
that replaces both, or None if it does not apply. The caller checks that one walk can still compute the kernel
afterwards. `A[i] -> a` replaces reads of A at the thunk's own index i by the element a; K are the results of A that
others use too. Rules hold for several results; the inference rules show one.

Rules preserve errors: an expression that can fail is still evaluated at the same indices, and its error is reported
with the same index. So if a consumer's index changes from a survivor's number to its place in the filter's space, the
consumer must not fail.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.parts import map_thunks, thunks
from nessie.schedule.graph.uses import operator_of
from nessie.schedule.rewrite.thunks import (
    Setting,
    at,
    beside,
    bound_to,
    elements_for,
    index_only_reads,
    reads_at_own_index,
    tidy,
    tuple_of,
    with_element_of,
    with_elements,
)


@dataclass(frozen=True)
class Rule:
    """`kinds`: the SOACs of the two bindings."""
    name: str
    kinds: frozenset[tuple[type, type]]
    join: Callable[[ir.Bind, ir.Bind, Setting], ir.Bind | None]


# A producer computed where it is read ---------------------------------------------------------------

def map_map(producer: ir.Bind, consumer: ir.Bind, setting: Setting) -> ir.Bind | None:
    """MAP-MAP: two MAPs over one space become one; the second may read the first at its own index only.

        A = MAP {i => e1} n        B = MAP {i => e2} n
        ----------------------------------------------------------- A read as A[i] only
        (K, B) = MAP {i => let a = e1 in (k, e2[A[i] -> a])} n
    """
    match producer.soac, consumer.soac:
        case ir.Map(first, space), ir.Map(second, other) if space == other \
                and reads_at_own_index(second, producer.names):
            keep = [name for name in producer.names if name in setting.kept]
            count = len(consumer.names)
            thunk = with_element_of(first, producer.names, second, setting.names, keep, count)
            return bind((*keep, *consumer.names), ir.Map(tidy(thunk, setting.names, setting.failing), space), consumer)
    return None


def map_into(producer: ir.Bind, consumer: ir.Bind, setting: Setting) -> ir.Bind | None:
    """MAP-X: a MAP that only one thunk of X reads is computed there.

        A = MAP {i => e1} n        B = X {i => e2} .. n        X in REDUCE, SCAN, FILTER, PARTITION, PERMUTE
        -------------------------------------------------- A read as A[i] only; e1 cannot fail if X may skip indices
        B = X {i => let a = e1 in e2[A[i] -> a]} .. n
    """
    match producer.soac:
        case ir.Map(first, space) if space == scope.space_of(consumer.soac) and not setting.kept:
            pass
        case _:
            return None
    readers = [thunk for thunk in thunks(consumer.soac) if set(producer.names) & set(thunk.using)]
    if len(readers) != 1 or not reads_at_own_index(readers[0], producer.names):
        return None
    if setting.fails(first.body) and not sure_to_run(consumer.soac, readers[0]):
        return None
    if is_operator(consumer.soac, readers[0]):
        return None

    def change(thunk: ir.Thunk) -> ir.Thunk:
        if thunk is not readers[0]:
            return thunk
        return tidy(with_element_of(first, producer.names, thunk, setting.names), setting.names, setting.failing)

    return replace(consumer, soac=map_thunks(consumer.soac, change))


def sure_to_run(soac: ir.Soac, thunk: ir.Thunk) -> bool:
    """Is this thunk of the SOAC evaluated at every index?"""
    match soac:
        case ir.Filter(_, predicate, _):
            return thunk is predicate
        case ir.Permute(index=index) | ir.ReduceByIndex(index=index):
            return thunk is index
    return True


def is_operator(soac: ir.Soac, thunk: ir.Thunk) -> bool:
    return thunk is operator_of(soac)


# Side by side ---------------------------------------------------------------------------------------

def horizontal(first: ir.Bind, second: ir.Bind, setting: Setting) -> ir.Bind | None:
    """HORIZONTAL: two reductions, or two scans, of one space become one, of pairs.

        A = X {i => e1} v1 (+) n        B = X {i => e2} v2 (*) n
        ------------------------------------------------------------------------------- B does not read A
        (A, B) = X {i => (e1, e2)} (v1, v2) {((x, x'), (y, y')) => (x (+) y, x' (*) y')} n
    """
    match first.soac, second.soac:
        case (ir.Reduce() as one, ir.Reduce() as two) | (ir.Scan() as one, ir.Scan() as two) if one.space == two.space:
            f, g = one.thunk, two.thunk
        case _:
            return None
    if set(first.names) & set(scope.soac_names(two)) or (
            isinstance(one, ir.Scan) and isinstance(two, ir.Scan) and one.total != two.total):
        return None
    counts = len(first.names), len(second.names)
    body = beside([(at(f, f.params, setting.names), counts[0]), (at(g, f.params, setting.names), counts[1])],
                  setting.names)
    thunk = tidy(scope.thunk(f.params, body), setting.names, setting.failing)
    soac = replace(one, thunk=thunk, identity=one.identity + two.identity,
                   operator=pair_operator(one.operator, two.operator, counts, setting))
    return bind((*first.names, *second.names), soac, first)


def pair_operator(one: ir.Thunk, two: ir.Thunk, counts: tuple[int, int], setting: Setting) -> ir.Thunk:
    """The operator on the results of both; its parameters are all left ones, then all right ones."""
    names, (m, n) = setting.names, counts
    left = [names.fresh("x") for _ in range(m + n)]
    right = [names.fresh("y") for _ in range(m + n)]
    bodies = [(at(one, [*left[:m], *right[:m]], names), m), (at(two, [*left[m:], *right[m:]], names), n)]
    return scope.thunk((*left, *right), beside(bodies, names))


# Survivors ------------------------------------------------------------------------------------------

def survivors(producer: ir.Bind, consumer: ir.Bind, setting: Setting) -> ir.Filter | None:
    """The filter on whose survivors the consumer works, if the consumer reads nothing by its index but their values,
    and cannot fail; else None. This is the precondition of all rules below."""
    if not isinstance(producer.soac, ir.Filter) or isinstance(consumer.soac, ir.Once):
        return None
    space = consumer.soac.space
    count = space.size if isinstance(space, ir.Flat) else space.total
    if count != producer.names[0] or count == "_" or (isinstance(space, ir.Irregular) and (
            isinstance(producer.soac.space, ir.Flat) or space.offsets != producer.names[-1])):
        return None
    if isinstance(space, ir.Uniform | ir.Closed | ir.Nested):
        return None
    indexed = [thunk for thunk in thunks(consumer.soac) if not is_operator(consumer.soac, thunk)]
    if any(not index_only_reads(thunk, values_of(producer)) or producer.names[0] in thunk.using for thunk in indexed):
        return None
    return None if setting.fails(*(thunk.body for thunk in indexed)) else producer.soac


def values_of(filtered: ir.Bind) -> tuple[str, ...]:
    """The arrays of survivors' values among a FILTER's results."""
    segmented = isinstance(filtered.soac, ir.Filter) and not isinstance(filtered.soac.space, ir.Flat)
    return filtered.names[1:-1] if segmented else filtered.names[1:]


def for_survivor(producer: ir.Bind, thunk: ir.Thunk, setting: Setting) -> tuple[tuple[str, ...], ir.Exp]:
    """The parameters of the filter's value, and the consumer's thunk as an expression in them, with each value that it
    reads bound once."""
    assert isinstance(producer.soac, ir.Filter)
    value, names = producer.soac.value, setting.names
    arrays = values_of(producer)
    elements = elements_for(arrays, names)
    params = value.params
    index = params[-1]
    body = with_elements(at(thunk, params, names), index, elements)
    return params, bound_to([elements.get(array, "_") for array in arrays], at(value, params, names), body)


def guarded(producer: ir.Bind, then: ir.Exp, orelse: ir.Exp, params: tuple[str, ...], setting: Setting) -> ir.Thunk:
    """Return the thunk `{i => if p then .. else ..}`, p being the filter's predicate."""
    assert isinstance(producer.soac, ir.Filter)
    condition = at(producer.soac.predicate, params, setting.names)
    return tidy(scope.thunk(params, ir.If(condition, then, orelse)), setting.names, setting.failing)


def filter_map(producer: ir.Bind, consumer: ir.Bind, setting: Setting) -> ir.Bind | None:
    """FILTER-MAP: the filter computes what a MAP makes of each survivor.

        (k, A) = FILTER {i => e1} {i => p} n        B = MAP {j => e2} k
        --------------------------------------------------------------- e2 uses j to read A only, cannot fail
        (k, K, B) = FILTER {i => let a = e1 in (a, e2[A[j] -> a])} {i => p} n
    """
    filtered = survivors(producer, consumer, setting)
    if filtered is None or not isinstance(consumer.soac, ir.Map):
        return None
    arrays = values_of(producer)
    keep = [name for name in arrays if name in setting.kept]
    thunk = with_element_of(filtered.value, arrays, consumer.soac.thunk, setting.names, keep, len(consumer.names))
    names = (producer.names[0], *keep, *consumer.names, *producer.names[1 + len(arrays):])
    return bind(names, replace(filtered, value=tidy(thunk, setting.names, setting.failing)), producer)


def filter_filter(producer: ir.Bind, consumer: ir.Bind, setting: Setting) -> ir.Bind | None:
    """FILTER-FILTER: a filter of a filter's survivors becomes one filter with both conditions.

        (k, A) = FILTER {i => e1} {i => p} n        (m, B) = FILTER {j => e2} {j => q} k
        -------------------------------------------------------------------------------- only the second uses k, A
        (m, B) = FILTER {i => let a = e1 in e2[A[j] -> a]}
                        {i => if p then (let a = e1 in q[A[j] -> a]) else false} n
    """
    filtered = survivors(producer, consumer, setting)
    if filtered is None or not isinstance(consumer.soac, ir.Filter) or setting.kept \
            or not same_segments(filtered, consumer.soac):
        return None
    params, value = for_survivor(producer, consumer.soac.value, setting)
    _, condition = for_survivor(producer, consumer.soac.predicate, setting)
    predicate = guarded(producer, condition, ir.Const(False, "bool"), params, setting)
    value_thunk = tidy(scope.thunk(params, value), setting.names, setting.failing)
    return replace(consumer, soac=ir.Filter(value_thunk, predicate, filtered.space))


def filter_reduce(producer: ir.Bind, consumer: ir.Bind, setting: Setting) -> ir.Bind | None:
    """FILTER-REDUCE: a reduction of survivors, or of their segments, walks all; other elements count as the identity.

        (k, A) = FILTER {i => e1} {i => p} n        b = REDUCE {j => e2} v (+) k
        ------------------------------------------------------------------------ only b uses k, A
        b = REDUCE {i => if p then (let a = e1 in e2[A[j] -> a]) else v} v (+) n
    """
    filtered = survivors(producer, consumer, setting)
    if filtered is None or not isinstance(consumer.soac, ir.Reduce) or setting.kept \
            or not same_segments(filtered, consumer.soac):
        return None
    params, then = for_survivor(producer, consumer.soac.thunk, setting)
    thunk = guarded(producer, then, tuple_of(consumer.soac.identity), params, setting)
    return replace(consumer, soac=replace(consumer.soac, thunk=thunk, space=filtered.space))


def same_segments(filtered: ir.Filter, consumer: ir.Filter | ir.Reduce) -> bool:
    """Does the consumer keep its segments if it walks the filter's space instead of the survivors?"""
    return isinstance(filtered.space, ir.Flat) == isinstance(consumer.space, ir.Flat)


def bind(names: Collection[str], soac: ir.Soac, like: ir.Bind) -> ir.Bind:
    return ir.Bind(tuple(names), soac, origin=like.origin)


# Vertical rules come before horizontal ones, and both before filters: a filter dissolves only into a single consumer.
RULES = (
    Rule("MAP-MAP", frozenset({(ir.Map, ir.Map)}), map_map),
    Rule("MAP-X", frozenset((ir.Map, kind) for kind in ir.SOACS if kind not in (ir.Map, ir.Once, ir.Order)),
         map_into),
    Rule("HORIZONTAL", frozenset({(ir.Reduce, ir.Reduce), (ir.Scan, ir.Scan)}), horizontal),
    Rule("FILTER-MAP", frozenset({(ir.Filter, ir.Map)}), filter_map),
    Rule("FILTER-FILTER", frozenset({(ir.Filter, ir.Filter)}), filter_filter),
    Rule("FILTER-REDUCE", frozenset({(ir.Filter, ir.Reduce)}), filter_reduce),
)
