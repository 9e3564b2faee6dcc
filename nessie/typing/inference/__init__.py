"""The rules of type inference. Each takes the state and an expression, and returns a typed one with its type.

    state           the state while a form is inferred; the rule for names
    calls           rules for applications of functions and operators
    patterns        rules for patterns
    structure       all other rules, and the table of all rules
    resolve         resolves the types of a finished definition
"""
