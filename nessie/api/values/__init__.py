"""Python's values as NESL's, and back.

    taking          the arguments of a call, for what its parameters want
    arguments       a Python value as a flat value, with its type
    lists           lists as columns
    numpy_arrays    NumPy's arrays as columns, in the memory that they have
    awkward_arrays  Awkward's arrays and Arrow's
    device          arrays in a GPU's memory
    datatypes       a program's datatypes as named tuples
    open_types      types of which not all is known yet
    sequences       Nested and Tuples: sequences that NumPy has no array for
    results         flat values as Python's
"""
