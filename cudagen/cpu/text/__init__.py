"""Functions of loops as LLVM's text, from single instructions up.

    instructions    the lines of a function: instructions, labels, what is declared for them
    operators       table: scalar operators as instructions
    expressions     values of expressions, reads and writes of memory
    compaction      loops that keep some elements, several at a time
    functions       statements, and the functions that they make
    entries         the functions by which others are called
"""
