"""Types that tell how long sequences are: [float; n], [i < n => [float; i + 1]], [uniform [float]].

    formulas    lengths as formulas: what they may be, as code, as numbers
    layouts     how arguments of such types lie in memory
    told        names that stand for numbers, and the lengths that formulas then are
    sums        how many elements rows have together, by closed sums
    vectors     vectors in the place of rows are cut
    values      checks that values have the lengths, and gives them the form
"""
