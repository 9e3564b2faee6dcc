"""lambda_cu: the three-level form of kernels (host, kernel, thread), flat or fused.

    nodes               programs, kernels, SOACs, thread expressions
    parts               the parts of nodes, by kind
    selection           the names that FILTER and PARTITION bind
    ops                 table: the scalar operators
    layout              how NESL's values lie in lambda_cu's names
    typing              types of expressions and of bindings
    check               validator; its parts are check_host, check_choices and check_expressions
    check_host
    check_choices
    check_expressions
    commuting           operators whose sides may be exchanged
    scope               names, arrays and failures of a piece of a program
    rename              substitution
    shape               kernels up to names

    text/               programs as text and back
    spaces/             lengths and positions as polynomials
    offers/             loops over rows, which owners of rows may go through
    mappings/           how the space of a kernel is walked by threads
    borders/            what decides nothing about where an element is: the interior of stencils, partitions
    passes/             simplify and its parts, and the other passes on this form
    reference/          the reference executor, which says what programs mean
    running/            what all executors share: limits, depths, counts
"""
