"""Draws dependence graphs and their schedules.

    view            draws graphs as SVG, DOT or JSON; begins here
    drawing         drawings as data: boxes, lines and texts in place
    layout          lays out a graph and its kernels
    boxes           layered drawings with keys for boxes and lines
    layers          computes layered drawings, in numbers alone
    svg             writes drawings as SVG
"""
