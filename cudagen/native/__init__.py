"""The host level in native code, for the target cpu: a machine that runs records, and Python for what is rare.

    words           what lies in the machine's memory
    writer          LLVM's instructions, as they are written
    handlers        the machine: a function for each kind of record
    records         lists of records, as they are written
    scalars         scalar expressions as records
    launches        launches as records
    functions       functions as records
    machine         one device's machine: its state, its room for frames, the arrays in its hands
    running         the machine at work, and what it leaves to Python
    calling         calls of a program's entry from Python, again and again
"""
