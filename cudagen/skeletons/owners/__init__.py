"""The GPU's walk by owners: a block of threads, a warp, a part of a warp or a thread holds a segment.

    walk            begins here: sweeps through the segment
    teams           what the lanes of an owner do together
    row_order       ORDER of a row
    offers          loops over rows, which owners go through
    rounds          the rounds of such a loop
    local           the rows meanwhile, in shared memory
"""
