"""Nessie from Python: programs whose functions take and give Python's, NumPy's and Awkward's values.

    program         load and compile: the program in a file or a text; its attributes are its functions
    function        a function, to be called with arguments
    lengths         functions whose types tell lengths
    parameters      parameters by name, and the signature that Python shows
    reading         read: the value in a file
    calls           compiles a call for the types and layouts of its arguments, runs it, keeps the compiled code
    plans           what is the same in every call with arguments of the same kinds
    options         the options of a run: target, threads, limits
    views           explain, graph, kernels, stages: what the compiler makes of a function
    held            arguments in variables of a session, for views and for tuning
    tuning          versions, tune: what a run of a function chooses from, and where each version should run
    thresholds      what tune has found
    magics          %nesl and %%nesl in notebooks
    errors          the errors that Python gets

    values/         converts Python's values to NESL's, and back
    partitions/     functions on parts of files, one by one or by the workers of a cluster
"""
