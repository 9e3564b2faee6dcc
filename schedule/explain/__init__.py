"""Explains why a schedule is as it is.

    explain         makes explanations, as data; begins here
    text            explanations for people
    notes           what there is to tell beside the schedule, as data
    notes_text      notes for people
    choices         versions that a run chooses from, with thresholds
    layout          tables, places and excerpts in texts
    json            explanations for programs
    code            the kernels' names in the code
"""
