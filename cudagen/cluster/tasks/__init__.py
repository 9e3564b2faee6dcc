"""What workers do. A task gives a dictionary of arrays, whose names are the plan's.

    wanted      tasks end soon once nobody wants what they give
    elements    arrays in parts, put together where a task is done
    buckets     what a task gives, cut by who receives it
    chunks      runs of chunks of one phase, by the CPU target's code
"""
