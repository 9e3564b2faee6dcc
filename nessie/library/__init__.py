"""The library of NESL, with which every program starts.

    primitives          the table of primitives, a row each, with type, kind and documentation
    prelude.nesl        everything else, in NESL
    drawing.nesl        drawing, in NESL
    build_library       makes library.typed from both (python -m nessie.library.build_library)
    library             loads library.typed: the environment that programs start from
    build_reference     writes the reference in docs/language.md
"""
