"""The command `nessie`.

    cli                 runs a command line: its command, errors, signals, the exit status
    table               the tables of commands and their options
    values              reads the values of options
    command_line        parses the words by the tables, and writes the help
    options             turns options into sessions, jobs and outputs
    formats             the formats in which commands write
    shell_completion    completes command lines in shells
    signals             handles signals

    commands/           what each command does
    prompt/             the interactive loop
    timing/             the commands that time programs or the computer: bench, tune, the page of profile, calibration
"""
