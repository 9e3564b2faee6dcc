"""The interactive loop.

    repl            reads a form, evaluates it, prints what it gives
    prompt          lines edited together, by prompt_toolkit
    commands        lines that begin with a colon, such as `:type sum`
    completion      what may be meant by what has been typed
    highlighting    colours, by Pygments
    history         what has been typed, kept from session to session
    screen          long results, a screen at a time
    progress        what is being done, where work takes longer than a second
"""
