"""A lower bound of all schedules: a linear program that grows by the rows that its solutions break.

    bound           begins here
    relaxation      the linear program
    linear          linear terms, and programs that HiGHS solves again and again
    separation      rows that a solution breaks, by shortest paths
    quotient        rows that a solution breaks, of clusters that wait for each other
    distances       how far apart a solution has nodes
"""
