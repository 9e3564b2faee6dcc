"""Sessions: top-level forms evaluated one after another, each seeing what those before it defined.

    session         evaluates forms: interprets none, compiles each for the session's target
    outcome         what a form gives
    calling         a call of a function as a program of its own
    variables       a session's variables as the interpreter has them
    with_values     a failed check, told with the values that made it fail
    commands        commands of the top level: describe, show, set and others
    describe        what there is to know about a name
    profile         the work and depth of a form, and what its run cost
    profile_text    profiles as people and programs read them
    streams         standard output and error
"""
