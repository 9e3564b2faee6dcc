"""The base of every stage: places and errors, types, names, values; nothing of it knows a stage.

    source          places in the user's text, errors that show them, invariants of the compiler
    records         dataclass, quick to make
    located         the base of nodes that know where they come from
    parts           the parts of nodes, read and changed alike in every form
    types           NESL's types
    values          NESL's values: nested, and flat as columns and descriptors
    ints            the range of NESL's ints
    names           fresh names, and the names that users wrote
    effects         what a running program asks of the world
    layers          mappings that are copied often
    call_graph      graphs of names: an order, circles, what is reached
    lazy            modules that are imported when they are first used

    text/           tokens, documents, and the texts of types and values
    system/         the machine: the stack, time, memory, processes, files, the cache on disk
"""
