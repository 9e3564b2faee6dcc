"""The interactive loop.

    repl            reads a form, evaluates it, prints its outcome
    prompt          edits the lines of a form together, by prompt_toolkit
    commands        lines that begin with a colon, such as `:type sum`
    open_form       tells what an open form needs
    completion      completes the typed text
    highlighting    colours NESL, by Pygments
    history         keeps the typed text from session to session
    screen          shows long results a screen at a time
"""
