"""What users want of a schedule.

    wishes          wishes, as data
    sizes           what the user says of sizes
    pairs           from names to pairs of a graph's nodes
"""
