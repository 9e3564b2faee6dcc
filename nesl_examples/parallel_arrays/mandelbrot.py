"""The Mandelbrot set: how many steps each point of the plane takes to leave a circle."""
from __future__ import annotations

import nessie
from nessie import Array


def steps(x, y, most):
    u = v = 0.0
    for n in range(most):
        if u * u + v * v > 4.0:
            return n
        u, v = u * u - v * v + x, 2.0 * u * v + y
    return most


def mandelbrot(height: int, width: int, most: int) -> Array:
    return nessie.pnew((height, width),
                       lambda at: steps(at[1] * 3.0 / width - 2.0, at[0] * 2.0 / height - 1.0, most))


if __name__ == "__main__":
    for row in mandelbrot(20, 60, 50).map(lambda n: n // 5).tolist():
        print("".join(" .,:;+=*%#@"[n] for n in row))
