"""The errors and hints for a text that is not NESL.

    messages            syntax errors: the token found, and those that could have stood there
    advice              hints at the likely mistake: the first row of a table that fits
    other_languages     hints at the syntax of other languages that NESL writes differently
"""
