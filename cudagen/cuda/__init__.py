"""The targets cuda and cudasim.

    cuda            pass: loops to CUDA C++
    operators       table: scalar operators as CUDA C++
    headers         pass: comments above kernels
    link            pass: the program
    files           CUDA as files, one for each kernel
    device          carries out plans, by a driver
    driver          what is asked of a driver
    memory          the pool of a GPU's memory, and what its launches share

    nvidia/         NVIDIA's compilers and driver
    cudasim/        the same on a CPU, thread by thread
"""
