"""The rules of type inference. Each takes the state and an expression, and gives a typed one with its type.

    state           what is known while a form is inferred; the rule for names
    calls           applications: of functions, and of what syntax has operators for
    patterns        patterns
    structure       everything else, and the table of all rules
    resolve         puts what was found into the types of a finished definition
"""
