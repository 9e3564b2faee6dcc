"""Calls of every library function, with random arguments: what the lifting law is tested on.

    FUNCTIONS               the names of functions that programs can call, but for those that have effects or draw
    calls(name)             the function at several types, each a Call

A function is called at each of the types that its class allows (for `any`: a scalar, a sequence, a pair, a string, a
datatype, ...). Where most random arguments would make it fail, ADAPTED has an expression of x that calls it properly,
and ARGUMENT the type of x, where that is not the function's own. A function that is added to the library is covered
by being there.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from nessie.base.source import Source
from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Data, Fun, Pair, Seq, Type, free_variables, show_type, substitute
from nessie.library.library import library, prebuilt
from nessie.library.primitives import PRIMITIVES
from nessie.syntax.parse import parse
from nessie.typing import nodes as typed
from nessie.typing.infer import infer
from nessie.typing.walk import expressions

POINT = Data("point", ())
CHOICES: dict[str, tuple[Type, ...]] = {
    "number": (INT, FLOAT), "logical": (BOOL, INT), "ordinal": (INT, CHAR, FLOAT),
    "any": (INT, Seq(INT), Pair(INT, BOOL), Seq(CHAR), POINT, Seq(Pair(FLOAT, Seq(BOOL))), Seq(POINT))}
ELEMENTS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-2, 5), FLOAT: st.integers(-3, 8).map(lambda n: n / 2), BOOL: st.booleans(),
    CHAR: st.sampled_from("aB .1\n"), POINT: st.tuples(st.integers(0, 2), st.booleans())}

ADAPTED = {
    "take": "let (v,n) = x in take(v, rem(n, #v + 1))", "drop": "let (v,n) = x in drop(v, rem(n, #v + 1))",
    "subseq": "let (v,i,j) = x; s = mod(i, #v + 1) in subseq(v, s, s + mod(j, #v - s + 1))",
    "elt": "let (v,i) = x in elt(v, mod(i,#v))", "elt_nocheck": "let (v,i) = x in elt_nocheck(v, mod(i,#v))",
    "get": "let (v,i) = x in get(v, {mod(j,#v) : j in i})", "read": "let (v,i) = x in read(v, {mod(j,#v) : j in i})",
    "get_nocheck": "let (v,i) = x in get_nocheck(v, {mod(j,#v) : j in i})",
    "write": "let (v,ps) = x in write(v, {(mod(j,#v),y) : (j,y) in ps})",
    **{f"write_{name}": f"let (v,ps) = x in write_{name}(v, {{(mod(j,#v),y) : (j,y) in ps}})"
       for name in ("add", "max", "min")},
    "buckets": "let (n,kvs) = x; m = abs(n) + 1 in buckets(m, {(mod(k,m),y) : (k,y) in kvs})",
    "k_smallest": "let (v,k) = x in k_smallest(v, mod(k, #v + 1))",
    "eput": "let (v,ps) = x in eput(v, {(mod(j,#v),y) : (j,y) in ps})",
    "group_by": "let (v,n) = x in group_by(v, abs(n) + 1)", "hash": "let (y,n) = x in hash(y, abs(n) + 1)",
    "log": "let (y,b) = x in log(abs(y), abs(b) + 1.5)", "expt": "let (y,p) = x in expt(abs(y), p)",
    "kth_smallest": "let (v,k) = x in kth_smallest(v, mod(k,#v))",
    "iseq": "let (s,d,e) = x in iseq(min(s,e), max(d,1), max(s,e))",
    "rep": "let (v,y,i) = x in rep(v ++ [y], y, mod(i, #v + 1))",
    "put": "let (v,i,d) = x; n = min(#v,#i) in put(take(v,n), {mod(j,#d) : j in take(i,n)}, d)",
    "cond_put": "let (v,i,k,d) = x; n = min(#v, min(#i,#k)) in "
                "cond_put(take(v,n), {mod(j,#d) : j in take(i,n)}, take(k,n), d)",
    "permute": "let (v,r) = x; n = min(#v,#r) in permute(take(v,n), rank(take(r,n)))",
    "permute_nocheck": "let (v,r) = x; n = min(#v,#r) in permute_nocheck(take(v,n), rank(take(r,n)))",
    "zip": "let (a,b) = x; n = min(#a,#b) in zip(take(a,n), take(b,n))",
    "zip3": "let (a,b,c) = x; n = min(#a, min(#b,#c)) in zip3(take(a,n), take(b,n), take(c,n))",
    "interleave": "let (a,b) = x; n = min(#a,#b) in interleave(take(a,n), take(b,n))",
    "partition": "let (v,ls) = x; n = mod(sum(ls), #v + 1) in partition(v, [n, 0, #v - n])",
    "nest": "let (v,ls) = x; n = mod(sum(ls), #v + 1) in nest(v, make_segdes([n, 0, #v - n]))",
    "split": "let (v,k) = x; n = min(#v,#k) in split(take(v,n), take(k,n))",
    "flag_partition": "let (v,k) = x; n = min(#v,#k) in flag_partition(take(v,n), take(k,n))",
    "group_by_separator_flags":
        "let (v,k) = x; n = min(#v,#k) in group_by_separator_flags(take(v,n), take(k,n))",
    "unpack": "let (v,k) = x in unpack(v, {b and i < #v : b in k; i in [0:#k]})",
    "flag_merge": "let (k,a,b) = x in flag_merge("
                  "{y : y in k; j in enumerate(k); i in [0:#k] | if y then j < #b else i - j < #a}, a, b)",
    "join": "let (a,p,b,q) = x; o = rank({0 : y in a ++ b}) in join(a, take(o,#a), b, drop(o,#a))",
    "transpose": "let n = #x in transpose({take(r, min_val({#s : s in x})) : r in x})",
    "slice": "let (v,i,j) = x; s = mod(i, #v + 1) in slice(v, s, s + mod(j, #v - s + 1))",
    "blocks": "let (v,k) = x; m = mod(k,3) + 1 in blocks(take(v, #v / m * m), m)",
    "blocks2": "let (m,k) = x; b = mod(k,2) + 1 in "
               "blocks2({take(r, min_val({#s : s in m}) / b * b) : r in take(m, #m / b * b)}, b)",
    "slide": "let (v,a,b) = x in slide(v, mod(a,3) + 1, mod(b,3) + 1)",
    "slide2": "let (m,a,b) = x in slide2({take(r, min_val({#s : s in m})) : r in m}, mod(a,3) + 1, mod(b,2) + 1)",
    "pad": "let (v,a,b) = x; k = min(#v,1) in pad(v, k * mod(a,3), k * mod(b,3), mirror)",
    "pad2": "let (m,a,b) = x; k = if #m > 0 and all({#r > 0 : r in m}) then 1 else 0 in "
            "pad2(m, k * mod(a,3), k * mod(b,3), wrap)",
    "next_char": "let (cs,w,s,i) = x; j = mod(i, #w + 1); m = max(#s - #w, 0) + 1 in "
                 "next_char({mod(c,m) : c in cs | #w <= #s}, w, s, j)",
    "pad_with": "let (v,l,r,y) = x in pad_with(v, mod(l,3), mod(r,3), y)",
    "pad_with2": "let (m,l,r,y) = x in pad_with2({take(q, min_val({#s : s in m})) : q in m}, mod(l,3), mod(r,3), y)",
    "wrap": "let (i,n) = x in wrap(i, abs(n) + 1)", "mirror": "let (i,n) = x in mirror(i, abs(n) + 1)",
    "map": "map(y => (y,y), x)", "sort_by": "sort_by(y => (y,y), x)", "scan": "scan((a,b) => a ++ b, [] int, x)",
    "reduce": "(reduce((a,b) => a ++ b, [] int, x), reduce(max, -9, {#v : v in x}))",
    "inclusive_scan": "let (v,w) = x in (inclusive_scan((a,b) => a + b, 0.0, v), "
                      "inclusive_scan((a,b) => a ++ b, [] int, w))",
    "max_by": "let (y,v) = x in max_by(((a,b)) => a - b, [y] ++ v)",
    "min_by": "let (y,v) = x in min_by(((a,b)) => a - b, [y] ++ v)",
    "make_table": "let (kv,n) = x in table_entries(make_table(kv,n))",
    "create_table": "table_entries(create_table(x))", "fast_create_table": "table_entries(fast_create_table(x))",
    "insert_table": "let (new,old) = x in table_entries(insert_table(new, create_table(old)))",
    "search_table": "let (keys,kvs) = x in search_table(keys, create_table(kvs))",
    "table_entries": "table_entries(create_table(x))", "hashtable": "let hashtable(y) = hashtable(x) in y",
}
ARGUMENT = {
    "map": "[a] -> int :: (a in any)", "sort_by": "[a] -> int :: (a in any)", "scan": "[[int]] -> int",
    "reduce": "[[int]] -> int", "inclusive_scan": "([float], [[int]]) -> int",
    "max_by": "((int, int), [(int, int)]) -> int", "min_by": "((int, int), [(int, int)]) -> int",
    "pad": "([a], int, int) -> int :: (a in any)", "pad2": "([[a]], int, int) -> int :: (a in any)",
    "insert_table": "([(a, b)], [(a, b)]) -> int :: (a in any; b in any)",
    "search_table": "([a], [(a, b)]) -> int :: (a in any; b in any)",
    "table_entries": "[(a, b)] -> int :: (a in any; b in any)",
}


@dataclass(frozen=True)
class Call:
    """An expression of x, what it gives, and the values that x may have. Types are NESL text."""
    type: str
    text: str
    result: str
    values: st.SearchStrategy[Any]


def has_effects(name: str, seen: set[str]) -> bool:
    """Does the function print, read, draw numbers or stop the program, itself or in what it calls?"""
    if name in seen:
        return False
    seen.add(name)
    if row := PRIMITIVES.get(name):
        return row.kind == "effect" or name == "rand"
    function = prebuilt().function(name)
    return function is not None and function.body is not None and any(
        isinstance(e, typed.Global) and has_effects(e.name, seen) for e in expressions(function.body))


def library_functions() -> list[str]:
    return [name for name in library().names()
            if isinstance(library().builtin(name).scheme.type, Fun) and not has_effects(name, set())
            and (name in ADAPTED or not has_data(library().builtin(name).scheme.type))]


def has_data(type_: Type) -> bool:
    """Is a datatype of the library in the type? Those of drawing have no random values; tests/pictures uses them."""
    match type_:
        case Seq(element):
            return has_data(element)
        case Pair(first, second) | Fun(first, second):
            return has_data(first) or has_data(second)
    return isinstance(type_, Data)


FUNCTIONS = library_functions()


def called(name: str) -> str:
    """The function on x, a pair for an operator."""
    if name in ADAPTED:
        return ADAPTED[name]
    return f"let (a,b) = x in a {name} b" if name in ("and", "or", "xor") or not name[0].isalpha() else f"{name}(x)"


def argument_type(name: str) -> Type:
    scheme = primitive_scheme(name, ARGUMENT[name]) if name in ARGUMENT else library().global_scheme(name)
    assert scheme is not None and isinstance(scheme.type, Fun)
    return scheme.type.argument


def calls(name: str) -> list[Call]:
    """The function at several types: at each that its first type variable may be, the others taking those after it."""
    argument = argument_type(name)
    variables = list(dict.fromkeys(free_variables(argument)))
    count = max([len(CHOICES[v.cls]) for v in variables], default=1)
    found = []
    for i in range(count):
        types = {v.name: CHOICES[v.cls][(i + j) % len(CHOICES[v.cls])] for j, v in enumerate(variables)}
        found.append(call(name, substitute(argument, types)))
    return found


def call(name: str, type_: Type) -> Call:
    """Datatypes come and go as what they hold: a test can write that down."""
    given = f"let x = {made(type_, 'x')} in {called(name)}"
    source = f"{DEFINITIONS}function g(x) = let x = typed(x) in {given};"
    outside = show_type(without_points(type_), False)
    _, environment = infer(parse(Source("calls.nesl", source.replace("TYPE", outside))), library())
    function = environment.program.function("g")
    assert function is not None
    text = f"(let y = {given} in {shown(function.result, 'y')})"
    return Call(outside, text, show_type(without_points(function.result), False), values(type_, ELEMENTS))


DEFINITIONS = "datatype point(int,bool);\nfunction typed(x) : TYPE -> TYPE = x;\n"


def without_points(type_: Type) -> Type:
    match type_:
        case Seq(element):
            return Seq(without_points(element))
        case Pair(first, second):
            return Pair(without_points(first), without_points(second))
    return Pair(INT, BOOL) if type_ == POINT else type_


def made(type_: Type, x: str) -> str:
    """The value x of without_points(type_) as one of type_."""
    return converted(type_, x, lambda y: f"point({y})")


def shown(type_: Type, x: str) -> str:
    return converted(type_, x, lambda y: f"(let point(z) = {y} in z)")


def converted(type_: Type, x: str, point: Callable[[str], str]) -> str:
    """x, with the function at every point in it."""
    if without_points(type_) == type_:
        return x
    match type_:
        case Seq(element):
            return f"{{{converted(element, x + 'e', point)} : {x}e in {x}}}"
        case Pair(first, second):
            both = f"{converted(first, x + 'l', point)}, {converted(second, x + 'r', point)}"
            return f"(let ({x}l,{x}r) = {x} in ({both}))"
    return point(x)


def values(type_: Type, elements: Mapping[Type, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Values of the type, made of these elements."""
    match type_:
        case Seq(element):
            return st.lists(values(element, elements), max_size=4)
        case Pair(first, second):
            return st.tuples(values(first, elements), values(second, elements))
    return elements[type_]
