"""The form host: text both ways, and the validator's invariants, each broken alone."""
from __future__ import annotations

from dataclasses import replace

import pytest

from nessie.base.source import IllFormed, NessieError
from nessie.cudagen.host.check import check
from nessie.cudagen.host.nodes import Program
from nessie.cudagen.host.text import parse, show

TEXT = """\
site s1 "zero"

scalar half (x : int) -> int { x / 2 }

kernel K1 : 2 -> 2
kernel K2 : 3 -> 1

host side (#0, _, #1) slots 8 {
  0: launch K1 (#0, 5) -> #2, _
  1: unless #1 jump 6 dead #1
  2: drop dead #2
  3: compute #3 = if n /= 0 then half(n) else fail s1 : int where n is #0 dead #0
  4: move (-2.5, #3) -> #4, #5 dead #3
  5: jump 8
  6: launch K2 (#0, #2, #2) -> #6 dead #2
  7: move (#6, #0) -> #4, #5 dead #0, #6
  8: unless true jump 10
  9: give (#5, #4, 'c') dead #4, #5
  10: give (#5, #4, 'c') dead #4, #5
}

host main (#0, #1) slots 6 {
  0: call side (#0, inf, false) -> _, #2, #3
  1: constant #4 = char ['a', '\\n']
  2: perform print_string : (int, [char]) -> bool (#0, #0, #1) -> #5 dead #0, #1
  3: give (2, #4, #2, #3, #5) dead #2, #3, #4, #5
}

entry main : [float] -> ([char], (float, (char, bool)))
"""


def test_text_is_read_back_and_well_formed() -> None:
    program = parse(TEXT)
    check(program)
    assert show(program) == TEXT
    assert parse(show(program)) == program


@pytest.mark.parametrize("number", [3, 100])
def test_long_lines_are_broken(number: int) -> None:
    numbers = ", ".join(map(str, range(number)))
    program = parse(f"host f () slots 1 {{ 0: constant #0 = int [{numbers}] 1: give ({numbers}, #0) dead #0 }} "
                    "entry f : () -> int")
    assert parse(show(program)) == program
    assert max(map(len, show(program).split("\n"))) < 120


@pytest.mark.parametrize(("text", "message"), [
    ("host f () slots 0 { 1: give () }", "the instruction's number, 0, is expected here"),
    ("host f () slots 0 { give () }", "the instruction's number, 0, is expected here"),
    ("host f () slots 0 { 0: take () }", "an instruction is expected here"),
    ("host f () slots 0 { 0: give (x) }", "a constant is expected"),
    ("kernel K : 1", "'->' is expected here")])
def test_errors_in_text_say_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(NessieError, match=message):
        parse(f"{text} entry f : () -> int")


BROKEN = [
    # names, and how many
    ('site s1 "zero"', 'site s1 "zero" site s1 "one"', "s1 is bound twice"),
    ("kernel K2", "kernel K1 : 2 -> 1 kernel K2", "K1 is bound twice"),
    ("scalar half", "scalar half (x : int) -> int { x } scalar half", "half is bound twice"),
    ("host main", "host side () slots 0 { 0: give () } host main", "side is bound twice"),
    ("{ x / 2 }", "{ y / 2 }", "scalar function half: y is not in scope"),
    ("launch K2", "launch K3", "the program has no kernel K3"),
    ("kernel K2 : 3 -> 1", "kernel K2 : 2 -> 1", "K2 has 2 arguments and 1 results, not 3 and 1"),
    ("kernel K2 : 3 -> 1", "kernel K2 : 3 -> 2", "K2 has 3 arguments and 2 results, not 3 and 1"),
    ("call side (#0, inf,", "call aside (#0, inf,", "the program has no function aside"),
    ("call side (#0, inf,", "call side (", "side has 3 arguments and 3 results, not 1 and 3"),
    ("-> _, #2, #3", "-> #2, #3", "side has 3 arguments and 3 results, not 3 and 2"),
    ("(int, [char]) -> bool", "[char] -> bool", "print_string has 2 arguments and 1 results, not 3 and 1"),
    ("-> bool (#0", "-> [bool] (#0", "print_string has 3 arguments and 2 results, not 3 and 1"),
    ("entry main : [float]", "entry main : int, [float]", "entry: main has 2 arguments and 5 results, not 3 and 5"),
    ("([char], (float", "([char], ([float]", "entry: main has 2 arguments and 5 results, not 2 and 6"),
    ("entry main", "entry domain", "the program has no function domain"),
    ("fail s1", "fail s2", "the program has no site s2"),
    ("call side (#0, inf,", "call side (#0, site s2,", "the program has no site s2"),
    ("half(n)", "halve(n)", "the program has no scalar function halve"),
    ("half(n)", "half(n, n)", "half has 1 arguments, not 2"),
    ("'a', '\\n'", "'a', 2", "2 is no constant of the type char"),
    ("(#0, 5)", "(#0, 9223372036854775808)", "outside the ints"),
    # the names of computations
    ("half(n) else", "half(m) else", "m is read, but in no slot"),
    ("n is #0", "m is #0, n is #0", "m is in a slot, but not read"),
    ("half(n) else", "let n = 2 in half(n) else", "let binds n, which is bound already"),
    # slots and jumps
    ("slots 8", "slots 6", "function side: instruction 6: there is no slot 6, but 6 from 0 on"),
    ("host main (#0, #1)", "host main (#0, #9)", "function main: there is no slot 9"),
    ("dead #0, #6", "dead #0, #9", "instruction 7: there is no slot 9"),
    ("jump 8", "jump 11", "instruction 5: it jumps to 11, which is not after it"),
    ("jump 8", "jump 5", "instruction 5: it jumps to 5, which is not after it"),
    ("  10: give (#5, #4, 'c') dead #4, #5\n", "  10: drop dead #4, #5\n", "instruction 10: a way ends without give"),
    ("9: give (#5, #4, 'c') dead #4, #5", "9: give (#5, 'c') dead #4, #5", "3 results are given, and elsewhere 2"),
    ("8: unless true jump 10", "8: jump 10", "instruction 9: no way leads here"),
    # what slots hold
    ("-> #2, _\n", "-> #2, #2\n", "instruction 0: two results go to #2"),
    ("-> #2, _\n", "-> #2, #0\n", "instruction 0: a result goes to #0, which holds something"),
    ("(#0, _, #1)", "(#0, #0, #1)", "function side: two results go to #0"),
    ("(-2.5, #3)", "(#6, #3)", "instruction 4: slots #6 are read, but hold nothing"),
    ("(-2.5, #3) -> #4, #5", "(-2.5, #3) -> #4", "2 values go to 1 slots"),
    ("(-2.5, #3) -> #4, #5 dead", "(-2.5, #3) -> #4, _ dead", "#5 hold something on one way to instruction 8 only"),
    # what is read later
    ("(#0, _, #1)", "(#0, #7, #1)", "function side: slots #7 are held from here on, but not read"),
    ("-> #2, _\n", "-> #2, #7\n", "instruction 0: slots #7 are held from here on, but not read"),
    ("jump 6 dead #1", "jump 6", "instruction 1: slots #1 are held from here on, but not read"),
    ("-> #6 dead #2", "-> #6", "instruction 6: slots #2 are held from here on, but not read"),
    ("-> #6 dead #2", "-> #6 dead #0, #2", "instruction 7: slots #0 are read, but hold nothing"),
    ("dead #0, #6", "dead #0, #2, #6", "instruction 7: slots #2 are dead, but have nothing that is read here"),
    ("drop dead #2", "drop", "instruction 2: slots #2 are held from here on, but not read"),
    ("drop dead #2", "drop dead #2, #3", "instruction 2: slots #3 are dead"),
    ("drop dead #2", "drop dead #2, #2", "instruction 2: a slot is dead twice"),
    ("dead #2, #3, #4, #5", "dead #2, #3, #4", "instruction 3: slots #5 are held from here on, but not read"),
]


@pytest.mark.parametrize(("whole", "broken", "message"), BROKEN)
def test_each_invariant_is_enforced(whole: str, broken: str, message: str) -> None:
    assert TEXT.count(whole) == 1
    with pytest.raises(IllFormed, match=message):
        check(parse(TEXT.replace(whole, broken)))


def test_a_function_has_instructions() -> None:
    program: Program = parse(TEXT)
    empty = replace(program.functions[0], instructions=())
    with pytest.raises(IllFormed, match="it has no instructions"):
        check(replace(program, functions=(empty, program.functions[1])))
