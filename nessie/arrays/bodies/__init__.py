"""Bodies: plain Python functions as NESL's syntax trees, whose spans lie in the Python file.

    kinds           the kinds of values in a body: numbers, truth values, tuples, sequences
    source          the syntax tree and the places of a Python function
    outside         what a function sees outside of itself
    trees           NESL's trees, with their kinds
    known           Python's and NumPy's functions that NESL has
    given           functions of Python that are Python functions here
    numbers         comparisons of ints with floats, the least and the greatest of some
    expressions     expressions
    iterations      what is gone through: ranges, written lists, comprehensions
    reductions      reductions and scans, by a name or by a function
    sequences       what is done with sequences: elements, sums, methods
    loops           loops
    named           assignments within expressions, as statements before them
    statements      assignments, branches
    functions       a Python function at kinds, as functions of NESL
"""
