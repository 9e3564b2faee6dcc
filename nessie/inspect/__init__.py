"""Looking at what the compiler makes of a program.

    views           table: the ways to look, for the command line, the prompt and Python
    collect         what the inspector's page shows, as data
    origins         where the pieces of a program come from
    page            the page: template, style, script and data in one file (nessie inspect)
    pictures        dependence graphs as pictures (nessie graph)
    explaining      explanations of schedules (nessie explain)
"""
