"""What users are told where names and types are wrong.

    messages        both types, both places
    hints           what may have been meant
"""
