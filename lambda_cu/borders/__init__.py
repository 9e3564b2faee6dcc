"""Borders: the decisions of an element that one range of its index settles are made once, for the interior.

    forms       linear forms of ints: sums of multiples of indices and of what is alike for all elements
    ranges      where decisions are settled, collected: where the interior begins and ends
    interior    a thunk's interior: the thunk without these decisions
    borders     the pass
    checker     proves an interior again, on its own
"""
