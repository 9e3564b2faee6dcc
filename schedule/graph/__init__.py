"""Dependence graphs (the form graph): one for each control region of a program.

    nodes           graphs, as data
    graph           pass: makes the graphs of a program
    regions         control regions, and the steps in them
    uses            the modes in which a binding uses names
    sizes           estimates of sizes
    arithmetic      the cost of computing an element once more
    build           pass: makes a graph of steps
    text            graphs as text and back
    ordering        puts clusters in an order of execution
"""
