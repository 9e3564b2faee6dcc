"""Analyses of the payloads of sequences: the memory that their elements lie in.

    provenance      which payloads an expression's value can share
    summaries       the same of functions, for their callers
    last_uses       parameters that no caller uses again
"""
