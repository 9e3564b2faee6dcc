"""The interpreter. It runs typed programs directly on nested values, defines the meaning of NESL, and shares no code
with the executors that are tested against it.

    interpreter         expressions and calls
    meanings            scalar operators and sequence primitives
    meanings_any        functions of every type: equality, text, hashing
    in_place            which writes cost only what they write
    narrow              numbers of 32 bits
    random_numbers      random numbers, by splitmix64
    effects             printing, files and the like, in NESL's order
    failed_values       the values in the error of a failed check
"""
