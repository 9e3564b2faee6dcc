"""Compiled programs at work, under limits, in the world.

    targets         runs programs on cpu, reference, cudasim or cuda
    results         results as values of their source types
    world           performs effects: files, streams, other programs, the clock
    text_streams    numbers for the streams of running programs
    processes       other programs that a running program starts
    stopwatch       times kernels, for calibrate and explain
"""
