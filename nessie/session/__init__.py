"""Sessions. A session evaluates top-level forms one after another; each form sees the definitions before it.

    session         evaluates forms: interprets none, compiles each for the session's target
    outcome         the outcome of a form
    calling         makes a call of a function a program of its own
    variables       converts a session's variables for the interpreter
    with_values     adds the failing values to the error of a failed check
    library_calls   tells a check that fails in a function of the library as a mistake in its call
    commands        commands of the top level: describe, show, set and others
    checking        checks a text form by form, and evaluates nothing
    columns         names for the columns of a function's result
    describe        describes a name
    counters        counts what a GPU's kernels do to memory, and shows it
    profile         measures the work and depth of a form, and the cost of its run
    profile_text    shows profiles as text and as JSON
    progress        shows a progress line when work takes longer than a second
    streams         standard output and error
"""
