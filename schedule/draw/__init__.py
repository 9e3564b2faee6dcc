"""Pictures of dependence graphs and their schedules.

    view            begins here: SVG, DOT, JSON
    drawing         what stands where, and what is written there
    layout          a graph and its kernels, laid out
    boxes           what boxes and lines stand for
    layers          drawing in layers: numbers alone
    svg             as SVG
"""
