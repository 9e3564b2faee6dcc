"""Pure expressions at one index, as scalar code.

    thread          expressions
    scalars         scalar primitives: operators, with the checks that make them total
    functions       thread-level functions: from scalars to scalars, run per element
"""
