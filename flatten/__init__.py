"""Flattening: nested data parallelism (mono) to flat kernels (lambda_cu). docs/flattening.md explains it.

    flatten         pass; begins here
    translate       every expression at a domain: the table of rules
    translator      what rules share
    element_sites   which failures can tell the position of an element

    values/         what an expression is at a domain, before it is stored
    rules/          the rules, by the kinds of expressions
    threads/        pure expressions at one index, as scalar code
    calls/          calls, and values that cross from caller to callee
    ranges/         what is known of ints, so that checks that cannot fail go
"""
