"""Arithmetic of index spaces.

    polynomials     polynomials over names, by which lengths are compared
    steps           step polynomials of a position: lengths with min, max, choices, quotients and powers of 2
    closed          the terms of step polynomials, and their sums, as expressions
    rows            in which row an element lies
    strides         how far reads move, from segment to segment and from element to element
    sides           what a product takes from its rows and from its columns
    segments        lengths and starts of segments
    offsets         the starts of rows by a formula, as arrays of the host
"""
