"""Why a schedule is as it is.

    explain         begins here: data
    text            for people
    json            for programs
    code            the kernels' names in the code
"""
