"""Functions of scalars that recur, and programs that call them: on the host, in each element, in branches; some fail.

    CASES[name]                         main's body, its parameter, its result's type, arguments
    compiled(body, parameter, result)   the program
"""
from __future__ import annotations

from typing import Any

from executors import Compiled

FUNCTIONS = """
function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);
function down(n) = if n == 0 then 0 else 1 + down(n - 1);
function ack(m, n) = if m == 0 then n + 1 else if n == 0 then ack(m - 1, 1) else ack(m - 1, ack(m, n - 1));
function odd(n) : int -> bool;
function even(n) = if n == 0 then t else odd(n - 1);
function odd(n) : int -> bool = if n == 0 then f else even(n - 1);
function halving(n) = if n == 0 then (0, 1.0) else let (s, x) = halving(n / 2) in (s + rem(n, 2), 0.5 * x + 1.0);
function fails(n) =
  if n < 0 then error("below") else if n == 7 then 1 / (n - 7) == 1 else fails(n - 2) or fails(n - 3);
function least(n) = if n > 0 then 12 / least(n - 1) else 6 / (n * n);
function forever(n) = forever(n + 1) + forever(n + 2);
function digits(n) = if n < 10 then 1 else 1 + digits(n / 10);
"""
CASES: dict[str, tuple[str, str, str, tuple[Any, ...]]] = {
    "on the host": ("fib(k)", "k : int", "int", (11,)),
    "in each": ("{fib(k) : k in v}", "v : [int]", "[int]", ([3, 10, 0, -3, 7],)),
    "of no elements": ("{fib(k) : k in v}", "v : [int]", "[int]", ([],)),
    "as a filter": ("{k : k in v | even(k)}", "v : [int]", "[int]", ([3, 10, 0, 7, 2],)),
    "after a filter, which would not end": ("{even(k) : k in v | k >= 0}", "v : [int]", "[bool]", ([-1, 2, -9, 3],)),
    "in a branch, which would not end": ("{if k < 0 then -1 else down(k) : k in v}", "v : [int]", "[int]", ([-1, 5],)),
    "in a branch of the host": ("if k < 0 then -1 else down(k)", "k : int", "int", (-1,)),
    "a condition": ("{if even(k) then {i : i in [0:k]} else [] int : k in v}", "v : [int]", "[[int]]", ([2, 1, 4],)),
    "rows": ("{{ack(2, k) : k in r} : r in m}", "m : [[int]]", "[[int]]", ([[1, 2], [], [0]],)),
    "two results": ("{halving(k) : k in v}", "v : [int]", "[(int, float)]", ([0, 1, 77, 1000],)),
    "two results, in a branch of the host": (
        "if k > 9 then halving(k) else (k, 0.5)", "k : int", "(int, float)", (77,)),
    "sizes": ("{sum([0 : fib(k)]) : k in v}", "v : [int]", "[int]", ([3, 1, 6],)),
    "a reduction's elements": ("sum({fib(k) : k in v})", "v : [int]", "int", ([3, 1, 6],)),
    "by the digits": ("{digits(k) : k in v}", "v : [int]", "[int]", ([3, 19, 600],)),
    "the first failure": ("fails(k)", "k : int", "bool", (12,)),
    "a failure of one element": ("{least(k) : k in v}", "v : [int]", "[int]", ([-2, 5, -3],)),
    "a failure that its zero would fail again": ("least(k)", "k : int", "int", (9,)),
    "no failure where it is not run": (
        "{if k < 0 then 0 else least(k) : k in v | k < 0}", "v : [int]", "[int]", ([5, -1],)),
}


def compiled(body: str, parameter: str = "k : int", result: str = "int", target: str = "cpu") -> Compiled:
    name, type_ = parameter.split(" : ")
    return Compiled(f"{FUNCTIONS}function main({name}) : {type_} -> {result} = {body};", target=target)
