"""Images from PNG files and into them, by Pillow."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

import nessie
from nessie import Array


def pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit("images are read and written by Pillow: pip install pillow (the extra images)") from None
    return Image


def load_png(path: str | os.PathLike[str]) -> Array:
    """The image of a file. Its pixels have 32 bits, and are read as such."""
    with pillow().open(path) as file:
        parts = np.asarray(file.convert("RGB")).astype(np.uint32)
    return nessie.asarray(parts[..., 0] << 16 | parts[..., 1] << 8 | parts[..., 2])


def save_png(image: Array, path: str | os.PathLike[str]) -> None:
    pixels = np.asarray(image)
    parts = np.stack([pixels >> 16 & 255, pixels >> 8 & 255, pixels & 255], axis=-1)
    pillow().fromarray(parts.astype(np.uint8)).save(path, "PNG")
