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

Greedy meets the bound in 195 of 232 regions of the examples and recorded programs, and search settles 25. The other
parts serve larger regions; without one of them (benchmarks/results/solver_parts.txt, regions of 80 to 500 nodes):

    bound           nothing of 200 nodes is proven within 40 %, where it is within 15 % otherwise
    separation      the same: the rows that a solution breaks are what makes the bound
    programs        two grids are no longer optimal, one costs 7 % more
    refine          mixed regions of 200 and 500 nodes cost 4 to 5 % more
"""
