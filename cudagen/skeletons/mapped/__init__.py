"""Walks by mappings, of GPUs: each index of a kernel's axes has a thread.

    walk            begins here
    sums            what the threads of a block come to
"""
