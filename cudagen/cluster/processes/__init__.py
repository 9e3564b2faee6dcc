"""The processes that workers of Dask's are.

    own_workers     those that are started here, with a scheduler
    waiting         waits that hear a Ctrl-C
    questions       asks them, and the scheduler, within a limit
    fitness         whether they, and the scheduler, have the same code, and a processor that runs it
    watch           what holds up tasks that are waited for
"""
