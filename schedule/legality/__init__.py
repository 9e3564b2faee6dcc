"""Decides which clusters of nodes may be kernels.

    fusible         the pairs of nodes that may share a kernel, and the reasons why others may not
    mapped          the same of nodes that have a mapping
    sharing         the rules by which two nodes share a walk
    blocks          nodes that the user wants together
    cliques         nodes of which no two may be together
    witness         words that show a reason
    certificate     an independent check of the same question, for validators
"""
