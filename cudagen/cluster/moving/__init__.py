"""Elements that go to other workers: what is written to places that data say, sorted, or found by keys; and those that
come to the driver.

    exchange  buckets of all givers to all receivers, by levels
    writes    kernels that write to places, without these writes, and those by themselves
    shuffle   writes in parts: elements go to who has their places
    sorting   ORDER in parts: a sample sort, and what stands first by its key
    asking    kernels that read places which data say, as code that asks for these, and code that is told
    answers   how tasks ask, and who answers
    fetching  those that come to the driver
    tasks     what workers do for these
"""
