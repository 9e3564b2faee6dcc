"""Makes one copy of each function for each use at other types, without function values and datatypes.

    copies          makes the copies that a program needs, until none is missing
    specialise      translates one function at types
    erase           the run-time types: datatypes and function values erased
    erased_values   puts values of erased types together and takes them apart
    derived         functions for every type, made for the type at hand: equality, text, hashing
    timing          time(e): the clock before, the value, the clock after
    ever_larger     finds functions that are called at ever larger types, without end
"""
