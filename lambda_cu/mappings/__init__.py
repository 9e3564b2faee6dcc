"""Mappings: how the space of a kernel is walked by threads, which never changes what the kernel means.

    nodes           combinators and levels, as plain data
    text            mappings as text and back
    axes            the spaces that mappings begin with: bounds, steps, widths, lengths that depend on axes outside
    combinators     what each combinator demands, makes, and how its indices are found again
    mapped          a mapping of a space: host code, launch, the code that finds the index, guards
    levels          the levels of the machine, and the limits of a launch
    strategies      the mappings that rules make: Jing, JingExt, FoldAll
    broken          what is wrong with a mapping that no space has
    shown           a mapping of a space for readers
    certificate     each index is walked once, and no other: by walking small sizes
    cover           each index is in one part of a space, and no part has another: by the kinds of indices there are
    owners          how owners of segments walk them, and what they cannot
    kernels         which mappings may walk a kernel, and why not
    own_row         proofs that an index lies in the own row
    choice/         what `auto` is: the mapping of some that costs least
"""
