"""Nessie from Python: programs whose functions take and give Python's, NumPy's and Awkward's values.

    load, compile       a program of a file, of a text                      nessie.api.program
    Function            called with arguments; explain, graph, ...          nessie.api.function, nessie.api.views
    Nested, Tuples      sequences that NumPy has no array for               nessie.api.sequences
    DeviceArray         an array in a GPU's memory                          nessie.api.device
    release_memory      what calls have kept goes back to the system
    as_awkward          a result as an Awkward array                        nessie.api.awkward_arrays
    NessieError         what all errors are

Values go in by nessie.api.arguments, out by nessie.api.results; nessie.api.calls compiles and runs.
"""
