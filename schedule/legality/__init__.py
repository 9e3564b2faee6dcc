"""Which clusters of nodes may be kernels.

    fusible         which two nodes may share a kernel, and why not
    sharing         the rules by which two nodes share a walk
    blocks          nodes that the user wants together
    cliques         nodes of which no two may be together
    witness         why not, in words
    certificate     the same question once more, independently: for validators
"""
