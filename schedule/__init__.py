"""Schedules kernels: decides which of them become one. docs/scheduling.md explains it.

    schedule        pass: decides which launches become one kernel; begins here
    fuse            pass: makes the kernels that a schedule asks for
    sink            pass: moves launches into the branches that make what they read, before scheduling
    join            - and joins conditionals on one condition
    pull            pass: computes elements where they are gathered, before scheduling
    nodes           schedules, as data
    text            schedules as text and back
    check           validators of graphs and schedules

    graph/          dependence graphs, made from control regions
    versions/       versions of what a region computes, of which a run takes one
    wishes/         users' wishes for a schedule
    legality/       decides which clusters may be kernels
    cost/           computes the cost of a schedule
    solver/         finds the cheapest schedule
    rewrite/        merges kernels, by rules
    explain/        explains why a schedule is as it is
    draw/           draws graphs and schedules
"""
