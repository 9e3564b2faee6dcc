"""The target cpu.

    llvm            pass: loops to LLVM's text
    text            functions as LLVM's text: instructions, operators, expressions, statements, entry points
    row_loops       what LLVM is told of loops
    rewrites        loops as LLVM makes the most of them
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
