"""Arithmetic of index spaces.

    polynomials     polynomials over names, by which lengths are compared
    sums            sums over ranges, and their closed forms: the starts of segments
"""
