"""Nessie from Python: programs whose functions take and give Python's, NumPy's and Awkward's values.

    program         load and compile: a program of a file, of a text; its attributes are its functions
    function        a function, to be called with arguments
    calls           compiles a call for the types and layouts of its arguments, runs it, keeps what was compiled
    options         how a program runs: target, threads, limits
    views           explain, graph, kernels, stages: what the compiler makes of a function
    magics          %nesl and %%nesl in notebooks
    errors          the errors that Python gets

    values/         Python's values as NESL's, and back
"""
