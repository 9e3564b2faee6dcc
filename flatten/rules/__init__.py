"""The rules of flattening, by the kinds of expressions.

    each                apply-to-each
    conditionals        conditionals whose branches are parallel
    effects             effects, in order
    sequences           table: the primitives on sequences, whose rules follow
    building            - literals, dist, ranges, append
    folding             - reductions, scans, order
    gather_scatter      - gather and scatter
    permuting           - scatters by known bijections
    nesting             - flatten and partition
    lengths             lengths that are checked: not negative, not too large
    checked_scalars     scalars that must be right before they are used
"""
