"""Measures runs, and says how sure the numbers are.

    intervals   medians, and ratios of them, with intervals of confidence
    rounds      times functions in turn, until their medians are known well enough
    saved       results of nessie bench in a file, and what has changed since another one
    table       shows results and what has changed as text
    predicted   what the cost model says of each kernel of a program, at the sizes of a call
    kernels     what each kernel took in runs, beside what was predicted
"""
