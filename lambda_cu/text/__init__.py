"""Programs of lambda_cu as text, in the paper's syntax, and back.

    printer                 programs, kernels, statements
    soacs                   SOACs and spaces, both ways
    printer_expressions     expressions, thunks, types, layouts
    parser                  the inverse of printer
    parser_expressions      the inverse of printer_expressions
"""
