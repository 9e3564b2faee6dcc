"""Dependence graphs (the form graph): one for each control region of a program.

    nodes           graphs, as data
    graph           pass: the graphs of a program
    regions         control regions, and the steps in them
    uses            how a binding uses names
    sizes           estimates of sizes
    arithmetic      what computing an element once more would cost
    build           steps to a graph
    text            graphs as text and back
    ordering        nodes in an order that dependences allow
"""
