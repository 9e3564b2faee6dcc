"""Knowledge about int expressions.

    intervals       operators on intervals
    ranges          range analysis
    proofs          conditions that must hold, so that no check is needed
"""
