"""The cheapest legal schedule of a region, or the best that limits allow, with a bound on how much better one could be.

    solve           begins here: greedy first, then whatever the problem's size allows
    greedy          merges the clusters that save most
    contract        nodes that some best schedule keeps together
    search          small problems, without an integer program
    ilp             the integer program: formulas
    model           integer programs as data
    pulp_solver     solves them, through PuLP
    exact           solves until the solution is a schedule
    cycles          kernels that wait for each other
    cycle_cuts      rows that forbid them
    copies          cheap producers that are computed again
    improve         larger problems: attempts, in order
    refine          taking a few kernels apart and merging them again
    proven_optima   kept from run to run

    bound/          what no schedule is below
"""
