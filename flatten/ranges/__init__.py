"""Range analysis of int expressions.

    intervals       operators on intervals
    ranges          the ranges of expressions
    step_forms      the step polynomials of lengths
    proofs          proves conditions, so that they need no check
"""
