"""Skeletons: how a target walks a kernel's root space. The CPU's and the GPU's share what is here.

    kernel          a kernel's plan while it is made
    chunks          about equal parts of a space
    counted         loops over indices
    nested          the rows of a nested space, while its segments are walked
    elements        what each SOAC does at an element, at the end of a segment, at the end of the walk
    ends            what a segment has at its end
    interiors       where no element decides where it is
    states          running values: accumulators, prefixes, counts
    finals          the results when all elements are done
    survivors       FILTER without a branch
    told            what one sweep tells the next of survivors
    targets         where a PERMUTE or REDUCE_BY_INDEX writes

    products/       sums over rows and columns
    cpu/            walk, order
    cuda/           walk, order
    mapped/         walks by mappings, of GPUs
    owners/         the GPU's walk by owners of segments
    apart/          host functions that one thread of the CPU runs
"""
