"""The validator: a well-formed program passes; each invariant, broken alone, is named."""
from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from amounts import examples
from hypothesis import HealthCheck, given, settings
from lambda_cu_programs import programs

from nessie.base.source import IllFormed, NessieError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.text.parser import parse

GOOD = """\
site s1 "negative"
site s2 "no such element"

scalar half (x : float) -> float { let y = x / 2.0 in y }
scalar last (k : int, vs : &[float], ws : &[float]) -> float { if k > 0 then vs[k] else last(k + 1, &vs, &ws) }

kernel K1 (n : int, xs : [float; n], limit : float) {
  let ys = MAP { i => let v = xs[i] in half(v) using xs } (n)
  let (k, zs) = FILTER { i => ys[i] using ys } { i => last(i, &xs, &xs) > limit using xs, limit } (n)
  let (_, _, left, _, side) = PARTITION { i => i } { i => ys[i] > limit using ys, limit } (n)
  return (k, zs, side)
}

kernel K2 (n : int, xs : [float; n]) {
  let z = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  return z
}

function main (n : int, xs : [float; n]) -> (m : int, rs : [float; m]) {
  let ten : [int; 2] = data [10, 20]
  let two : int = 2
  let named : [int; two+1] = data [0, 1, 2]
  let limit : float = if n > 0 then xs[0] else fail s1 : float
  let (k : int, zs : [float; k], _ : [int; n]) = run K1 (n, xs, limit)
  let some : bool = k > 2
  let (m1 : int, rs1 : [float; m1]) = if some {
    let (k2 : int, again : [float; k2]) = call main (k, zs)
    return (k2, again)
  } else {
    let sum : float = run K2 (k, zs)
    let (told : bool, l : int, text : [char; l]) = perform tell (sum, k, zs) : (float, [float]) -> (bool, [char])
    return (k, zs)
  }
  return (m1, rs1)
}

entry main : [float] -> [float]
""".replace("let (_, _, left, _, side)", "let (nt, _, left, _, side)")


def broken(old: str, new: str) -> ir.Program:
    assert GOOD.count(old) >= 1
    return parse(GOOD.replace(old, new, 1))


def test_a_well_formed_program_passes() -> None:
    check(parse(GOOD))


@pytest.mark.parametrize("old, new, message", [
    # Names
    ("kernel K2", "kernel K1", "kernel: K1 is bound twice"),
    ("site s2", "site s1", "site: s1 is bound twice"),
    ("let (k, zs) = FILTER", "let (k, ys) = FILTER", "ys is bound twice"),
    ("let sum : float", "let limit : float", "limit is bound twice"),
    ("(n : int, xs : [float; n], limit : float) {", "(n : int, xs : [float; n], n : float) {", "n is bound twice"),
    ("let v = xs[i] in half(v)", "let ys = xs[i] in half(ys)", "let binds ys, which is bound already"),
    ("let v = xs[i] in half(v)", "let i = xs[i] in half(i)", "let binds i, which is bound already"),
    ("let y = x / 2.0 in y", "let x = x / 2.0 in x", "let binds x, which is bound already"),
    ("xs[0] else", "let a = xs[0] in let a = a + 1.0 in a else", "let binds a, which is bound already"),
    ("xs[0] else", "let (a, a) = (xs[0], 1.0) in a else", "a is bound twice"),
    ("xs[0] else", "let m1 = xs[0] in m1 else", "let binds m1, which is bound already"),
    ("let two : int = 2", "let two : int = let _ = 1 in _", "_ is read"),
    ("-> (m : int, rs : [float; m])", "-> (m : int, m : int)", "m is bound twice"),
    ("{ i => i }", "{ k => k }", "the parameter k is a name of the kernel too"),
    ("{ (x, y) => x + y }", "{ (x, x) => x + x }", "x is bound twice"),
    ("return (k, zs, side)", "return (k, zs, sides)", "sides is returned, but not bound"),
    ("return (k, zs, side)", "return (k, zs, _)", "_ is returned"),
    ("  let z = REDUCE", "  let (_, bs) = REDUCE_BY_INDEX { i => (i, i) } { i => 0 } (0, 0)"
     " { (a, b, c, d) => (a + c, max(b, d)) } (n) into 2 (0, 0)\n  let z = REDUCE",
     "kernel K2: let _, bs: REDUCE_BY_INDEX names all its results, or none"),
    ("run K2 (k, zs)", "run K9 (k, zs)", "no kernel K9"),
    ("call main", "call other", "no function other"),
    ("half(v)", "third(v)", "third is no scalar function"),
    ("last(i, &xs, &xs)", "last(i, &xs)", "last reads arrays of .float, float., but gets such of float"),
    ("last(i, &xs, &xs)", "last(i, &xs, &limit)", "limit is a scalar"),
    ("last(i, &xs, &xs)", "last(i, &xs, &_)", "_ is read"),
    ("vs : &[float]", "vs : &[int]", "branches of an if have the types int and float"),
    ("vs : &[float], ws", "vs : &[float], vs", "vs is bound twice"),
    ("last(k + 1, &vs, &ws)", "last(k + 1, &ws, &vs)", "last goes round with other arrays than its own"),
    ("fail s1", "fail s9", "no site s9"),
    ("entry main", "entry other", "no function other"),
    ("run K2 (k, zs)", "run K2 (k, again)", "again is not in scope"),
    ("return (k2, again)", "return (k2, _)", "_ is read"),
    ("k > 2", "_ > 2", "_ is read"),
    # Sizes
    ("kernel K2 (n : int, xs : [float; n])", "kernel K2 (n : int, xs : [float; m])", "m is not in scope"),
    ("kernel K2 (n : int, xs : [float; n])", "kernel K2 (n : float, xs : [float; n])", "size n is not an int"),
    ("let (k, zs) = FILTER", "let (_, zs) = FILTER", "zs is as long as a count says that has no name, but _"),
    ("return (k, zs, side)", "return (zs, k, side)", r"not its size k before it"),
    # Using
    ("half(v) using xs", "half(v)", "a thunk reads xs, which its using does not list"),
    ("half(v) using xs", "half(v) using xs, limit", "using lists limit, which the thunk does not read"),
    ("half(v) using xs", "half(v) using xs, zs", "using lists zs, which is not in scope"),
    ("half(v) using xs", "half(v) using xs, xs", "using lists a name twice"),
    # Types
    ("ys[i] > limit", "ys[i]", "predicate does not give a bool|using lists limit"),
    ("xs[i] using xs } (0.0)", "(xs[i],) using xs } (0.0)", "a tuple has one item"),
    ("-> float { let y", "-> int { let y", "the body gives float, but the results are int"),
    ("let z = REDUCE", "let (z, z2) = REDUCE", "2 names are bound to 1 results"),
    ("let limit : float =", "let limit : int =", "limit : int is bound to a value of float"),
    ("data [10, 20]", "data [10, 20, 30]", "has 3 elements"),
    ("data [0, 1, 2]", "data [0, 1]", "has 2 elements"),
    ("[int; two+1] = data [0, 1, 2]", "[int; n] = data [0, 1, 2]", "has 3 elements"),
    ("data [10, 20]", "data [10, 2.0]", "2.0 is no constant of the type int"),
    ("= if some", "= if k", "condition of a branch is not a bool"),
    # Runs, calls, blocks
    ("run K2 (k, zs)", "run K2 (k)", "gets 1 values, but 2 are needed"),
    ("run K2 (k, zs)", "run K2 (n, zs)", r"gets \[float; k\] for xs, but \[float; n\] is needed"),
    ("run K2 (k, zs)", "run K2 ('c', zs)", "gets char for n, but int is needed"),
    ("let sum : float", "let sum : int", "gives float, but sum is int"),
    ("let sum : float", "let (sum : float, more : float)", "gives 1 results, but 2 names are bound"),
    ("tell (sum, k, zs)", "tell (k, zs)", "perform tell gets 2 values, but 3 are needed"),
    ("tell (sum, k, zs)", "tell (sum, n, zs)", r"gets \[float; k\] for [a-z0-9_]+, but \[float; n\] is needed"),
    ("(told : bool, l : int", "(told : int, l : int", "perform tell gives bool, but told is int"),
    ("text : [char; l]", "text : [char; k]", r"gives \[char; l\], but text is \[char; k\]"),
    ("again : [float; k2]", "again : [float; k]", r"gives \[float; k2\], but again is \[float; k\]"),
    ("call main (k, zs)", "call main (k, xs)", r"gets \[float; n\] for xs"),
    ("return (k2, again)", "return (k, again)", r"the block gives \[float; k2\] for rs1, but \[float; k\] is needed"),
    ("return (m1, rs1)", "return m1", "the block gives 1 values, but 2 are needed"),
    ("-> (m : int, rs : [float; m])", "-> (rs : [float; m], m : int)", "m is not in scope"),
    ("entry main : [float] -> [float]", "entry main : [float] -> [int]", "has rs : "),
    ("entry main : [float] -> [float]", "entry main : [float] -> float", "have 1 results, the function 2"),
])
def test_a_broken_invariant_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        check(broken(old, new))


@pytest.mark.parametrize("old, new, message", [
    ("vs : [int; m])", "vs : [int; n])", r"parameters like \[int; m\] where the function has vs : \[int; n\]"),
    ("vs : [int; m])", "vs : [int; 3])", r"parameters like \[int; m\] where the function has vs : \[int; 3\]"),
    ("bs : [int; b]) {\n  return (n, xs, k, ys)", "bs : [int; a]) {\n  return (n, xs, k, xs)",
     r"results like \[int; b\] where the function has bs : \[int; a\]"),
])
def test_an_array_of_the_entry_has_its_own_size(old: str, new: str, message: str) -> None:
    text = """\
function main (n : int, xs : [int; n], k : int, ys : [int; k], zs : [int; k], m : int, vs : [int; m])
    -> (a : int, as : [int; a], b : int, bs : [int; b]) {
  return (n, xs, k, ys)
}
entry main : [int], [(int, int)], [int] -> ([int], [int])
"""
    check(parse(text))
    assert old in text
    with pytest.raises(IllFormed, match=message):
        check(parse(text.replace(old, new)))


def test_what_text_cannot_say() -> None:
    program = parse(GOOD)
    strange = replace(program.kernels[1], params=(ir.Param("n", "word"),))
    with pytest.raises(IllFormed, match="word is no scalar type"):
        check(replace(program, kernels=(program.kernels[0], strange)))
    data = ir.Data(ir.Param("c", "int"), (1,))
    function = program.functions[0]
    body = ir.Block((data, *function.body.statements), function.body.results)
    with pytest.raises(IllFormed, match="data c is not an array"):
        check(replace(program, functions=(replace(function, body=body),)))


def test_the_place_is_named() -> None:
    with pytest.raises(IllFormed, match="kernel K1: let ys: a thunk reads xs"):
        check(broken("half(v) using xs", "half(v)"))


@given(programs)
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
def test_any_program_passes_or_is_ill_formed(program: ir.Program) -> None:
    try:
        check(program)
    except IllFormed as error:
        assert str(error)


def test_text_with_mistakes_is_refused_or_still_a_program() -> None:
    rng = random.Random(1)
    words = re.findall(r"\s+|\w+|[^\w\s]", GOOD)
    outcomes = set()
    for _ in range(400):
        mistaken = list(words)
        mistaken[rng.randrange(len(words))] = rng.choice(words)
        try:
            check(parse("".join(mistaken)))
            outcomes.add("good")
        except (NessieError, IllFormed) as error:
            outcomes.add(type(error).__name__)
    assert outcomes == {"good", "NessieError", "IllFormed"}
