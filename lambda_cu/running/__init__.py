"""Parts that all executors of lambda_cu share.

    stats               what a run cost
    traffic             the bytes that a launch moves
    default_depths      how deep functions may call if nobody says
    calls               the calls that run, and whether there may be one more
    recursion           where recursion without an end is told
    empty_kernels       results of kernels that walk nothing
"""
