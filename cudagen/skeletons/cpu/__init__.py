"""The CPU's walks of a space.

    walk            begins here: the phases of a kernel
    segments        one chunk: its elements, and what happens at the ends of segments
    lanes           the order in which elements of a block are added up
    neighbours      segments of a nest's row that are summed together
    alike           what they have in common
    interiors       the border of a walk and its interior, each with its own code
    tables          REDUCE_BY_INDEX on several threads
    tiles           walks by tiles, where elements of a segment lie apart
    products        sums over rows and columns, by tiles of registers
    packing         what rows and columns give to them
    alone           all phases in one, where there is one chunk
    finish          the last phase: totals, in the chunks' order
    order           ORDER: keys by a walk, then a sort
    order_text      the text of that
    firsts          where equal keys stand first: hash tables
"""
