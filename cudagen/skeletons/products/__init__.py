"""Products: sums over a space of rows and columns, whose elements are joined of what a row and a column give.

    sides       which walks are products; their rows and columns, and what one of these gives
    staged      the GPU's walk: tiles in shared memory

The CPU's walk is skeletons.cpu.products.
"""
