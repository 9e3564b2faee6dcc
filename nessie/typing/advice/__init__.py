"""The errors and hints for wrong names and types.

    messages        errors with both types and both places
    hints           hints at what may have been meant
    reasons         the places that made a type what it is
    undefined       undefined names
    hidden          names that differ in capitals only
    lengths         names of lengths that are names of ints, too
"""
