"""The messages about a text that is no NESL.

    messages            what was found, and what could have stood there
    advice              the likely mistake: a table, of which the first row that fits is told
    other_languages     what other languages write where NESL writes something else
"""
