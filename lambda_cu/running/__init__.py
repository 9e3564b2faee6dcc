"""The parts that all executors of lambda_cu share.

    stats               the counts of a run's cost
    traffic             the bytes that a launch moves
    default_depths      the default limits of functions' call depths
    calls               the running calls, and the check that there may be one more
    recursion           the place at which endless recursion is reported
    empty_kernels       the results of kernels that walk nothing
"""
