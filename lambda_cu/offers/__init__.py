"""Offers over a space (lambda_cu.nodes, Function): loops over rows, through whose rounds owners of rows may go.

    rows            what such an offer takes and gives
    rounds          the functions that are loops, and keep the lengths of their rows
"""
