"""The GPU's walks of a space.

    walk            begins here
    blocks          what the threads of a block do together
    flat            a walk in any order
    tiles           a walk in order: a tile for each block. Here the survivors of a FILTER get their places
    runs            which items a tile has, and each of its threads
    staging         how a tile's elements come from memory and go there, by slots in shared memory
    sums            sums of what tiles carry
    carries         what comes before a thread's items
    finish          what the block that ends last does
    look_back       decoupled look-back: what all tiles before come to
    last_writes     PERMUTE where the last write wins
    order           ORDER: keys by a walk, then a radix sort
    order_text      the text of its functions
    order_pass      the text of a pass
    small_order     the text of the one that sorts few elements by itself
    models/         what blocks tell each other, as models for SPIN
"""
