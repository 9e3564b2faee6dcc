"""Type inference: syntax trees to typed programs (the form typed).

    nodes           typed programs: polymorphic, higher order, every name resolved
    environment     what names mean at the top level
    signatures      types as programs write them
    infer           pass: finds the types of a program, form by form
    unify           unification, with classes of types
    text            typed programs as text; parser reads it back
    parser
    check           validator
    node_types      the types of expressions and patterns, read off their nodes
    walk            the parts of an expression

    inference/      the rules of inference, one for each kind of expression
    advice/         what is told where types do not fit
"""
