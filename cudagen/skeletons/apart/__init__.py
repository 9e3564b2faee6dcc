"""Host functions of lambda_cu that one thread of the CPU runs: activations of a recursion that run apart.

    code            what a thread's functions have in common: memory that they take from an arena, giving up
    kernels         a kernel, walked by one thread
    functions       a function of the host level
    plan            the plan of an offer (lambda_cu.nodes, Function): its activations are shared out to threads
"""
