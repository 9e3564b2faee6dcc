"""Arithmetic of index spaces.

    polynomials     polynomials over names, in which lengths are compared
    sums            sums over ranges, and their closed forms: where segments start
"""
