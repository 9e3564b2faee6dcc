"""The interpreter: runs typed programs on nested values as they are. It defines what NESL means, and shares no code
with what is tested against it.

    interpreter         expressions and calls
    meanings            scalar operators and sequence primitives
    meanings_any        functions of every type: equality, text, hashing
    random_numbers      random numbers, by splitmix64
    effects             printing, files and the like, in NESL's order
    failed_values       the values that a failed check is told with
"""
