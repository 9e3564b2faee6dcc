"""The LR automaton of NESL's grammar: a stack of states that steps through the tables of syntax.grammar.tables."""
from __future__ import annotations

from nessie.syntax.grammar.tables import ACTIONS, GOTOS, RULES


def needs_token(states: list[int]) -> bool:
    """Does the next step depend on the next token?"""
    return not isinstance(ACTIONS[states[-1]], int)


def step(states: list[int], kind: str) -> int | None:
    """Do one step before a token of this kind: take it (return the state after it) or apply a rule (return minus the
    rule's number). Return None if no such token can stand here."""
    actions = ACTIONS[states[-1]]
    action = actions if isinstance(actions, int) else actions.get(kind)
    if action is None:
        return None
    if action > 0:
        states.append(action)
        return action
    made, taken, _ = RULES[-action]
    del states[len(states) - taken:]
    states.append(GOTOS[states[-1]][made])
    return action


def shift(states: list[int], kind: str) -> bool:
    """Go on by one token; return whether the automaton takes it."""
    action = step(states, kind)
    while action is not None and action < 0:
        action = step(states, kind)
    return action is not None
