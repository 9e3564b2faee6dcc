"""loops as text: show(module) and parse(text), inverse to each other. C-like, with the operators' own names.

    plan        plan name(int n, float[n] xs) { cells 2; elements e; alone p of e; phases, then results }
    phase       phase function(e, e) chunks e { buffer float ys[e]; buffer int zs[e] = 0; }       or `once`; or `;`
                phase function(e, e) grid (e, e, e) block (e, e, e);                 blocks, and threads of each
                ... { buffer int zs[e] copy xs; buffer int status[e] kept; buffer int ds[2 * e] kept pair; }
                library function(xs, ys) once;                        a function of the target's own
    result      result float x = cells[0];   result ys;   result ys[e];         e: how many elements of it
                result ys last cells[1];                                        where its last element stands, too
    function    KIND name(int n, float[] xs, writable int[] out) -> int, float { ... }       kind: host, cuda, device
    statements  float x = e;   var float s = e;   s = e;   xs[e] = e;   release xs[e] = e;   shared float tile[32];
                pair xs[e] = e, e;   i, x = pair float xs[e];
                for (i = e; i < e; i += e) { ... }   while (e) { ... }   if (e) { ... } else { ... }
                old = atomic add(xs[e], e);   atomic cas(xs[e], compare, e);   old = atomic add ordered(xs[e], e);
                x, y = call f(e, xs);
                pause;   prefetch xs[e];   barrier;   barrier warp;   note "what comes next";   return e, e;
    expressions 1  -2.5  inf  true  'a'  x  xs[e]  volatile xs[e]  relaxed xs[e]  acquire xs[e]
                shuffle down(x, e)  vote(b)  peers(x, 8)  e ? e : e
                sin(e)  or, xor | and | == /= < <= > >= | + - | * / rem mod       loosest first; all to the left

Names that are words of the form stand in backquotes.
"""
from __future__ import annotations

from nessie.base.source import Source
from nessie.base.text.places import Places
from nessie.base.text.tokens import Tokens
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Function
from nessie.cudagen.loops.parser import Parser
from nessie.cudagen.loops.plan import Plan
from nessie.cudagen.loops.plan_parser import plan
from nessie.cudagen.loops.printer import KEYWORDS, KINDS, document, show

__all__ = ["document", "parse", "show"]


def parse(text: str | Source, places: Places | None = None) -> Module:
    """The module that the text shows; NessieError where it is none."""
    parser = Parser(Tokens(text, KEYWORDS, places))
    functions: list[Function] = []
    plans: list[Plan] = []
    above = parser.comments("preface")
    while parser.tokens.at("plan", "about", *KINDS):
        if parser.tokens.at("plan"):
            plans.append(plan(parser))
        else:
            functions.append(parser.function())
    parser.tokens.finish()
    return Module(tuple(functions), tuple(plans), above)
