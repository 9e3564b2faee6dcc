"""The rules by which two nodes share one walk. Each is a function that says whether it holds for two nodes.

In an inference rule the two nodes stand above the line, and below it what the kernel does at element i, at segment s,
or at its end. Beside the line stand the conditions, which schedule.legality.fusible has checked. A fused kernel is a
list of bindings that one walk computes element by element, so most rules change no code; where one binding can go into
another, schedule.rewrite.rules rewrite them. Rules hold for nodes with several results; results that others need are
stored as well.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

from nessie.schedule.graph.nodes import FILTERS, MEMBER, ONCE, OWN, SEG, Index, Node

Holds = Callable[[Node, Node, Collection[str]], bool]


def horizontal(first: Node, second: Node, modes: Collection[str]) -> bool:
    """HORIZONTAL: two nodes of one walk do not read each other.

        A = X {i => e1} n        B = Y {i => e2} m
        ------------------------------------------ m is n; or the segments of n, and Y is a MAP, REDUCE or PERMUTE;
        A[i] := e1; B[i] := e2                     or survivors of a filter that is here, and so on for n
    """
    return not modes


def map_into(first: Node, second: Node, modes: Collection[str]) -> bool:
    """MAP-X: a MAP is computed where it is read.

        A = MAP {i => e1} n        B = X {i => e2} n
        -------------------------------------------- A read as A[i] only
        let a = e1 in e2[A[i] -> a]
    """
    return first.op == "MAP" and OWN in modes and MEMBER not in modes


def scan_into(first: Node, second: Node, modes: Collection[str]) -> bool:
    """SCAN-X: a value that exists after the look-back is read there. So are the places that a PARTITION gives.

        A = SCAN {i => e1} v (+) n        B = X {i => e2} n
        --------------------------------------------------- A read as A[i] only; X in MAP, REDUCE, PERMUTE;
        a := a (+) e1; e2[A[i] -> a]                        X does not look back itself
    """
    return first.op in ("SCAN", "SEG_SCAN", "PARTITION") and OWN in modes and MEMBER not in modes


def filter_into(first: Node, second: Node, modes: Collection[str]) -> bool:
    """FILTER-X: survivors are used where they are found. A PARTITION has survivors on both sides.

        (k, A) = FILTER {i => e1} {i => p} n        B = X {j => e2} k
        ------------------------------------------------------------- A read as A[j] only; if e2 uses j otherwise, X
        if p then let a = e1 in e2[A[j] -> a]                         in MAP, REDUCE, PERMUTE; no use of a position
                                                                      in a segment
    X is any SOAC: an element that does not survive counts as the identity for REDUCE and SCAN, is dropped by FILTER,
    and not stored by PERMUTE. Survivors of segments are segments again: SEG_FILTER with SEG_REDUCE, SEG_SCAN,
    SEG_FILTER.
    """
    return first.op in FILTERS and MEMBER in modes and second.op != ONCE


def prologue(first: Node, second: Node, modes: Collection[str]) -> bool:
    """SEG-PROLOGUE: a segment's value is computed at its first element.

        A = MAP {s => e1} (segments of d)        B = SEG_X {(s, j, i) => e2} d
        ---------------------------------------------------------------------- A read as A[s] only
        at the start of s: a := e1; at i: e2[A[s] -> a]
    """
    return first.op == "MAP" and SEG in modes


def epilogue(first: Node, second: Node, modes: Collection[str]) -> bool:
    """SEG-EPILOGUE: a consumer of a segment's reduction is computed at the segment's end.

        A = SEG_REDUCE {(s, j, i) => e1} v (+) d        B = X {s => e2} (segments of d)
        ------------------------------------------------------------------------------- A read as A[s] only; X in MAP,
        at the end of s: e2[A[s] -> a]                                                  REDUCE, PERMUTE
    """
    return first.op == "SEG_REDUCE" and OWN in modes


def at_the_end(first: Node, second: Node, modes: Collection[str]) -> bool:
    """X-ONCE: the last tile computes scalars from the kernel's scalars.

        a = REDUCE {i => e1} v (+) n        b = ONCE {() => e2}
        ------------------------------------------------------- e2 reads no array of the kernel
        at the end: e2
    """
    return second.op == ONCE and bool(modes)


def owner(first: Node, second: Node, modes: Collection[str]) -> bool:
    """OWNER: who holds a segment goes through it again, and has the first node's values of it then.

        A = SEG_REDUCE {(s, j, i) => e1} v (+) d        B = SEG_X {(s, j, i) => e2} d
        ----------------------------------------------------------------------------- A read as A[s], or B in the own
        for i in s: e1; a := the sum; for i in s: e2[A[s] -> a]                       row; one owner holds each s
    """
    return bool(first.by or second.by)


RULES: tuple[tuple[str, Holds], ...] = (
    ("HORIZONTAL", horizontal),
    ("ONCE", at_the_end),
    ("FILTER", filter_into),
    ("SEG-PROLOGUE", prologue),
    ("SEG-EPILOGUE", epilogue),
    ("SCAN", scan_into),
    ("MAP-X", map_into),
    ("OWNER", owner),
)


def rule(index: Index, u: int, v: int) -> str:
    """The rule by which an allowed pair, u before v, shares a kernel. Rules of filters, scans and ONCE are named after
    both operations: FILTER-REDUCE, SCAN-MAP."""
    first, second = index.nodes[u], index.nodes[v]
    modes = {use.mode for use in second.uses if index.maker.get(use.name) == u}
    found = next(name for name, holds in RULES if holds(first, second, modes))
    return f"{first.op}-{second.op}" if found in ("ONCE", "FILTER", "SCAN") else found
