"""The GPU's walk by owners: a block of threads, a warp, a part of a warp or a thread holds a segment.

    walk            begins here: sweeps through the segment
    teams           what the lanes of an owner do together
    row_order       ORDER of a row
    offers          loops over rows, which owners go through
    rounds          the rounds of such a loop: its statements, and the functions that it calls
    row_kernels     its kernels, each walked by all lanes
    lanes           when the lanes meet meanwhile, and when they give up
    local           the rows meanwhile, in shared memory
"""
