"""Host sections: Python functions with loops and branches over arrays, compiled whole.

An array of a section is a value like any other: loops are functions that take it, and operations are expressions. What
follows a branch is put into both of its sides, so that each path through a loop's body is one region, in which the
schedule fuses what lies along it (slides "Host Sections" of Springer, Wauligmann and Masuhara, 2017). An array that is
of ints on one path and of floats on another is of floats; what is of other kinds by path is a union.

    unions      what is of several kinds, by path
    grids       branches, and expressions of arrays
    axes        what goes along axes, transpositions and products
    shapes      other shapes, several arrays as one
    methods     operations of arrays, and functions of them
    empties     sections of arrays without elements
    calls       host_section: what is compiled, kept and called
"""
