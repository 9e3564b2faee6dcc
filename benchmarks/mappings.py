"""Times walks that lie badly in memory when they go row by row: sums of columns, transpositions, products, equal rows.

    python benchmarks/mappings.py [NAME...] [--rounds N] [--save FILE] [--against CHECKOUT]

As peers.py does, beside NumPy and C, which goes by blocks of rows and columns.
"""
import peers

if __name__ == "__main__":
    peers.main(("mappings",), __doc__)
