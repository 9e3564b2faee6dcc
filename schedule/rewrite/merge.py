"""Merges the launches of a cluster into one kernel with one launch.

The bindings stand in program order, in the names of the host, which are unique already. Arguments that launches share
are passed once. The kernel returns the results that are used outside it, and the sizes that their types name. It does
not return what it only computes again: the host has that from another kernel.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.source import InternalError, Origin
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import rename, scope
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.parts import map_thunks
from nessie.schedule.graph.nodes import Elements, Node, Space, Survivors, segments_of, space_size
from nessie.schedule.graph.regions import RegionStep, without_a_name


def merge(name: str, steps: Sequence[RegionStep], again: Collection[str], needed: Collection[str],
          types: Mapping[str, ir.Type], nodes: Mapping[str, Node],
          descriptors: Mapping[str, ir.Space]) -> tuple[ir.Kernel, ir.Run]:
    """Make the kernel of these steps, and its launch. `again`: the steps that it only does again; `needed`: the names
    that others use; `descriptors`: the spaces that the graph's Elements stand for; `nodes`: the steps' nodes in the
    graph, needed only with descriptors."""
    binds = tuple(step.bind for step in with_segments(steps, nodes, descriptors) if step.bind is not None)
    members = [step for step in steps if step.name not in again]
    made = {param.name: param for step in members for param in scope.results(step.statement) if param.name != "_"}
    returned = [param for param in made.values() if param.name in needed]
    sizes = {size for param in returned for size in scope.type_names(param.type)}
    returned = [param for param in made.values() if param.name in needed or param.name in sizes]
    returned = returned or list(made.values())[:1]
    bound = {bound for bind in binds for bound in bind.names}
    params = tuple(ir.Param(used, types[used]) for used in with_type_sizes(
        [used for bind in binds for used in scope.soac_names(bind.soac) if used not in bound], types, bound))
    origin: Origin = members[0].statement.origin
    kernel = ir.Kernel(name, params, own_names(binds, {param.name for param in params} | bound),
                       tuple(param.name for param in returned), by=mapping_of(steps), asked=asked_of(steps),
                       origin=origin, merged=tuple(step.statement.origin for step in steps))
    arguments = tuple(ir.Var(param.name) for param in params)
    run = ir.Run(tuple(map(without_a_name, returned)), name, arguments, origin=origin)
    return kernel, run


def mapping_of(steps: Sequence[RegionStep]) -> maps.Mapping | None:
    """The mapping of those steps that have one: schedules put no two together that have different ones, but for
    `none`."""
    given = {step.by for step in steps if step.by is not None}
    found = given - {maps.NONE}
    if len(found) > 1:
        raise InternalError(f"{', '.join([step.name for step in steps])} are one kernel, and have different mappings")
    return next(iter(found or given), None)


def asked_of(steps: Sequence[RegionStep]) -> ir.Asked | None:
    """Who asked for the mapping of those steps that have one."""
    return next((step.asked for step in steps if step.asked is not None and step.by != maps.NONE), None)


def with_type_sizes(names: Sequence[str], types: Mapping[str, ir.Type], bound: Collection[str]) -> list[str]:
    """The names, once each, with the sizes of arrays' types; arrays come last."""
    result: dict[str, None] = {}
    for name in names:
        for size in scope.type_names(types[name]):
            if size not in bound:
                result[size] = None
        result[name] = None
    return sorted(result, key=lambda name: isinstance(types[name], ir.Array))


def own_names(binds: Sequence[ir.Bind], taken: Collection[str]) -> tuple[ir.Bind, ...]:
    """Rename the parameters and lets of the bindings' thunks that have the name of something in the kernel."""
    result = []
    for bind in binds:
        def thunk(of: ir.Thunk) -> ir.Thunk:
            local = {*of.params, *scope.bound_names(of.body)}
            return rename.freshen_thunk(of, Names({*taken, *of.using})) if local.intersection(taken) else of

        result.append(replace(bind, soac=map_thunks(bind.soac, thunk)))
    return tuple(result)


def with_segments(members: Sequence[RegionStep], nodes: Mapping[str, Node],
                  descriptors: Mapping[str, ir.Space]) -> list[RegionStep]:
    """Move flat MAPs to the segmented spaces that the graph gives them, if others in the kernel use the segments too.
    Beside flat steps only they stay flat, since nobody needs the segments' bounds."""
    if not descriptors:
        return list(members)
    here = [nodes[step.name] for step in members]
    segmented = any(step.bind is not None and not isinstance(scope.space_of(step.bind.soac), ir.Flat | None)
                    for step in members)
    beside = any(space_size(node.space) == segments_of(other.space) and segments_of(node.space) is None
                 for node in here for other in here)
    if not segmented and not beside:
        return list(members)
    return [over_elements(step, descriptor_of(node.space, nodes, descriptors))
            for step, node in zip(members, here, strict=True)]


def descriptor_of(space: Space, nodes: Mapping[str, Node], descriptors: Mapping[str, ir.Space]) -> ir.Space | None:
    """The segments by which the graph's space is walked; None if it has none."""
    match space:
        case Elements(descriptor):
            return descriptors[descriptor]
        case Survivors(filtered, count, segments) if segments is not None:
            return ir.Irregular(segments, nodes[filtered].results[-1], count)
    return None


def over_elements(step: RegionStep, segments: ir.Space | None) -> RegionStep:
    """Put a flat MAP over these segments; return other steps as they are."""
    match step.bind:
        case ir.Bind(_, ir.Map(thunk, ir.Flat())) if segments is not None:
            names = Names({*rename.all_names(thunk.body), *thunk.params, *thunk.using})
            outside = map(names.fresh, scope.indices(segments)[:-1])
            inside = ir.Thunk((*outside, *thunk.params), thunk.body, thunk.using)
            return replace(step, bind=replace(step.bind, soac=ir.Map(inside, segments)))
    return step
