"""Calls, and values that cross from caller to callee and back.

    functions       translates calls; makes the host and lifted versions of functions
    boundary        turns values into lists of names, by their layout, and back
    crossing        decides, per level of sequences: with payload, as bounds only, or as rows
    results         makes what lifted functions give where it lies
    rows            finds the arguments that may cross as rows
    compaction      copies a small part of a large payload
    apart           decides which activations of a recursion one thread shall do
    owned           offers loops over rows to owners of rows
    all_rows        leaves recursions on all rows as they are where no owner goes through one row by itself
    unrolled        writes apply-to-each over sequences of known length out
    entry           makes the function that a run calls
"""
