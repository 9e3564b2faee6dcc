"""Pass: chooses the mapping of each kernel that `auto` walks.

  in    fused λcu, whose kernels may say `by auto`
  out   the same, in which they say which mapping walks them: that which costs least of those that are tried
  how   lambda_cu.mappings.choice walks a few blocks of each, behind fusing, so that all is known that a kernel reads
        and stores; for the sizes that users give (`--size`) of the kernel's first launch, as far as they do
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.choice.auto import of_kernel
from nessie.lambda_cu.mappings.strategies import AUTO
from nessie.lambda_cu.scope import statements
from nessie.schedule.wishes.sizes import hints


def choose_mappings(program: ir.Program, sizes: Mapping[str, float]) -> ir.Program:
    """Return the program whose kernels have the mappings that are chosen for them."""
    if not any([kernel.by == AUTO for kernel in program.kernels]):
        return program
    known = given_sizes(program, sizes)
    return replace(program, kernels=tuple([
        replace(kernel, by=of_kernel(kernel, known.get(kernel.name, {}))[0].mapping) if kernel.by == AUTO else kernel
        for kernel in program.kernels]))


def given_sizes(program: ir.Program, sizes: Mapping[str, float]) -> dict[str, dict[str, int]]:
    """Which of the sizes of kernels, by their names, users give, or the program says."""
    given, kernels = hints(program, sizes, False), {kernel.name: kernel for kernel in program.kernels}
    found: dict[str, dict[str, int]] = {}
    for function in program.functions:
        for run in statements(function.body):
            if isinstance(run, ir.Run) and run.kernel not in found:
                known = {param.name: known_as(argument, given[function.name])
                         for param, argument in zip(kernels[run.kernel].params, run.arguments, strict=True)}
                found[run.kernel] = {name: size for name, size in known.items() if size is not None}
    return found


def known_as(argument: ir.Atom, given: Mapping[str, float]) -> int | None:
    if isinstance(argument, ir.Const):
        return argument.value if isinstance(argument.value, int) else None
    return int(given[argument.name]) if argument.name in given else None
