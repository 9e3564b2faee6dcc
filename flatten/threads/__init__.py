"""Pure expressions at one index, as scalar code.

    thread          expressions
    scalars         scalar primitives: the operator, with the checks that make it total
    functions       functions from scalars to scalars, which run per element
"""
