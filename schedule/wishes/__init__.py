"""Users' wishes for a schedule.

    wishes          wishes, as data
    sizes           finds the sizes that users give by name
    pairs           turns names into pairs of a graph's nodes
    levels          gives the segments of what a name stands for an owner
"""
