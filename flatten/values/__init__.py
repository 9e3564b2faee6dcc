"""The values of expressions at a domain: arrays that are there, or elements that are computed when they are wanted.

    domains         index spaces with their nesting
    values          pull values
    contexts        where a thunk's expressions are built
    emitter         what has been written: statements, kernels, sites
    materialise     pull values stored as arrays
    spaces          the space of the elements of one sequence per element of a domain
"""
