"""The command `nessie`.

    command_line        words to options: the table of commands, their options, their help
    cli                 what each command does: run, eval, profile, explain and others
    compiling           commands that compile and do not run: check, compile, show, graph, inspect, passes
    options             options to sessions, jobs and outputs
    formats             in which format a command writes
    testing             nessie test: examples in comments
    expected            values that an example expects
    doctor              nessie doctor: what is installed, and what is missing
    calibrate           nessie calibrate: measures this computer for the scheduler
    shell_completion    command lines completed in shells
    signals             what signals do

    prompt/             the interactive loop
"""
