"""Passes on lambda_cu, in the order of the pipeline; the parts of simplify follow it.

    specialise_sites    makes every kernel name its own failure sites
    device_scalars      keeps scalar arithmetic on kernels' results on the device
    sort_reductions     sorts what GPUs cannot combine by an atomic operation
    sort_firsts         and what they do not hash
    replacing           - what both of these replace runs with
    unchecked           leaves checks out
    known_arguments     drops parameters and results that are known at every call
    kernel_arguments    - gives kernels their constants, drops copies of whole arrays
    simplify            makes a program smaller
    lets                - tidies lets
    sharing             - merges equal kernels, parameters and runs
    dead_code           - drops what nobody reads and cannot fail
    unread              - drops results and parameters that nothing reads
    append              lets sequences grow at their ends in place
    share_sites         merges kernels that differ only in their failure sites, for readers
"""
