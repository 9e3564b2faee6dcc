"""Calls, and values that cross from caller to callee and back.

    functions       translates calls; makes the host and lifted versions of functions
    boundary        turns values into lists of names, by their layout, and back
    crossing        decides, per level of sequences: with payload, or as bounds only
    compaction      copies a small part of a large payload
    entry           makes the function that a run calls
"""
