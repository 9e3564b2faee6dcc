"""Code from kernels, and running it.

    generate        pass: kernels to loops; each gets the skeleton that can walk it

    kernels/        how a kernel's bindings become one walk, whatever the target
    skeletons/      how a target walks a space
    loops/          the form loops: the imperative code that skeletons write
    host/           the form host: what launches kernels
    cpu/            the target cpu: LLVM, threads
    cluster/        kernels of the target cpu on many machines
    native/         the host level in native code, on the CPU
    cuda/           the targets cuda and cudasim: CUDA, drivers
"""
