"""Pass: make every kernel name its own failure sites.

  in    flat lambda_cu, whose kernels may have sites as parameters (lambda_cu.passes.share_sites makes these, for
        readers)
  out   the same without parameters that are sites: later passes know the site of a failure from the kernel alone
  how   A kernel becomes one for each combination of sites that it is run with.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import map_children, map_thunks
from nessie.lambda_cu.scope import map_runs

SITE = "site"


def specialise_sites(program: ir.Program) -> ir.Program:
    """Make a kernel for each combination of sites that one is run with; no site parameters are left."""
    taking = {kernel.name: kernel for kernel in program.kernels if any(p.type == SITE for p in kernel.params)}
    if not taking:
        return program
    names = Names(kernel.name for kernel in program.kernels)
    made: dict[tuple[str, tuple[str, ...]], ir.Kernel] = {}

    def special(run: ir.Run) -> ir.Run:
        kernel = taking.get(run.kernel)
        if kernel is None:
            return run
        given = {p.name: str(a.value) for p, a in zip(kernel.params, run.arguments)
                 if p.type == SITE and isinstance(a, ir.Const)}
        key = (kernel.name, tuple(given.values()))
        if key not in made:
            made[key] = replace(without_sites(kernel, given), name=names.fresh(kernel.name))
        kept = tuple(a for p, a in zip(kernel.params, run.arguments) if p.type != SITE)
        return replace(run, kernel=made[key].name, arguments=kept)

    functions = tuple(replace(f, body=map_runs(f.body, special)) for f in program.functions)
    kernels = tuple(kernel for kernel in program.kernels if kernel.name not in taking)
    return replace(program, kernels=(*kernels, *made.values()), functions=functions)


def without_sites(kernel: ir.Kernel, given: Mapping[str, str]) -> ir.Kernel:
    """Return the kernel with these site parameters known."""
    return replace(renamed_sites(kernel, given), params=tuple(p for p in kernel.params if p.name not in given))


def renamed_sites(kernel: ir.Kernel, mapping: Mapping[str, str]) -> ir.Kernel:
    def change(exp: ir.Exp) -> ir.Exp:
        if isinstance(exp, ir.Fail):
            return replace(exp, site=mapping.get(exp.site, exp.site))
        return map_children(exp, change)

    def in_soac(soac: ir.Soac) -> ir.Soac:
        changed = map_thunks(soac, lambda f: replace(f, body=change(f.body)))
        if isinstance(changed, ir.Reduce | ir.Scan):
            changed = replace(changed, identity=tuple(map(change, changed.identity)))
        return changed

    return replace(kernel, binds=tuple(replace(bind, soac=in_soac(bind.soac)) for bind in kernel.binds))
