"""A program in the form loops: its plans (cudagen.loops.plan) and its functions (cudagen.loops.nodes)."""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass
from nessie.cudagen.loops.nodes import Function
from nessie.cudagen.loops.plan import Plan


@dataclass(frozen=True)
class Module:
    """The plans of a program's kernels (cudagen.loops.plan), and the functions that they launch. `about`: lines of
    comment that stand above all."""
    functions: tuple[Function, ...]
    plans: tuple[Plan, ...] = ()
    about: str = field(default="", compare=False)
