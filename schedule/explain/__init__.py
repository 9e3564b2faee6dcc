"""Explains why a schedule is as it is.

    explain         makes explanations, as data; begins here
    text            explanations for people
    json            explanations for programs
    code            the kernels' names in the code
"""
