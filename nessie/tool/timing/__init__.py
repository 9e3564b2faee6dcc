"""The commands that time programs, or the computer.

    cases       the calls that are timed: examples, named inputs, or one call
    bench       nessie bench: times of calls, with intervals of confidence, compared with others
    tune        nessie tune: measures the versions of a function
    calibrate   nessie doctor --calibrate: measures this computer for the scheduler
    page        nessie profile --html: the inspector's page, with what running took
"""
