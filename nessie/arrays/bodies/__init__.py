"""Bodies: plain Python functions as NESL's syntax trees, whose spans lie in the Python file.

    kinds           the kinds of values in a body: numbers, truth values, tuples, sequences
    source          the syntax tree and the places of a Python function
    outside         what a function sees outside of itself
    trees           NESL's trees, with their kinds
    loops           loops
    named           assignments within expressions, as statements before them
    statements      assignments, branches
    functions       a Python function at kinds, as functions of NESL

    expressions/    Python's expressions as NESL's
"""
