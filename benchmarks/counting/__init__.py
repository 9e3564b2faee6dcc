"""counting: counts what kernels of the CPU do, by running their optimised code with hooks in it.

    instructions.py     what an instruction of LLVM's text is to a processor: amounts by name
    hooks.py            the text with hooks: blocks count their runs, accesses and branches are told to machine.c
    machine.c           a model of a processor's caches and of its predictor of branches
    device.py           a device whose kernels are so counted: amounts by kernel
"""
