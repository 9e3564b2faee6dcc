"""CUDA's kernels on the CPU: compiled by a C++ compiler as they are, executed thread by thread."""
