"""NVIDIA's GPUs: the compilers that there are, and a driver over PyCUDA.

    detection       what a GPU needs, and what of it is missing
    compiler        CUDA to cubins, by NVRTC or nvcc
    nvrtc           NVRTC, by ctypes
    driver          the driver
    usage           registers, shared memory, spills
    cubin_files     cubins as files
"""
