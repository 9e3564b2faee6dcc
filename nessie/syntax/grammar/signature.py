"""The signature of the grammar, by which tables of an older one are noticed."""
from __future__ import annotations

import zlib

from nessie.syntax.grammar import rules as grammar


def signature() -> str:
    """A digest of its tokens, precedences and rules, in order."""
    rules = [(name, (rule.__doc__ or "").split()) for name, rule in vars(grammar).items() if name.startswith("p_")]
    return f"{zlib.crc32(repr((grammar.tokens, grammar.precedence, rules)).encode()):08x}"
