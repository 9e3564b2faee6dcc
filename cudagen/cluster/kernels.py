"""What is known of a program's kernels before they are launched on a cluster: their plans, whose code is told borders,
the machine code of that, and which of their arrays are offsets or belong to segments.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.base.system.disk_cache import cached
from nessie.cudagen.cluster.moving.asking import Asking, asking
from nessie.cudagen.cluster.moving.writes import WithoutWrites, split
from nessie.cudagen.cluster.reaching.borders import Borders, with_told_borders
from nessie.cudagen.cluster.tasks.chunks import Code
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cpu.device import CpuLauncher
from nessie.cudagen.generate import chunk_width, generate, with_good_names
from nessie.cudagen.kernels.scalar_functions import tables_of
from nessie.cudagen.kernels.walk import SEGMENT, walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Phase
from nessie.lambda_cu import nodes as ir


@dataclass(frozen=True)
class KernelFacts:
    """Of one kernel: its root, and the width of its chunks; the parameters that are offsets, which grow; and arrays
    over segments, to whose elements both chunks write that have a part of the segment. `order`: the ORDER that it
    does."""
    root: ir.Space | None
    width: int
    offsets: frozenset[str]
    of_segments: frozenset[str]
    order: ir.Order | None = None


@dataclass(frozen=True)
class ClusterProgram:
    """`launchers` are those of the plans, which know sizes; `functions` what is in `code`, `borders` what these are
    told; `facts` are the kernels'; `recursive` ones need large stacks. `split`: those that write to places which data
    say, without these writes; `asking`: functions that may ask for elements before they run."""
    launchers: Mapping[str, CpuLauncher]
    functions: Mapping[str, loops.Function]
    borders: Mapping[str, Borders]
    facts: Mapping[str, KernelFacts]
    recursive: frozenset[str]
    split: Mapping[str, WithoutWrites]
    asking: Mapping[str, Asking]
    code: Code


def cluster_program(built: CpuProgram, width: int | None = None, quick: bool = False) -> ClusterProgram:
    """The program's kernels, ready for a cluster. `width`: items a chunk; `quick`: code is made in a twentieth of the
    time, for few elements."""
    parts = split(built.program)
    program = replace(built.program, kernels=(*built.program.kernels, *[k.kernel for k in parts.kernels.values()]))
    module = generate(program, "cpu", width)
    module, borders = with_told_borders(replace(module, functions=(*module.functions, *parts.new(module.functions))))
    facts = facts_of_all(program, width)
    offsets = frozenset([name for known in facts.values() for name in known.offsets])
    askers = {f.name: made for plan in module.plans for phase in plan.phases for f in functions_in(module, phase)
              if phase.chunks is not None and not phase.in_order and f.kind == "host" and not phase.library
              and (made := asking(f, offsets))}
    module = replace(module, functions=(*module.functions, *[f for a in askers.values() for f in (a.asks, a.told)]))
    text = llvm.llvm(module)
    names = tuple([f.name for f in module.functions if f.kind == "host"])
    code = b""
    if names:
        code = building.build(text, quick=True) if quick else cached(text, building.fingerprint(), building.build)
    launchers: dict[str, CpuLauncher] = {}
    for plan in reversed(module.plans):
        launchers[plan.name] = CpuLauncher(plan, False, False, launchers[plan.alone.plan] if plan.alone else None)
    on_workers = Code(hashlib.sha256(code).hexdigest(), code, names, building.features())
    return ClusterProgram(launchers, {f.name: f for f in module.functions}, borders, facts,
                          built.recursive, parts.kernels, askers, on_workers)


def functions_in(module: Module, phase: Phase) -> list[loops.Function]:
    return [function for function in module.functions if function.name == phase.function]


def facts_of_all(program: ir.Program, width: int | None) -> dict[str, KernelFacts]:
    tables = tables_of(program, True)
    return {kernel.name: facts_of(with_good_names(kernel), program, width or chunk_width(kernel, tables))
            for kernel in program.kernels}


def facts_of(kernel: ir.Kernel, program: ir.Program, width: int) -> KernelFacts:
    soacs = [bind.soac for bind in kernel.binds if not isinstance(bind.soac, ir.Once)]
    offsets = frozenset([name for soac in soacs for name in offsets_in(soac.space)])
    orders = [soac for soac in soacs if isinstance(soac, ir.Order)]
    if orders:
        return KernelFacts(orders[0].space, width, offsets, frozenset(), orders[0])
    walk = walk_of(kernel, program)
    of_segments = frozenset([name for step in walk.at(SEGMENT) for name in step.bind.names])
    return KernelFacts(walk.root, width, offsets, of_segments)


def offsets_in(space: ir.Space) -> Iterator[str]:
    """The arrays that say where the space's segments begin."""
    match space:
        case ir.Irregular():
            yield space.offsets
        case ir.Nested():
            yield from offsets_in(space.rows)
