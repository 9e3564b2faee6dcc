"""Loops as LLVM makes the most of them: each file rewrites a function (cudagen.cpu.llvm).

    strips          scalar functions that are loops, for eight elements at a time
    cuts            loops that read one array after another, a loop for each
    ranges          loops whose checks hold in a range
    pairs           long loops, for two elements at a time
    rows_of_loops   loops that divide their index, by rows
    rows_ahead      loops over rows that lie anywhere, which ask for rows in advance
    folds           folds, for neighbouring elements together
    decided         folds of bools, which end once they are decided
    held            loops whose rounds note that a check has failed, and no longer which
    eights          short rows, by eights with masks
"""
