"""Parallel arrays: lazy arrays whose operations take plain Python functions (Springer, Wauligmann and Masuhara,
*Modular Array-based GPU Computing in a Dynamically-typed Language*, ARRAY 2017).

    array       nessie.array and its kin: Array, its operations
    recorded    operations as nodes
    checks      shapes and kinds, checked at the call
    nodes       expressions of arrays, as plain data
    operators   what +, <, np.sqrt and sum do, as bodies
    protocols   what NumPy's protocols and Python's operators ask of arrays
    operations  what operations are in NESL
    writing     an expression as one function of NESL
    running     compiles expressions, keeps what is compiled, runs it
    errors      errors in Python's words, at the user's lines
    values      what comes in and goes out
    devices     where arrays lie

    shapes/     reshaping, joining, what goes along axes, products
    bodies/     Python functions as NESL's syntax trees
    sections/   host sections: functions of arrays that are compiled whole
"""
