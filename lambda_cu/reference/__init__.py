"""The reference executor: runs programs of lambda_cu in NumPy. It defines what programs mean, and shares no code with
the executors that are tested against it.

    reference       the host level
    context         one run: its first failure, its limits, its counts
    kernels         kernels, binding after binding
    monoids         segmented reductions and scans
    thunks          thread expressions, for all lanes at once
    calls           calls of scalar functions
    lanes           the lanes for which an expression is evaluated
    operators       the operators in NumPy
"""
