"""Passes that make and refine mono programs, in the order of the pipeline.

    monomorphise    the program that begins with a named function
    random_state    random numbers are made from a state that is passed along
    inline          calls become the bodies of what they call
    join_calls      calls that end both branches of a conditional become one
    release         sequences that would keep a large payload alive are marked for copying
"""
