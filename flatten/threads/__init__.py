"""Pure expressions at one index, as scalar code.

    thread          expressions
    scalars         scalar primitives: operators, with the checks that make them total
    functions       which functions are thread-level: they run per element
    obstacles       why the others are not
    versions        their versions, for the payloads of the sequences that they read
"""
