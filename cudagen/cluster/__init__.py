"""Kernels on many machines: the CPU target's plans, whose chunks are tasks of a cluster.

    engine      what a cluster is: submit, gather, workers, sees, close
    on_dask     Dask as an engine
    processes/  the workers' processes: those that are started here, whether they are fit, what holds them up
    tasks/      what workers do
    files/      files that workers read and write, if they see them
    slabs       arrays that lie in parts on workers
    workers     what lies on workers, and how it is asked for
    reaching/   which elements chunks read and write
    kernels     what is known of a program's kernels before they are launched
    moving/     elements that go to other workers: writes to places that data say, sorts
    launches    what is known of a kernel's launch
    sharing     how tasks share arrays
    phases      a kernel's launch
    device      the device that the host level sees
    explaining  what it has done, in words
"""
