"""Type inference: turns syntax trees into typed programs (the form typed).

    nodes           typed programs: polymorphic, higher order, every name resolved
    environment     the meanings of names at the top level
    signatures      converts types as programs write them
    infer           pass: finds the types of a program, form by form
    unify           unification, with classes of types
    text            writes typed programs as text; parser reads it back
    parser
    check           validator
    node_types      the types of expressions and patterns, read off their nodes
    walk            the parts of an expression

    inference/      the rules of inference, one for each kind of expression
    advice/         the errors and hints where types do not fit
"""
