"""Reads NESL's text into syntax trees (the form syntax).

    nodes           the trees
    lexer           turns characters into tokens
    parser          turns tokens into trees, form by form; the pass's engine
    parse           pass: parses a whole program, with the files that it loads
    patterns        converts expressions that turn out to be patterns
    types           the sequences in a written type, and their lengths
    walk            the parts of a tree
    scopes          where variables are bound and seen
    layouts         how each construct of NESL is laid out
    text            writes trees as NESL
    concrete        trees of all tokens of a text, with its comments
    format          lays out a program's text, comments and all
    check           validator
    line_by_line    reads forms from a text that arrives line by line, for prompts
    examples        finds expressions with their values in comments, for nessie test

    grammar/        the rules, for PLY, and the automaton made from them
    errors/         the errors and hints for a text that is not NESL
"""
