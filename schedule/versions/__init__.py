"""Versions of what a region computes: where the best one depends on sizes, a run chooses.

    few_gathers     pass: what few gather is computed for them alone
    owner_versions  pass: owners hold segments, where these are many and short
    choice          a choice between versions, made of a region's statements
"""
