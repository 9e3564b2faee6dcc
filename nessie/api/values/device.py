"""Arrays in a GPU's memory: arguments from CuPy, PyTorch and others, and results that stay there.

They are exchanged by `__cuda_array_interface__` (version 3 of Numba's protocol). An argument is used in place, once
pending work on it is done. A result owns its memory. The memory returns to Nessie when the last array over it is gone,
and is reused once all work that may still read it is done.

    stream of an array          waited for, since Nessie's work goes to CUDA's default stream
    None                        nothing: all is done
    1, 2                        nothing: the default stream and those of threads wait for one another
    another                     that stream
    no entry: versions 0 to 2   all streams; also for a result that was passed on by the protocol
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from nessie.base.fitted import narrower
from nessie.base.source import NessieError
from nessie.base.types import BOOL, FLOAT, INT, Base
from nessie.base.values import ANY_STREAM, DTYPES, OnDevice
from nessie.base.widths import WIDE, Widths, wide

TYPES = {"<f8": FLOAT, "<i8": INT, "|b1": BOOL}
NARROW = {DTYPES[name].str: name for name, full in WIDE.items() if full != "char"}
VERSION = 3
ORDERED = (None, 1, 2)          # streams with which CUDA's default stream keeps in order, or where nothing is pending


class DeviceArray:
    """An array in a GPU's memory: a result, or a part of one. `shape`: its lengths, the last axis dense; one axis
    unless it is told. Read it with `to_numpy()`, or pass it to a library that takes `__cuda_array_interface__`:
    `cupy.asarray(x)`, `torch.as_tensor(x, device="cuda")`."""

    def __init__(self, place: OnDevice, shape: tuple[int, ...] | None = None) -> None:
        self._place = place
        self.shape = (place.length,) if shape is None else shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._place.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def reshape(self, shape: tuple[int, ...]) -> DeviceArray:
        """The same elements with other lengths of axes, whose product is as many as there are; in the same memory."""
        if prod(shape) != self._place.length:
            raise NessieError(f"{self._place.length:,} elements are no array of {' × '.join(map(str, shape))}")
        return DeviceArray(self._place, shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array's description for other libraries. They need not wait, as no work on it is pending."""
        self._place.owner.tell()
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self._place.address, False),
                "version": VERSION, "strides": None, "stream": None}

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """An element as a NumPy number, or a row; for a slice without steps, an array. Both share the memory."""
        if isinstance(index, slice):
            if index.indices(len(self))[2] != 1:
                raise NessieError("a part of an array on a GPU has no steps", hint="x.to_numpy()[::2]")
            rows = range(len(self))[index]
            return DeviceArray(self._part(rows.start, len(rows)), (len(rows), *self.shape[1:]))
        at = range(len(self))[index]
        if self.ndim > 1:
            return DeviceArray(self._part(at, 1), self.shape[1:])
        return DeviceArray(self._part(at, 1)).to_numpy()[0]

    def _part(self, start: int, count: int) -> OnDevice:
        """The place of so many rows."""
        size = prod(self.shape[1:])
        return self._place[start * size:(start + count) * size]

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A copy in the host's memory."""
        values = np.empty(self._place.length, self.dtype)
        if len(values):
            self._place.owner.wait_for_others()
            self._place.owner.gpu.driver.read(self._place.address, values)
        return values.reshape(self.shape)

    def __repr__(self) -> str:
        return f"<nessie.DeviceArray of {' × '.join([f'{n:,}' for n in self.shape])} {self.dtype}>"


def has_interface(value: Any) -> bool:
    """Whether the value lies on a GPU. PyTorch's tensors on the CPU do not have the attribute. NessieError for those
    that refuse to give it (RuntimeError)."""
    try:
        return isinstance(value, DeviceArray) or hasattr(value, "__cuda_array_interface__")
    except RuntimeError as error:
        raise NessieError(f"{type(value).__name__}: {error}") from None


def on_device(value: Any, widths: Widths) -> tuple[OnDevice, tuple[int, ...], Base, set[int]]:
    """The array's place on the GPU, its shape, the type of its elements in a program of these widths, and the streams
    to wait for."""
    if isinstance(value, DeviceArray):
        refuse_wide(value._place, widths)
        streams = {ANY_STREAM} if value._place.owner.known else set[int]()
        return value._place, value.shape, Base(wide(value._place.base)), streams
    interface = value.__cuda_array_interface__
    shape, kind, strides = interface["shape"], interface["typestr"], interface.get("strides")
    what = f"this array on a GPU (a {type(value).__name__})"
    if interface.get("mask") is not None:
        raise NessieError(f"{what} has a mask", hint="fill what is masked before the call")
    if not shape:
        raise NessieError(f"{what} is one number", hint="x.item() reads it")
    if kind not in TYPES and kind not in NARROW:
        raise NessieError(f"{what} has elements of type {np.dtype(kind)}: float64, int64 and bool, and narrower "
                          "numbers, stay on the GPU", hint="convert it there: x.astype('float64')")
    size = np.dtype(kind).itemsize
    if strides is not None and not is_dense(shape, strides, size):
        raise NessieError(f"{what} is not contiguous", hint="copy it there: x.copy()")
    length = prod(shape)
    address = int(interface["data"][0]) if length else 0
    if length and address % size:
        raise NessieError(f"{what} does not lie at a multiple of {size} bytes", hint="copy it there: x.copy()")
    name = TYPES[kind].name if kind in TYPES else NARROW[kind]
    place = OnDevice(name, length, address, value)
    refuse_wide(place, widths)
    return place, tuple(map(int, shape)), Base(wide(name)), awaited(interface)


def is_dense(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    """Does each element, of so many bytes, follow the one before? Strides of axes of one element say nothing."""
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != size:
            return 0 in shape
        size *= length
    return True


def refuse_wide(place: OnDevice, widths: Widths) -> None:
    """Raise the error of an array whose elements are wider than the program's."""
    if wide(place.base) in WIDE.values() and not narrower(place.dtype, wide(place.base), widths):
        own = DTYPES[widths.base(wide(place.base))]
        raise NessieError(f"an array on the GPU has elements of type {place.dtype}, the program's have {own}",
                          hint=f"convert it there: x.astype('{own}')")


def awaited(interface: Mapping[str, Any]) -> set[int]:
    """The streams in which work on an array may be pending."""
    if interface.get("version", 0) < VERSION:
        return {ANY_STREAM}
    stream = interface.get("stream")
    return set() if stream in ORDERED else {int(stream) or ANY_STREAM}      # 0 is not allowed: it might be any
