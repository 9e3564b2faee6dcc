"""Monomorphic, first-order NESL in normal form (the form mono), the input of flattening.

    nodes           programs
    text            writes programs as text; parser reads it back
    parser
    check           validator
    node_types      the types of expressions and of primitives
    walk            the parts of an expression
    groups          groups by keys, and what is reduced of them
    least           the few least elements of a sequence, by a reduction
    how_many        how many of the first elements are used

    passes/         monomorphise makes the form; the others refine it
    copies/         the work of monomorphise: one copy of each function for each use at other types
    analysis/       analyses of the payloads that values share, and of their last uses
"""
