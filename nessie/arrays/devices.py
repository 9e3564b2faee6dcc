"""Where arrays lie: in the computer's memory, or in that of a target's device, where what is made of them stays.

An expression is computed where the arrays lie that it is made of; numbers lie everywhere."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nessie.arrays import nodes
from nessie.base.source import NessieError

HOST = "cpu"
GPU = "cuda"                            # where arrays of other libraries lie that are on a GPU
DEVICES = (HOST, GPU, "cudasim")


def device(name: str) -> str:
    """The name, if it is that of a device."""
    if name not in DEVICES:
        raise NessieError(f"there is no device {name!r}", hint=f"arrays lie on {', '.join(DEVICES)}")
    return name


def device_of(order: Sequence[nodes.Step]) -> str:
    """Return where the arrays of one expression lie; '' if it is of numbers alone."""
    places = [step.operation.device if isinstance(step.operation, nodes.Index) else step.node.device for step in order]
    found = list(dict.fromkeys([place for place in places if place]))
    if len(found) > 1:
        raise NessieError(f"of these arrays some lie on {found[0]}, others on {found[1]}",
                          hint=f"a.to_device({found[-1]!r}) takes one there")
    return found[0] if found else ""


def target_of(device: str, asked: str | None) -> tuple[str, bool]:
    """Return the target that computes an expression whose arrays lie there, and whether its results stay there."""
    own = device or HOST
    if own != HOST and asked not in (None, own):
        raise NessieError(f"these arrays lie on {own}, and the target is {asked}",
                          hint=f"a.to_device({HOST!r}) takes them to the computer's memory")
    return asked or own, own != HOST


def left_on(value: object, shape: nodes.Shape, target: str) -> str:
    """Return where a result lies that was left on this target: a number everywhere, NumPy's arrays in the computer's
    memory."""
    return HOST if isinstance(value, np.ndarray) else target if shape else ""
