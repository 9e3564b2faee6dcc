"""The rules of flattening, by kind of expression.

    each                apply-to-each
    rounds              reductions in few rounds, which stay with their element
    conditionals        conditionals whose branches are parallel
    emptiness           conditionals that ask whether a sequence is empty
    effects             effects, in program order
    sequences           the table of the primitives on sequences, whose rules follow
    building            - literals, dist, ranges, append
    folding             - reductions, scans, order
    combining           reductions and scans by a function of the program
    gather_scatter      - gather and scatter
    permuting           - scatters by known bijections
    nesting             - flatten and partition
    lengths             checked lengths: not negative, not too large
    slices              slices whose lengths have a form
    checked_scalars     scalars that are checked before they are used
"""
