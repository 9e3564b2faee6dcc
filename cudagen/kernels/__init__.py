"""Makes one walk of a kernel's bindings, whatever the target.

    walk                where each binding runs, and what must be kept
    thunks              what is computed at an index
    hoisting            what a thunk computes alike for a whole segment
    scalar_functions    scalar functions as functions of loops
    code                a function while it is written
"""
