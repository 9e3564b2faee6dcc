"""Users' wishes for a schedule.

    wishes          wishes, as data
    sizes           finds the sizes that users give by name
    pairs           turns names into pairs of a graph's nodes
    asked           wishes for mappings, as options have them
    unmet           tells which wishes nothing has met
    mappings        lets mappings walk what a name stands for
    offers          lets owners go through loops over rows
    choose_mappings  chooses the mappings that `auto` is
"""
