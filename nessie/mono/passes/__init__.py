"""Passes that make and refine mono programs, in the order of the pipeline.

    monomorphise    makes the program that begins with a named function
    random_state    makes random numbers from a state that is passed along
    inline          replaces calls by the bodies of their callees
    reduce_groups   computes sums of groups that nobody else wants without the groups
    select_least    finds the first few of what is sorted without sorting
    hoist           computes once what is alike for all elements
    row_recursions  makes recursions on all rows recursions on each, where rows shall have owners
    join_calls      joins calls that end both branches of a conditional
    release         marks sequences for copying that would keep a large payload alive
"""
