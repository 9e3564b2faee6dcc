"""Fuses kernels by rewriting.

    merge           merges launches into one kernel
    rewrite         applies the rules until none applies
    rules           the fusion rules, each with its inference rule
    thunks          puts thunks together
"""
