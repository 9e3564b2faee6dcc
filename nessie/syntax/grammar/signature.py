"""The grammar's signature, by which tables of an older grammar are detected."""
from __future__ import annotations

import zlib

from nessie.syntax.grammar import rules as grammar


def signature() -> str:
    """Return a checksum of the grammar's tokens, precedences and rules, in order."""
    rules = [(name, (rule.__doc__ or "").split()) for name, rule in vars(grammar).items() if name.startswith("p_")]
    return f"{zlib.crc32(repr((grammar.tokens, grammar.precedence, rules)).encode()):08x}"
