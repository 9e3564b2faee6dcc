"""Borders: the decisions of an element that a range of its index settles are made once, for the interior, or for each
partition of a space.

    forms       linear forms of ints: sums of multiples of indices and of what is alike for all elements
    ranges      where decisions are settled, collected: where the interior begins and ends
    known       what is known of a thunk's ints
    interior    a thunk's interior: the thunk without these decisions
    borders     the pass
    boxes       cuts of a space by tests of its indices
    chains      conditionals on indices, read as partitions of a space
    partitions  the pass that gives kernels partitions
    checker     proves interiors and partitions again, on its own
    normal      its normal forms of expressions
    facts       its facts of ints
"""
