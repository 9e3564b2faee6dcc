"""The base that all stages share: places and errors, types, names, values. Nothing in it knows a stage.

    source          places in the user's text, errors that show them, invariants of the compiler
    records         a dataclass that starts up fast
    located         the base of nodes that know where they come from
    parts           the parts of nodes, read and changed alike in every form
    types           NESL's types
    values          NESL's values: nested, and flat as columns and descriptors
    ints            the range of NESL's ints
    widths          how many bits a program's ints and floats have
    fitted          values from outside, made as narrow as a program's
    names           fresh names, and the names that users wrote
    effects         the requests of a running program to the outside world
    layers          mappings that are copied often
    call_graph      graphs of names: an order, circles, what is reached
    lazy            modules that are imported at their first use

    text/           tokens, documents, and the texts of types and values
    system/         the machine: the stack, time, memory, processes, files, the cache on disk
"""
