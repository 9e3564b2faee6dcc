"""CUDA's kernels on the CPU: compiled as they are by a C++ compiler, executed thread by thread.

    compiler        CUDA to a library, by the system's C++ compiler
    driver          a driver whose GPU is the CPU
    cudasim.h       CUDA's words, for the C++ compiler
    runtime.cpp     the scheduler of threads, as fibres
    counted         text that tells what it does to memory
    counting        a driver that counts that, and what it is asked to do itself
    counters.h      what such text says
    counters.cpp    the sums of it
"""
