"""The commands that time programs.

    cases       the calls that are timed: examples, named inputs, or one call
    bench       nessie bench: times of calls, with intervals of confidence, compared with others
    page        nessie profile --html: the inspector's page, with what running took
"""
