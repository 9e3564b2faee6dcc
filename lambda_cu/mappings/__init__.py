"""Mappings: how the space of a kernel is walked by threads, which never changes what the kernel means.

    nodes       combinators and levels, as plain data
    text        mappings as text and back
"""
