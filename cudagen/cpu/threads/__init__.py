"""The threads that run the chunks of a phase.

    pool         a pool of them: Python's threads, and a team
    team         threads outside Python, for chunks that end soon
    team_text    what they run, as LLVM's text
"""
