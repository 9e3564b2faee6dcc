"""The messages about wrong names and types.

    messages        both types, both places
    hints           what may have been meant
    hidden          names that differ in capitals only
"""
