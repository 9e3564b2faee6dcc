"""The texts of programs in all their forms: reading by tokens, writing by documents.

    tokens          tokens of all intermediate forms, and the cursor by which parsers read them
    places          the places of a program's parts in the text that they were read from
    layout          documents: text laid out to fit its lines
    grammar         one table that writes nodes and reads them back
    types_text      types as text and back
    values_text     values as NESL prints them
    nearest         the known word that was probably meant
"""
