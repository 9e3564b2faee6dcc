"""Flattening: nested data parallelism (mono) to flat kernels (lambda_cu). docs/flattening.md explains it.

    flatten         the pass; begin here
    translate       translates every expression at a domain: the table of rules
    translator      the state that the rules share
    element_sites   marks the failures that can tell the position of an element

    values/         the value of an expression at a domain, before it is stored
    rules/          the rules, by kind of expression
    threads/        pure expressions at one index, as scalar code
    calls/          calls, and values that cross from caller to callee
    ranges/         range analysis of ints, which removes checks that cannot fail
"""
