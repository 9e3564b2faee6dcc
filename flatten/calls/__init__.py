"""Calls, and values that cross from caller to callee and back.

    functions       which functions run per element; host and lifted versions of the others
    boundary        values as lists of names, by their layout
    crossing        level by level: with payload, or as bounds only
    compaction      a small part of a large payload, copied
    entry           the function that a run calls
"""
