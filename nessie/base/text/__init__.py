"""Texts of programs in all their forms: read by tokens, written by documents.

    tokens          tokens of all intermediate forms, and the cursor by which parsers read them
    places          where the parts of a program stand in the text that they were read from
    layout          documents: what fits on a line, and what is broken where
    grammar         one table that writes nodes and reads them back
    types_text      types as text and back
    values_text     values as NESL prints them
    nearest         the word that was probably meant
"""
