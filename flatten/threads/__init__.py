"""Pure expressions at one index, as scalar code.

    thread          expressions
    scalars         scalar primitives: operators, with the checks that make them total
    folds           the pass that keeps reductions in an element's thread
    reductions      what the pass needs to know of reductions
    functions       which functions are thread-level: they run per element
    obstacles       why the others are not
    versions        their versions, for the payloads of the sequences that they read
"""
