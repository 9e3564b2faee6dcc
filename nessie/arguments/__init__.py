"""The arguments of a call, from a command line or from Python.

    types           infers the types of all arguments together
    with_lengths    what is due of a type that tells lengths
    by_rows         whether a function does the same for each row of its argument
    words           turns the words of a command line into expressions
"""
