"""Times lengths and indices that depend on the position: triangles, bands, trees, windows, stencils with borders.

    python benchmarks/positions.py [NAME...] [--rounds N] [--save FILE] [--against CHECKOUT]

As peers.py does, beside SciPy (dtpmv, ndimage), NumPy, Numba (its @stencil, on what is padded) and C, which is split at
the borders by hand.
"""
import peers

if __name__ == "__main__":
    peers.main(("positions",), __doc__)
