"""Expressions of bodies as NESL's, one class behind another, each of which adds what it is called for.

    values          what names of a body have
    translator      places, refusals, and what host sections do in their own way
    names           constants, names, attributes
    truth           comparisons, conditionals, what is known where a test holds
    numbers         comparisons of ints with floats, the least and the greatest of some
    arithmetic      operators of numbers
    known           Python's and NumPy's functions that NESL has
    given           functions of Python that are Python functions here
    calls           calls of all kinds
    expressions     any expression
    iterations      what is gone through: ranges, written lists, comprehensions
    reductions      reductions and scans, by a name or by a function
    sequences       what is done with sequences: elements, sums, methods
"""
