"""What workers do. A task gives a dictionary of arrays, whose names are the plan's.

    runs        tasks belong to runs, which can be stopped
    elements    arrays in parts, put together where a task is done
    buckets     what a task gives, cut by who receives it
    chunks      runs of chunks of one phase, by the CPU target's code
"""
