"""Which elements the chunks of a phase read and write.

    ranges      ranges of ints, with what operators make of them
    reach       the ranges of places, found by running a phase's code on ranges
    borders     where chunks of segments begin, which phases are told
"""
