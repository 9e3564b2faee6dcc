"""The form loops: small imperative code with plans, which printers read.

    nodes           functions: expressions and statements
    plan            plans: how a kernel is launched
    module          a program: plans and functions
    text            programs as text and back, with printer, parser and plan_parser
    printer
    parser
    plan_parser
    typing          types of expressions
    check           validator, with plan_check
    plan_check
    walk            the parts of a function
    marks           copies of statements, with names of their own
    unread          pass: what functions bind and nobody reads goes
    interpreter     what loops mean
    meanings        what operators mean, in Python
"""
