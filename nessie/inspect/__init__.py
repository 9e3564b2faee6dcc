"""The inspector: all stages of one program's compilation on one page (nessie inspect).

    collect     what the page shows, as data: the stages' texts with their marks, the schedules, their drawings
    page        the page: template, style and script, from files beside this one, and the data
"""
