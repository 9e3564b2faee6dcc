"""The arguments of a call, from a command line or from Python.

    types           the types of all arguments, found together
    words           the words of a command line as expressions
"""
