"""Converts Python's values to NESL's, and back.

    taking          takes the arguments of a call for its parameters
    arguments       converts a Python value to a flat value, with its type
    lists           converts lists to columns
    numpy_arrays    NumPy's arrays as columns, in their own memory
    awkward_arrays  Awkward's arrays and Arrow's
    device          arrays in a GPU's memory
    datatypes       a program's datatypes as named tuples
    open_types      types that are not fully known yet
    graphs          SciPy's sparse matrices and networkx's graphs
    tables          Nested and Tuples in notebooks, for pandas and Arrow
    sequences       Nested and Tuples: sequences that NumPy has no array for
    results         converts flat values to Python's
"""
