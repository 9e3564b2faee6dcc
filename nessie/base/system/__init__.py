"""The machine that Nessie runs on: its stack, its time, its memory, its processes and files.

    deep            recursion as deep as programs are, on a thread of its own; Ctrl-C ends it
    forking         locks and properties that a forked process finds unlocked
    deadline        the time that all work may take
    limits          the limits of a run: what they may be, and what is said where one is exceeded
    memory          memory that is counted before it is taken: where --memory is enforced for what is read
    free_memory     how much memory there is to have
    writing         files: what was there stays until the whole new one is
    disk_cache      the user's cache folder: entries by key, checked by checksum
    file_names      names of files that complete what has been typed
"""
