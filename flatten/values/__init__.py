"""The values of expressions at a domain: stored arrays, or elements that are computed on demand.

    domains         index spaces with their nesting
    values          pull values
    contexts        the bindings of a thunk that is being built
    emitter         the output: statements, kernels, sites
    closed          the terms of lengths in closed form, by names of the host
    reasons         says why lengths have no closed form
    materialise     stores pull values as arrays
    rows            the rows of elements: lengths that are formulas, sums and starts
    spaces          makes the space of the elements of one sequence per element of a domain
"""
