"""The grammar of NESL and the automaton that reads by it. PLY makes the automaton from the grammar ahead of time.

    rules           the grammar: each function's docstring is its rule
    build_tables    makes tables from rules (python -m nessie.syntax.grammar.build_tables)
    tables          the automaton's tables; generated, not to be edited
    signature       detects tables that are older than the rules
    automaton       one step of the automaton
"""
