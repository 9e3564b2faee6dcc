"""NESL's text to syntax trees (the form syntax).

    nodes           the trees
    lexer           characters to tokens
    parser          tokens to trees, form by form; the pass's engine
    parse           pass: a whole program, with the files that it loads
    patterns        expressions that turn out to be patterns
    walk            the parts of a tree
    text            trees as NESL
    check           validator
    line_by_line    forms of a text that arrives line by line, for prompts
    examples        expressions with their values in comments, for nessie test

    grammar/        the rules, for PLY, and the automaton that is made of them
    errors/         what is said of a text that is no NESL
"""
