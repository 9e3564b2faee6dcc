"""The targets cuda and cudasim.

    cuda            pass: loops to CUDA C++
    operators       table: scalar operators as CUDA C++
    headers         pass: comments above kernels
    link            pass: the program
    files           CUDA as files, one for each kernel
    device          carries out plans, by a driver

    nvidia/         NVIDIA's compilers and driver
    cudasim/        the same on a CPU, thread by thread
"""
