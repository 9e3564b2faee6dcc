"""What a schedule costs.

    profiles        devices (devices/*.json): what a byte, a launch, a synchronisation costs there
    cost            prices a schedule: bytes streamed, launches, synchronisations
    kernel_arrays   how many arrays a kernel has in memory
    problem         a scheduling problem: graph, legality, cost
"""
