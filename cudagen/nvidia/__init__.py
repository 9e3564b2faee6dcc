"""NVIDIA's GPUs: what of CUDA is here, its compilers, and a driver (cudagen.gpu) over PyCUDA."""
