"""Arithmetic of index spaces.

    polynomials     polynomials over names, by which lengths are compared
    steps           step polynomials of a position: lengths with min, max, choices, quotients and powers of 2
    closed          lengths and starts of segments as expressions: the sums of step polynomials
"""
