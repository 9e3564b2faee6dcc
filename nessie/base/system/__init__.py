"""The machine that Nessie runs on: its stack, its time, its memory, its processes and files.

    deep            recursion as deep as programs are, on a thread of its own; Ctrl-C ends it
    forking         locks and properties that a forked process finds unlocked
    deadline        the time that all work may take
    limits          the limits of a run: their valid values, and the hints where one is exceeded
    memory          memory that is counted before it is taken, which enforces --memory for input
    free_memory     the amount of available memory
    writing         writes files: the old content stays until the new one is complete
    unfinished      hidden files in which new content grows, and those that a killed process has left
    ending          what is to be done when the process ends, by a signal, too
    mapped_files    arrays in files that memory maps
    own_files       Nessie's own files: are two installations of the same code?
    seen_files      files that several processes look at: do they see the same?
    extras          the extras of setup.cfg, and how they are installed
    disk_cache      the user's cache folder: entries by key, checked by checksum
    file_names      completes typed names of files
"""
