"""Code from kernels: skeletons, loops, printers for LLVM and CUDA, building and running."""
