"""Files as values: `@path` arguments in, `-o path` results out. The ending of a file's name decides its format.

    names           what a file's name says: its format, and which columns of a table are read
    files           the table of formats; opens, reads and writes files
    reading         a file being read, and an account of the memory that this takes
    parts           descriptions of a file's values, before the values are made
    fit             converts a file's arrays to the type that a parameter wants
    formats/        what files of each format hold
    read_by_workers     what a cluster's workers read, each some row groups
    written_by_workers  what they write, each a part
    partitions/     files by parts, of rows that do not need each other
"""
