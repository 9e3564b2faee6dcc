"""Passes on lambda_cu, in the order of the pipeline; those that simplify is made of follow it.

    specialise_sites    every kernel says itself where it fails
    device_scalars      scalar arithmetic on kernels' results stays on the device
    unchecked           leaves checks out
    simplify            makes a program smaller
    lets                - tidies lets
    sharing             - makes what is the same twice one
    dead_code           - drops what nobody reads and what cannot fail
    unread              - drops results and parameters that nothing reads
    share_sites         kernels that differ in where they fail only become one, for readers
"""
