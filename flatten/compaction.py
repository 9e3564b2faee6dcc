"""_compact(e): a copy of a small part of a large payload, so that the rest need not be kept.

A sequence on the host whose payload is arrays is copied if it has less than a quarter of its payload's elements, and
if these are more than LARGE or sequences themselves. Of a copy, the sequences in it are looked at in the same way, all
together. All else is left as it is: under a domain, or where the payload is the sequence's very own.
"""
from __future__ import annotations

from nessie.base.types import Pair, Seq, Type
from nessie.flatten.boundary import Packer, choice, params_of, plain, total_length, unpack
from nessie.flatten.domains import HOST, Domain, atom_of, op
from nessie.flatten.emitter import Emitter
from nessie.flatten.materialise import elements, solid
from nessie.flatten.release import has_sequence
from nessie.flatten.spaces import space_of
from nessie.flatten.values import Both, Sequence, Value, dense
from nessie.lambda_cu import ir

LARGE = 2 ** 17                 # elements: a megabyte of ints
SHARE = 4


def compacted(emitter: Emitter, value: Value, type_: Type, domain: Domain, hint: str) -> Value:
    match value, type_:
        case Both(a, b), Pair(first, second):
            return Both(compacted(emitter, a, first, domain, hint), compacted(emitter, b, second, domain, hint))
        case Sequence(home=home), Seq(item) if home is domain and plain(value):
            if value.dense:
                leaf = value.leaves[0]
                return dense(domain, leaf.space, compacted(emitter, leaf.value, item, leaf.space, hint))
            return chosen(emitter, value, item, domain, hint)
    return value


def chosen(emitter: Emitter, value: Sequence, item: Type, domain: Domain, hint: str) -> Value:
    """The view or a copy, as one comparison at run time decides."""
    packer = Packer(emitter, hint=hint)
    length, size = packer.bounds(value, domain)[1], atom_of(value.space.size)
    seen = length if domain is HOST else total_length(emitter, length, domain)
    few = op("<", seen, op("/", size, ir.Const(SHARE, "int")))
    if not has_sequence(item):
        few = op("and", op("<", ir.Const(LARGE, "int"), size), few)

    def copy() -> list[ir.Atom]:
        space = space_of(emitter, value, domain)
        inner = solid(emitter, elements(emitter, value, space, domain), space, hint)
        return packer.pack(dense(domain, space, compacted(emitter, inner, item, space, hint)), Seq(item), domain)

    results = params_of(emitter, Seq(item), domain, hint=hint)
    crossing = choice(emitter, few, copy, lambda: packer.pack(value, Seq(item), domain), results)
    return unpack(Seq(item), domain, iter(crossing))
