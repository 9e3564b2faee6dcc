"""Analyses of the payloads of sequences: the memory that holds their elements.

    provenance      the payloads that an expression's value can share
    summaries       the same for functions, for their callers
    last_uses       parameters that no caller uses again
"""
