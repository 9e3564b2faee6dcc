"""Scheduling: which kernels share a launch. docs/scheduling.md explains it.

    schedule        pass: decides; begins here
    fuse            pass: makes the kernels that a schedule asks for
    pull            pass: computes elements where they are gathered, before scheduling
    nodes           schedules, as data
    text            schedules as text and back
    check           validators of graphs and schedules

    graph/          dependence graphs, made from control regions
    wishes/         what users want of a schedule
    legality/       which clusters may be kernels
    cost/           what a schedule costs
    solver/         finds the cheapest
    rewrite/        the rules that merge kernels
    explain/        why a schedule is as it is
    draw/           pictures
"""
