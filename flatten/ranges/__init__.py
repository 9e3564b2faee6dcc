"""Range analysis of int expressions.

    intervals       operators on intervals
    ranges          the ranges of expressions
    proofs          proves conditions, so that they need no check
"""
