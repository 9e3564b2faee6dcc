"""Pass: merge kernels that are equal except for their failure sites into one, whose sites are parameters.

    kernel K3 (s : float, n : int, xs : [float; n], at : site) -> [float; n] {
      let zs = MAP { i => if s /= 0.0 then xs[i] / s else fail at : float using s, xs } (n)
      return zs
    }
    ... run K3 (sum1, n, xs, site s1) ... run K3 (sum2, n, xs, site s2)

The pass is for readers of flat lambda_cu, who see three kernels and five runs of them. specialise_sites undoes it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions, thunks
from nessie.lambda_cu.passes.sharing import number_kernels, runs_of, share_kernels
from nessie.lambda_cu.passes.specialise_sites import SITE, renamed_sites, without_sites
from nessie.lambda_cu.scope import bound_names, map_runs, soac_expressions


def share_sites(program: ir.Program) -> ir.Program:
    """Make every kernel's sites parameters where that makes kernels equal; else leave them as they are."""
    general = {kernel.name: generalise(kernel) for kernel in program.kernels}
    sites = {kernel.name: sites_of(kernel) for kernel in program.kernels}

    def with_sites(run: ir.Run) -> ir.Run:
        given = tuple(ir.Const(site, SITE) for site in sites[run.kernel])
        return replace(run, arguments=run.arguments + given)

    shared = share_kernels(replace(program, kernels=tuple(general.values()), functions=tuple(
        replace(f, body=map_runs(f.body, with_sites)) for f in program.functions)))
    return concretise(number_kernels(shared))


def generalise(kernel: ir.Kernel) -> ir.Kernel:
    """Return the kernel with a parameter for each of its sites."""
    names = Names(names_of(kernel))
    mapping = {site: names.fresh("at") for site in sites_of(kernel)}
    params = tuple(ir.Param(name, SITE) for name in mapping.values())
    return replace(renamed_sites(kernel, mapping), params=kernel.params + params)


def concretise(program: ir.Program) -> ir.Program:
    """Replace a site parameter that always gets the same site by that site."""
    runs = runs_of(program)
    fixed: dict[str, dict[str, str]] = {}
    for kernel in program.kernels:
        places = {k: param.name for k, param in enumerate(kernel.params) if param.type == SITE}
        given = {name: {str(run.arguments[k].value) for run in runs[kernel.name]  # type: ignore[union-attr]
                        } for k, name in places.items()}
        fixed[kernel.name] = {name: found.pop() for name, found in given.items() if len(found) == 1}
    return with_fixed_sites(program, fixed)


def with_fixed_sites(program: ir.Program, fixed: Mapping[str, Mapping[str, str]]) -> ir.Program:
    before = {kernel.name: kernel for kernel in program.kernels}

    def narrowed(run: ir.Run) -> ir.Run:
        pairs = zip(before[run.kernel].params, run.arguments)
        return replace(run, arguments=tuple(a for p, a in pairs if p.name not in fixed[run.kernel]))

    return replace(program, kernels=tuple(without_sites(kernel, fixed[kernel.name]) for kernel in program.kernels),
                   functions=tuple(replace(f, body=map_runs(f.body, narrowed)) for f in program.functions))


def sites_of(kernel: ir.Kernel) -> tuple[str, ...]:
    """Return the sites at which the kernel can fail, in the order of its text."""
    return tuple(dict.fromkeys(part.site for bind in kernel.binds for exp in soac_expressions(bind.soac)
                               for part in subexpressions(exp) if isinstance(part, ir.Fail)))


def names_of(kernel: ir.Kernel) -> set[str]:
    names = {param.name for param in kernel.params} | {name for bind in kernel.binds for name in bind.names}
    for bind in kernel.binds:
        for f in thunks(bind.soac):
            names.update(f.params)
            names.update(bound_names(f.body))
    return names
