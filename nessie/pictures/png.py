"""Greys as a PNG image, which SVG pictures embed."""
from __future__ import annotations

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(greys: np.ndarray) -> bytes:
    """Return an image with a pixel for each element of a matrix of greys, from 0 to 255."""
    height, width = greys.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), np.clip(greys, 0, 255).astype(np.uint8)])  # 0: as it is
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
