"""Pictures: what programs draw, and plots of values.

    drawing     records what programs draw into windows
    events      clicks and keys, which users write as text
    svg         a window as an SVG picture
    png         greys as a PNG image, which SVG pictures embed
    files       the files of the pictures of a run
    plot        plots values by matplotlib
    kinds       the kinds of plots
"""
