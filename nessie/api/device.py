"""Arrays in a GPU's memory, as they come from CuPy, PyTorch and others, and as results stay there.

They are told by `__cuda_array_interface__` (version 3 of Numba's protocol). What comes in is used where it lies; what
goes out owns its memory, which comes back to Nessie when the last array over it is gone.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.types import BOOL, FLOAT, INT, Base
from nessie.base.values import OnDevice

TYPES = {"<f8": FLOAT, "<i8": INT, "|b1": BOOL}
VERSION = 3


class DeviceArray:
    """A one-dimensional array in a GPU's memory: a result, or a part of one. Read it with `to_numpy()`, or give it to
    whoever takes `__cuda_array_interface__`: `cupy.asarray(x)`, `torch.as_tensor(x, device="cuda")`."""

    def __init__(self, place: OnDevice) -> None:
        self._place = place

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._place.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Nothing is pending: whoever has the array need not wait."""
        return {"shape": (len(self),), "typestr": self.dtype.str, "data": (self._place.address, False),
                "version": VERSION, "strides": None, "stream": None}

    def __len__(self) -> int:
        return self._place.length

    def __getitem__(self, index: Any) -> Any:
        """A number of NumPy's; of a slice without steps, an array that shares the memory."""
        if isinstance(index, slice):
            if index.indices(len(self))[2] != 1:
                raise NessieError("a part of an array on a GPU has no steps", hint="x.to_numpy()[::2]")
            return DeviceArray(self._place[index])
        at = range(len(self))[index]
        return DeviceArray(self._place[at:at + 1]).to_numpy()[0]

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A copy in the computer's memory."""
        values = np.empty(len(self), self.dtype)
        if len(self):
            self._place.owner.gpu.driver.read(self._place.address, values)
        return values

    def __repr__(self) -> str:
        return f"<nessie.DeviceArray of {len(self):,} {self.dtype}>"


def has_interface(value: Any) -> bool:
    """Does it lie on a GPU? PyTorch's tensors on the CPU have no such attribute; others may not give theirs away."""
    try:
        return hasattr(value, "__cuda_array_interface__")
    except RuntimeError as error:
        raise NessieError(f"{type(value).__name__}: {error}") from None


def on_device(value: Any) -> tuple[OnDevice, Base, bool]:
    """The array where it lies, the type of its elements, and whether work on it may be pending."""
    if isinstance(value, DeviceArray):
        return value._place, Base(value._place.base), False
    interface = value.__cuda_array_interface__
    shape, kind, strides = interface["shape"], interface["typestr"], interface.get("strides")
    what = f"this array on a GPU (a {type(value).__name__})"
    if interface.get("mask") is not None:
        raise NessieError(f"{what} has a mask", hint="fill what is masked before the call")
    if len(shape) != 1:
        raise NessieError(f"{what} has {len(shape)} dimensions: those that stay on the GPU have one",
                          hint="nessie.Nested(offsets, x.ravel()) makes rows of it")
    if kind not in TYPES:
        raise NessieError(f"{what} has elements of type {np.dtype(kind)}: float64, int64 and bool stay on the GPU",
                          hint="convert it there: x.astype('float64')")
    size = np.dtype(kind).itemsize
    if strides is not None and shape[0] > 1 and tuple(strides) != (size,):
        raise NessieError(f"{what} is not contiguous", hint="copy it there: x.copy()")
    address = int(interface["data"][0]) if shape[0] else 0
    if shape[0] and address % size:
        raise NessieError(f"{what} does not lie at a multiple of {size} bytes", hint="copy it there: x.copy()")
    base = TYPES[kind]
    return OnDevice(base.name, int(shape[0]), address, value), base, interface.get("stream") is not None
