"""Files by parts, of rows that do not need each other: read, and written.

    partitions      which parts files have
    lines           those of text
    columns         of tables that are parts of one argument
    zipped          those of files whose rows belong together
    readers         reads a part as a file
    outputs         where the parts of a result go: a folder of tables, or a file that grows
"""
