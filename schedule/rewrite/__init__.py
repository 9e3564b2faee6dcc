"""Fusion as rewriting.

    merge           launches become one kernel
    rewrite         rules until none applies
    rules           the fusion rules, each with its inference rule
    thunks          thunks put together
"""
