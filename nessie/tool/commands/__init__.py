"""What each command does, as a function from the parsed options to the exit status. The rows of nessie.tool.table name
these functions; a module is imported when its command runs.

    run                 run: a program, or a call
    streaming           run --stream: a function on some rows after the others
    evaluate            eval: an expression; with --jsonl programs, line by line
    entry               what commands share that call a function: definitions, the call on ARGs, the exit status
    compiling           commands that compile and do not run: check, compile, show, map, passes
    views               graph, explain, inspect: a function in one of the ways of nessie.inspect.views
    profile             profile: what running costs
    testing             test: the examples in comments
    expected            the values that an example expects: reads and compares them
    formatting          fmt: lays out programs
    plot                plot, and :plot at the prompt: the value of an expression as a picture
    language_server     lsp: serves an editor
    serve               serve: the live page, until Ctrl-C
    cache               cache: the compiled code that is kept
    doctor              doctor: what is installed, and what is missing
"""
