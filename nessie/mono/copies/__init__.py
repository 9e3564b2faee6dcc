"""One copy of each function for each use at other types, without function values and datatypes.

    copies          which copies a program needs, until no more are
    specialise      one function at types
    erase           what is left of a type at run time
    erased_values   values of erased types: put together, taken apart
    derived         functions for every type, made for the type at hand: equality, text, hashing
    timing          time(e): the clock before, the value, the clock after
    ever_larger     functions that are called at ever larger types, without end
"""
