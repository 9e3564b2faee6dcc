"""What `auto` is: of some mappings the one that costs least, by walking a few blocks of each.

    candidates      the mappings that are tried, and those that no GPU takes for some sizes
    places          where in memory threads read and store, by their indices
    costs           what a walk costs: sectors that warps touch, operations that find an index, idle threads
    auto            the choice for a space, or for a kernel
    others          what else could walk a kernel that has a mapping, at what cost, or why not
"""
