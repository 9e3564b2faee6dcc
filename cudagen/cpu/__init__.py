"""The target cpu.

    llvm            pass: loops to LLVM's text
    entries         the functions by which others are called
    operators       table: scalar operators as LLVM's instructions
    row_loops       what LLVM is told of loops
    rewrites        loops as LLVM makes the most of them
    compaction      loops that keep some elements, several at a time
    checks          failed checks, as LLVM makes vectors of them
    vector_math     calls that vectorise
    remainders      remainders of floats, fast and the same to the bit
    assemble        pass: the program, with its machine code
    machine_code    LLVM's text to machine code
    device          carries out plans
    threads         the threads that run chunks
    sorting         stable orders of keys
    interpreted     a device that interprets the same loops, and counts
"""
