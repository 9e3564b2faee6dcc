"""Shapes of arrays: what goes along axes, and what gives the same elements other axes.

    reshaping   other shapes of the same elements, axes of length 1, axes in another order
    joining     several arrays as one
    axes        reductions and running sums along axes
    parts       parts of ragged rows and of records
    products    products of matrices and vectors
"""
