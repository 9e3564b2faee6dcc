"""The command `nessie`.

    command_line        parses the words: the table of commands, their options, their help
    cli                 the commands: run, eval, profile, explain and others
    compiling           commands that compile and do not run: check, compile, show, graph, inspect, passes
    options             turns options into sessions, jobs and outputs
    formats             the formats in which commands write
    testing             nessie test: examples in comments
    formatting          nessie fmt: lays out programs
    language_server     nessie lsp: serves an editor
    expected            reads and compares the values that an example expects
    plotting            nessie plot and :plot: the value of an expression as a picture
    doctor              nessie doctor: what is installed, and what is missing
    serve               nessie serve: the live page, until Ctrl-C
    cache               nessie cache: the compiled code that is kept
    shell_completion    completes command lines in shells
    signals             handles signals

    prompt/             the interactive loop
    timing/             the commands that time programs or the computer: bench, tune, the page of profile, calibration
"""
