"""Runs compiled programs, under limits, and performs their effects.

    targets         runs programs on cpu, reference, cudasim or cuda
    target_names    names the targets
    results         restores results to values of their source types
    world           performs effects: files, streams, other programs, the clock
    text_streams    the numbered streams of running programs
    processes       other programs that a running program starts
    counting        runs programs on cudasim, and counts what their kernels do to memory
    told_cluster    runs programs as a cluster would, and tells what it would do
    ready           a compiled program on one device, to be run many times
    stopwatch       times kernels, for calibrate and explain
"""
