"""Bounds of work and depth, as formulas of sizes, from a function's text alone: what the language server tells.

    formulas        sums of products of sizes, which bound from above
    values          what is known of a value: how long its sequences are, how large its ints
    primitives      what primitives cost, and what they make of such values
    counting        goes through typed programs as the interpreter does, and adds up

A bound is right for every run without an error in which no int overflows, or it is none: then it is told as unknown.
"""
