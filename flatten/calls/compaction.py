"""_compact(e): a copy of a small part of a large payload, so that the rest need not be kept.

A sequence of the frame, or the sequences of all activations of a lifted frame together, whose payload is arrays, is
copied on two conditions: it has less than a quarter of its payload's elements, and these are more than LARGE or are
sequences themselves. The sequences inside a copy are treated in the same way, all together. Everything else stays as it
is: values that belong further out, and sequences that own their payload. Several payloads count as one; they become
the copy and empty ones.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.types import Pair, Seq, Type, is_scalars
from nessie.flatten.calls.boundary import (
    Packer,
    all_arrays,
    bounds_view,
    choice,
    nothing_for,
    params_of,
    params_of_leaf,
    seen_of,
    unpack_leaf,
)
from nessie.flatten.calls.crossing import Within
from nessie.flatten.values.domains import Domain, atom_of, op
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import elements, solid
from nessie.flatten.values.values import Both, Leaf, Sequence, Value, dense, size_of
from nessie.lambda_cu import nodes as ir

LARGE = 2 ** 17                 # elements: a megabyte of ints
SHARE = 4


def compacted(emitter: Emitter, value: Value, type_: Type, domain: Domain, hint: str) -> Value:
    match value, type_:
        case Both(a, b), Pair(first, second):
            return Both(compacted(emitter, a, first, domain, hint), compacted(emitter, b, second, domain, hint))
        case Sequence(home=home), Seq(item) if home is domain:
            value = replace(value, leaves=tuple([with_bounds(emitter, leaf, hint) for leaf in value.leaves]))
            if value.covers or not all([all_arrays(leaf) for leaf in value.leaves]):
                return value
            if value.dense:
                leaf = value.leaves[0]
                return dense(domain, leaf.space, compacted(emitter, leaf.value, item, leaf.space, hint))
            return chosen(emitter, value, item, domain, hint)
    return value


def with_bounds(emitter: Emitter, leaf: Leaf, hint: str) -> Leaf:
    """The payload, with the bounds of its sequences stored if they are parts of others."""
    value = leaf.value
    if isinstance(value, Sequence) and value.home is leaf.space and not value.dense and value.start_name is None:
        return replace(leaf, value=solid(emitter, value, leaf.space, hint))
    return leaf


def chosen(emitter: Emitter, value: Sequence, item: Type, domain: Domain, hint: str) -> Value:
    """Return the view or a copy, as one comparison at run time decides."""
    packer = Packer(emitter, hint)
    start, length = packer.bounds(value, domain)
    size = atom_of(emitter.size(size_of(value.leaves)))
    seen, space_seen = seen_of(emitter, bounds_view(domain, start, length, value.leaves), domain)
    few = op("<", seen, op("/", size, ir.Const(SHARE, "int")))
    if is_scalars(item):
        few = op("and", op("<", ir.Const(LARGE, "int"), size), few)

    def copy() -> list[ir.Atom]:
        space = space_seen()
        inner = solid(emitter, elements(emitter, value, space, domain), space, hint)
        made = packer.pack(dense(domain, space, compacted(emitter, inner, item, space, hint)), Seq(item), domain)
        return made + [atom for params in payloads[1:] for atom in nothing_for(emitter, params)]

    def keep() -> list[ir.Atom]:
        return [start, length, *(atom for leaf in value.leaves for atom in packer.leaf(leaf, item))]

    bounds = params_of(emitter, Seq(item), domain, Within(()), hint)
    payloads = [params_of_leaf(emitter, item, None, hint) for _ in value.leaves]
    crossing = iter(choice(emitter, few, copy, keep, [*bounds, *(param for params in payloads for param in params)]))
    first, count = next(crossing), next(crossing)
    return bounds_view(domain, first, count, tuple([unpack_leaf(emitter, item, crossing) for _ in value.leaves]))
