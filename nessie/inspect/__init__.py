"""Shows what the compiler makes of a program.

    views           table: the ways to look, for the command line, the prompt and Python
    collect         collects the data of the inspector's page
    measured        what was measured of kernels, as the page shows it
    origins         maps the pieces of a program to the source and to the graphs' nodes
    page            makes the page: template, style, script and data in one file (nessie inspect)
    pictures        draws dependence graphs as pictures (nessie graph)
    explaining      explains schedules (nessie explain)
    on_cluster      explains how a call's arrays lie on a cluster (nessie explain --target dask)
    notes           finds what else there is to tell: functions, groups, spaces, interiors
    mapping_notes   finds what there is to tell of mappings: launches, idle threads, costs, what else could be
"""
