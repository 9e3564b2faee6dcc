"""Which kernels share a launch: dependence graph, integer program, rewrite rules."""
