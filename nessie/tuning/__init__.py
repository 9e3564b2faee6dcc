"""Tuning: thresholds of versions, measured on a machine and kept in a file that users may edit.

    file            the text of a tuning file, and what it says of a program's tunables
    fit             a threshold from times of two versions on several shapes
    thresholds      the pass that puts a file's thresholds into a program that is shown
    measure         times of each version of a program's choices
    shapes          numbers and lengths of rows for which arguments are made
"""
