"""Computes the cost of a schedule.

    profiles        profiles of devices (devices/*.json): the prices of bytes, launches and synchronisations
    cost            prices a schedule: bytes streamed, launches, synchronisations
    kernel_arrays   counts the arrays that a kernel has in memory
    problem         a scheduling problem: graph, legality, cost
"""
