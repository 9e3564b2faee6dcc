"""Functions on parts of files that are independent of each other.

    map_partitions  the results of all parts, or the files that have them
    arguments       what stands for each parameter: files that come by parts, and values that each part gets
    calling         calls the function on a part
    elsewhere       the program on a worker
    doing           one part after another here, or by the workers of a cluster
    results         what comes of it, and ends with who takes it
"""
