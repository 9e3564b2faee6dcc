"""The arguments of a call, from a command line or from Python.

    types           infers the types of all arguments together
    words           turns the words of a command line into expressions
"""
