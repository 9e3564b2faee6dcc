"""The library: its types, its meaning, and that what ships is what its source says."""
from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from amounts import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from library_calls import values
from paths import SUPPORT

from nessie import forms
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.text.types_text import primitive_scheme, show_scheme
from nessie.base.text.values_text import show_value
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Base, Data, Pair, Seq, Type
from nessie.base.values import Record
from nessie.forms import check_typed
from nessie.interpreter import interpreter
from nessie.lambda_cu import ops
from nessie.library.build_library import library_text
from nessie.library.library import TYPED, library, prebuilt
from nessie.library.primitives import BINARY, IN_MONO, PRIMITIVES, REDEFINABLE, UNARY
from nessie.mono.copies.derived import MAKERS, derive
from nessie.syntax.parse import parse
from nessie.typing import nodes as typed
from nessie.typing.check import check
from nessie.typing.infer import infer
from nessie.typing.node_types import pattern_type

CASES = [json.loads(line) for line in (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]


def run(source: str) -> list[Any]:
    """The values of the program's variables, by the interpreter."""
    program, environment = infer(parse(Source("test.nesl", source)), library())
    world = interpreter.World()
    world.functions = dict(environment.library.functions)
    hashtable = environment.library.datatype("hashtable")
    assert hashtable is not None
    world.datatypes = {"hashtable": hashtable}
    return interpreter.run(program, world)


def value(source: str) -> Any:
    return run(source)[-1].value


def text(source: str) -> str:
    return "".join(value(source))


def test_what_ships_is_what_the_source_says() -> None:
    assert TYPED.read_text("utf-8") == library_text(), "run python -m nessie.library.build_library"


def test_the_library_is_well_formed() -> None:
    program = run_deep(lambda: forms.read(forms.TYPED, Source(TYPED.name, TYPED.read_text("utf-8"))))
    check_typed(program)
    names = {d.name for d in program.definitions if not isinstance(d, typed.Variable)}
    assert names == set(prebuilt().texts) and not names & set(PRIMITIVES)
    assert all(d.doc for d in program.definitions if isinstance(d, typed.Function))


def test_primitives_lead_to_operators_and_sequence_primitives() -> None:
    for row in PRIMITIVES.values():
        assert row.kind in ("scalar", "sequence", "pair", "check", "derived", "effect") and row.doc
        assert row.kind != "scalar" or row.target in (*ops.OPS, "resized")
        assert (row.kind in ("pair", "derived")) == (row.target not in IN_MONO), "targets are names of their own"
        primitive_scheme(row.name, row.type)
    scalars = {row.target for row in PRIMITIVES.values() if row.kind == "scalar"}
    assert scalars == {*ops.OPS, "resized"}.difference(ops.NARROWING), "every operator can be written in NESL"
    assert {row.name for row in PRIMITIVES.values() if row.kind == "derived"} == set(MAKERS)
    assert all(library().builtin(name) for name in [*BINARY.values(), *UNARY.values(), *REDEFINABLE])


TYPES = """
not a -> a :: (a in logical)
plusp minusp zerop a -> bool :: (a in number)
oddp evenp int -> bool
negate abs a -> a :: (a in number)
diff (a, a) -> a :: (a in number)
max min (a, a) -> a :: (a in ordinal)
rem mod gcd lshift rshift (int, int) -> int
sqrt ln exp sin cos tan asin acos atan sinh cosh tanh reciprocal float -> float
expt log (float, float) -> float
isqrt int -> int
one zero a -> a :: (a in number)
btoi bool -> int
code_char int -> char
char_code char -> int
float int -> float
ceil floor trunc round float -> int
float_num a -> float :: (a in number)
int_to_any (int, a) -> a :: (a in number)
float_to_any (float, a) -> a :: (a in number)
rand a -> a :: (a in number)
rand_seed int -> bool
length [a] -> int :: (a in any)
dist (a, int) -> [a] :: (a in any)
elt ([a], int) -> a :: (a in any)
rep ([a], a, int) -> [a] :: (a in any)
index int -> [int]
iseq (int, int, int) -> [int]
fseq (float, float, float) -> [float]
zip ([a], [b]) -> [(a, b)] :: (a in any; b in any)
unzip [(a, b)] -> ([a], [b]) :: (a in any; b in any)
first (a, b) -> a :: (a in any; b in any)
rest (a, b) -> b :: (a in any; b in any)
enumerate [bool] -> [int]
plus_scan mult_scan [a] -> [a] :: (a in number)
max_scan min_scan [a] -> [a] :: (a in ordinal)
or_scan and_scan xor_scan [a] -> [a] :: (a in logical)
sum product [a] -> a :: (a in number)
max_val min_val [a] -> a :: (a in ordinal)
any all parity [a] -> a :: (a in logical)
count [bool] -> int
max_index min_index [a] -> int :: (a in ordinal)
scan ((a, a) -> a, a, [a]) -> ([a], a) :: (a in any)
read get ([a], [int]) -> [a] :: (a in any)
write eput ([a], [(int, a)]) -> [a] :: (a in any)
put ([a], [int], [a]) -> [a] :: (a in any)
cond_put ([a], [int], [bool], [a]) -> [a] :: (a in any)
permute ([a], [int]) -> [a] :: (a in any)
rotate take drop ([a], int) -> [a] :: (a in any)
reverse odd_elts even_elts [a] -> [a] :: (a in any)
next previous snoc ([a], a) -> [a] :: (a in any)
append interleave ([a], [a]) -> [a] :: (a in any)
cons (a, [a]) -> [a] :: (a in any)
vpair (a, a) -> [a] :: (a in any)
vsep [a] -> (a, a) :: (a in any)
pack [(a, bool)] -> [a] :: (a in any)
pack_index length_from_flags [bool] -> [int]
unpack ([a], [bool]) -> [a] :: (a in any)
subseq ([a], int, int) -> [a] :: (a in any)
flag_merge ([bool], [a], [a]) -> [a] :: (a in any)
partition ([a], [int]) -> [[a]] :: (a in any)
flatten [[a]] -> [a] :: (a in any)
split ([a], [bool]) -> [[a]] :: (a in any)
split_index [bool] -> ([int], [int])
bottop [a] -> [[a]] :: (a in any)
head_rest [a] -> (a, [a]) :: (a in any)
rest_tail [a] -> ([a], a) :: (a in any)
transpose [[a]] -> [[a]] :: (a in any)
group_by ([a], int) -> [[a]] :: (a in any)
rank rank_down [a] -> [int] :: (a in number)
sort [a] -> [a] :: (a in number)
char_rank [char] -> [int]
kth_smallest ([a], int) -> a :: (a in ordinal)
median [a] -> a :: (a in ordinal)
find (a, [a]) -> int :: (a in any)
search_for_subseqs ([a], [a]) -> [int] :: (a in any)
remove_duplicates [a] -> [a] :: (a in any)
mark_duplicates [a] -> [bool] :: (a in any)
name [a] -> [int] :: (a in any)
union intersection set_difference ([a], [a]) -> [a] :: (a in any)
collect [(a, b)] -> [(a, [b])] :: (a in any; b in any)
int_collect [(int, a)] -> [(int, [a])] :: (a in any)
histogram [a] -> [(a, int)] :: (a in any)
map (a -> b, [a]) -> [b] :: (a in any; b in any)
eql (a, a) -> bool :: (a in any)
select (bool, a, a) -> a :: (a in any)
identity print printl a -> a :: (a in any)
hash (a, int) -> int :: (a in any)
string abrev_string a -> [char] :: (a in any)
exp_string (float, int) -> [char]
int_string int -> [char]
float_string float -> [char]
bool_string bool -> [char]
char_string char -> [char]
linify wordify [char] -> [[char]]
group_by_separator_flags flag_partition ([a], [bool]) -> [[a]] :: (a in any)
group_by_space ([char], [char]) -> [[char]]
justify_text ([char], int) -> [[char]]
lowercase uppercase char -> char
string_eql ([char], [char]) -> bool
parse_int parse_unsigned_int [char] -> (int, bool)
parse_int_vect [char] -> ([int], bool)
parse_float [char] -> (float, bool)
digitp char -> bool
make_table ((a, b), int) -> hashtable(a, b) :: (a in any; b in any)
insert_table ([(a, b)], hashtable(a, b)) -> hashtable(a, b) :: (a in any; b in any)
create_table fast_create_table [(a, b)] -> hashtable(a, b) :: (a in any; b in any)
search_table ([a], hashtable(a, b)) -> [(b, bool)] :: (a in any; b in any)
table_entries hashtable(a, b) -> [(a, b)] :: (a in any; b in any)
print_char char -> bool
open_in_file open_out_file open_append_file [char] -> (stream, bool, [char])
close_file stream -> (bool, [char])
read_char stream -> (char, bool, [char])
read_line stream -> (([char], bool), bool, [char])
read_word stream -> (([char], char, bool), bool, [char])
read_string ([char], int, stream) -> (([char], int), bool, [char])
read_object (a, stream) -> (a, bool, [char]) :: (a in any)
read_int_seq stream -> ([int], bool, [char])
read_float_seq stream -> ([float], bool, [char])
write_char (char, stream) -> (bool, [char])
write_string ([char], stream) -> (bool, [char])
write_object (a, stream) -> (bool, [char]) :: (a in any)
read_check (a, bool, [char]) -> a :: (a in any)
write_check close_check (bool, [char]) -> bool
open_check (a, bool, [char]) -> a :: (a in any)
write_object_to_file (a, [char]) -> bool :: (a in any)
read_object_from_file (a, [char]) -> a :: (a in any)
write_string_to_file append_string_to_file ([char], [char]) -> bool
read_string_from_file prompt get_environment_variable [char] -> [char]
read_int_seq_from_file [char] -> [int]
read_float_seq_from_file [char] -> [float]
grep ([char], [char]) -> [[char]]
shell_command ([char], [char]) -> [char]
print_string print_line error [char] -> bool
print_debug ([char], a) -> a :: (a in any)
"""
STARTS = ("(", "[", "int ", "float ", "bool ", "char ", "a ", "hashtable(")


def test_types() -> None:
    """Words up to the type are names of that type; `float` is also a function: the last word before the type."""
    for line in TYPES.strip().splitlines():
        head, arrow, tail = line.partition(" -> ")
        names, argument = (head.rsplit(" ", 1) if "(" not in head and "[" not in head
                           else (head[:first_bracket(head)], head[first_bracket(head):]))
        for name in names.split():
            scheme = library().global_scheme(name)
            assert scheme is not None and show_scheme(scheme.type) == argument + arrow + tail, name


def first_bracket(head: str) -> int:
    """Where the argument's type begins."""
    at = min(head.find(c) for c in "([" if c in head)
    return at if head[at - 1] == " " else head.rfind(" ", 0, at) + 1


WITH_VALUES = [c for c in CASES if c["value"] is not None and not c["source"].startswith("function")]


@pytest.mark.parametrize("case", WITH_VALUES, ids=lambda c: c["source"][:30])
def test_recorded_values(case: dict[str, str]) -> None:
    result = run(case["source"])[-1]
    assert show_value(result.value, pattern_type(result.pattern)) == case["value"]


@pytest.mark.parametrize(("source", "expected"), [
    ("isqrt(9223372036854775807);", 3037000499), ("isqrt(0);", 0), ("isqrt(24);", 4), ("2^62;", 2 ** 62), ("2^64;", 0),
    ("(-2)^3;", -8), ("0^0;", 1), ("1.5^3;", 3.375), ("2.0^10;", 1024.0), ("gcd(12,18);", 6), ("index(0);", []),
    ("rotate([] int,3);", []), ("rotate([1,2,3],-1);", [2, 3, 1]), ("next([] int,1);", []), ("bottop([1]);", [[1], []]),
    ("transpose([] [int]);", []), ("transpose([[] int]);", []), ("group_by([1,2,3],2);", [[1, 2], [3]]),
    ("let nan = 0.0 * exp(1000.0) in [max_index([] int), min_index([] int), max_index([nan]), min_index([1.0, nan])];",
     [2 ** 63 - 1] * 4), ("find(3,[1,2]);", -1), ("search_for_subseqs(\"\",\"ab\");", [0, 1, 2]),
    ("search_for_subseqs(\"abc\",\"ab\");", []), ("name([3,1,3]);", [2, 1, 2]),
    ("name([\"ab\",\"b\",\"ab\"]);", [2, 1, 2]), ("remove_duplicates([3,1,3,2,1]);", [3, 1, 2]),
    ("mark_duplicates([5,5,1000000000,5]);", [True, False, True, False]),
    ("remove_duplicates([(1,2.0),(0,1.0),(1,2.0)]);", [(1, 2.0), (0, 1.0)]), ("union([3,1],[2,3]);", [3, 1, 2]),
    ("{remove_duplicates(r) : r in [[1,1],[] int,[2,1,2]]};", [[1], [], [2, 1]]),
    ("unpack([1,2],[f,t,f,t]);", [0, 1, 0, 2]), ("unpack([] [int],[f,f]);", [[], []]),
    ("histogram([2,2,5]);", [(2, 2), (5, 1)]),
    ("intersection([1,2,3],[3,5,1]);", [1, 3]), ("set_difference([1,2,3],[3,5,1]);", [2]),
    ("scan(max,0,[3,1,4,1,5]);", ([0, 3, 3, 4, 4], 5)), ("scan(max, 0, [] int);", ([], 0)),
    ("{scan((a, b) => a ++ b, [] int, v) : v in [[] [int], [[1]], [[1], [2, 3]]]};",
     [([], []), ([[]], [1]), ([[], [1]], [1, 2, 3])]), ("scan((a,b) => a*2+b,0,[7]);", ([0], 7)),
    ("scan((a,b) => a+b,10,[1,2,3]);", ([10, 11, 13], 16)),
    ("fseq(0.0,0.5,1.0);", [0.0, 0.5, 1.0]), ("split_index([f,t,f]);", ([2, 1], [0, 2, 1])),
    ("join([1,2],[0,2],[3],[1]);", [1, 3, 2]), ("take([1,2,3],-2);", [2, 3]), ("drop([1,2,3],-2);", [1]),
    ("parse_int(\"-9223372036854775808\");", (-2 ** 63, True)), ("parse_int(\"\");", (0, False)),
    ("parse_float(\"123456789012345678901234567890\");", (123456789012345678e12, True)),
    ("parse_float(\"1e400\");", (math.inf, True)), ("parse_float(\"1e-400\");", (0.0, True)),
    ("parse_float(\".5\");", (0.5, True)), ("parse_float(\"\");", (0.0, True)), ("parse_float(\"1E5\");", (0.0, False)),
    ("{parse_float(s) : s in [\".\", \"-\", \"+.\", \"e5\", \"-.e-\", \"1e\"]};", [(0.0, True)] * 5 + [(1.0, True)]),
    ("{parse_float(s) : s in [\"x\", \"--\", \"..\", \" 1\", \"1e5x\"]};", [(0.0, False)] * 5),
    ("{parse_int(s) : s in [\"-\", \"+\", \"x\", \"-x\"]};", [(0, True), (0, True), (0, False), (0, False)]),
    ("({uppercase(c) : c in \"aé1ß\"}, {lowercase(c) : c in \"AÉ1\"});", ([*"Aé1ß"], [*"aÉ1"])),
    ("[string_eql(\"ab\",\"AB\"), string_eql(\"é\",\"É\"), string_eql(\"é\",\"é\")];", [True, False, True]),
    ("parse_unsigned_int(\"\");", (0, True)), ("parse_int_vect(\"\");", ([], True)),
    ("iseq1(2,5);", [2, 3, 4]), ("seq_dist(7,2);", [7, 7]), ("make_sequence([1],2);", [1, 2]),
    ("elt_nocheck([1,2],1);", 2), ("get_nocheck([1,2],[1]);", [2]), ("permute_nocheck([1,2],[1,0]);", [2, 1]),
    ("div_internal(7.0,2.0);", 3.5), ("rem_internal(-7,2);", -1),
    ("search_table([1],make_table((0,\"\"),0));", [([], False)]),
    ("parse_int_vect(\" 12 -3  x\");", ([12, -3, 0], False)), ("hash([1,2],10) == hash([1,2],10);", True),
    ("let tab = insert_table([(1,5)],create_table([(1,2),(3,4)])) in search_table([1,3,9],tab);",
     [(5, True), (4, True), (0, False)]),
    ("kth_smallest(\"hello\",1);", "h"), ("median([4.0,1.0,3.0]);", 3.0), ("eql([[1],[] int],[[1],[] int]);", True),
    ("collect([(\"a\",1),(\"b\",2),(\"a\",3)]);", [(list("a"), [1, 3]), (list("b"), [2])]),
])
def test_values(source: str, expected: Any) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(("source", "expected"), [
    ("@0.1;", "0.1"), ("@123456789.123;", "1.2345679e+8"), ("@1.0e7;", "1.0e+7"), ("@(0.0-2.5);", "-2.5"),
    ("@9999999.9;", "9999999.9"),
    ("@0.01;", "0.01"), ("@0.00999;", "9.99e-3"), ("@1e300;", "1.0e+300"), ("@1e-310;", "1.0e-310"),
    ("@99999999.9;", "1.0e+8"),
    ("@(exp(1000.0));", "inf"), ("@min_int;", "-9223372036854775808"), ("@(1,2,3,4);", "(1, 2, (3, 4))"),
    ("@(1,2,3,4,5);", "(1, 2, (3, 4, 5))"), ("@[[1],[] int];", "[[1], []]"), ("@\"ab\";", "[`a, `b]"),
    ("@sin;", "function"),
    ("exp_string(12345.678,3);", "1.235e+4"), ("5 || 3;".replace("5", "\"5\""), "5  "), ("\"5\" || -3;", "  5"),
    ("abrev_string([[[[1]]]]);", "[[[...]]]"), ("abrev_string([1:9]);", "[1, 2, 3, 4, 5, ...]"),
])
def test_texts(source: str, expected: str) -> None:
    assert text(source) == expected


TIES = st.builds(lambda m, e: m * 2.0 ** e, st.integers(1, 2 ** 30), st.integers(-15, -1))
NEAR_TIES = st.builds(lambda m, e: float(f"{m}5e{e}"), st.integers(10 ** 7, 10 ** 8 - 1), st.integers(-330, 299))
POWERS = st.builds(lambda e, to: math.nextafter(float(f"1e{e}"), to), st.integers(-323, 308), st.floats(0, 1e308))
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(200))
@given(TIES | NEAR_TIES | POWERS | FINITE, st.integers(0, 8))
@example(2049258.95, 7)
@example(1.7976931348623157e308, 7)
@example(5e-324, 8)
@example(1.39345735e-241, 7)        # the floats nearest to a half that are none: by 2^-65, and by 2^-67
@example(1.227701635e+129, 8)
def test_floats_are_rounded_as_their_exact_values_are(x: float, digits: int) -> None:
    assert called("float_string", x) == "".join(interpreter.MEANING["string"].value((FLOAT,), x))
    mantissa, exponent = f"{x:.{digits}e}".split("e")
    point = "" if digits else "."
    assert called("exp_string", (x, digits)) == (f"{mantissa}{point}e{int(exponent):+}" if x else "0.0")


def called(name: str, argument: Any) -> str:
    world = interpreter.World()
    world.functions = dict(library().library.functions)
    return "".join(interpreter.call(world, name, argument).value)


@pytest.mark.parametrize(("source", "message"), [
    ("take([1,2],3);", "Bounds error for function TAKE."), ("drop([1,2],-3);", "Bounds error for function DROP."),
    ("zip([1],[1,2]);", "Length mismatch in function ZIP."), ("2^-1;", "The power must be nonnegative for ^ ."),
    ("permute([1,2,3],[0,1]);", "Bad arguments to function PERMUTE."),
    ("permute([1,2],[0,2]);", "Bad arguments to function PERMUTE."), ("head_rest([] int);", "Sequence reference"),
    ("interleave([1],[2,3]);", "Length mismatch for function INTERLEAVE."), ("hash(1,0);", "must be positive"),
    ("transpose([[1,2],[3]]);", "Lengths of subsequences are not equal in function TRANSPOSE."),
    ("exp_string(1.0,9);", "In function exp_string, digits_after_point is too large."),
    ("exp_string(1.0,-1);", "In function exp_string, digits_after_point is negative."),
])
def test_checks(source: str, message: str) -> None:
    with pytest.raises(NessieError) as raised:
        run(source)
    assert message in raised.value.message and raised.value.places[0][0].source.name == "test.nesl"


@pytest.mark.parametrize(("text", "width", "lines"), [
    ("", 5, []), ("aaa bb c. dddddddddd ee f g h", 6, ["aaa bb", "c.", "dddddddddd", "ee f g", "h"]),
    ("one. two  three", 40, ["one.  two three"]), ("a b", -3, ["a", "b"]), ("a b c d", 5, ["a b c", "d"]),
])
def test_justify_text(text: str, width: int, lines: list[str]) -> None:
    assert ["".join(line) for line in value(f'justify_text("{text}",{width});')] == lines


KEYS = st.sampled_from(["x", "y", "zz", ""])


@settings(max_examples=examples(30))
@given(st.lists(st.lists(st.tuples(KEYS, st.integers(0, 9)), min_size=1, max_size=5), min_size=1, max_size=3))
def test_hash_tables(batches: list[list[tuple[str, int]]]) -> None:
    """Inserting replaces, and a table grows."""
    expected: dict[str, int] = {}
    table = 'make_table(("",0),1)'
    for batch in batches:
        expected |= dict(batch)
        table = "insert_table([" + ",".join([f'("{k}",{v})' for k, v in batch]) + f"],{table})"
    found = value(f'table = {table}; search_table(["x","y","zz","","no"],table);')
    assert found == [(expected.get(k, 0), k in expected) for k in ("x", "y", "zz", "", "no")]
    entries = value(f"table_entries({table});")
    assert sorted(("".join(k), v) for k, v in entries) == sorted(expected.items())


def test_hashes_spread() -> None:
    for keys in ("i * 1024", "@i", "(i,i*7)", "float(i) * 0.1", "[i,i]"):
        most = value(f"max_val({{n : (_,n) in histogram({{hash({keys},500) : i in [0:500]}})}});")
        assert most < 9, keys


# Derived functions against the interpreter's own meanings ---------------------------------------

POINT = Data("point", (INT,))
ELEMENTS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-3, 3), FLOAT: st.sampled_from([0.0, -0.0, 1.5, -2.25, math.inf]), BOOL: st.booleans(),
    CHAR: st.sampled_from("ab"),
    POINT: st.builds(Record, st.just("point"), st.integers(0, 2))}
TYPE = st.recursive(st.sampled_from(list(ELEMENTS)), lambda t: st.builds(Seq, t) | st.builds(Pair, t, t), max_leaves=4)


def by_derived(name: str, type_: Type, argument: Any) -> Any:
    """The derived function at the type, run as any other function; the functions it uses are derived too."""
    _, environment = infer(parse(Source("t", "datatype point(a) :: (a in any);")), library())
    world = interpreter.World()
    world.functions = dict(environment.library.functions)
    world.datatypes = dict(environment.program.datatypes)
    function = replace(derive(name, (type_,), environment), name="derived")
    check(typed.Program((function,)), environment)
    world.functions["derived"] = function
    return interpreter.call(world, "derived", argument, (type_,)).value


@settings(max_examples=examples(60))
@given(st.data())
def test_derived_functions(data: st.DataObject) -> None:
    type_ = data.draw(TYPE)
    some = values(type_, ELEMENTS)
    a, b = data.draw(some), data.draw(some)
    many = [*data.draw(st.lists(some, max_size=6)), a, b]
    assert by_derived("eql", type_, (a, b)) == interpreter.MEANING["eql"].value((type_,), (a, b))
    assert by_derived("eql", type_, (a, a)) is True
    assert by_derived("string", type_, a) == interpreter.MEANING["string"].value((type_,), a)
    assert by_derived("_string_limited", type_, (a, 1)) == interpreter.MEANING["_string_limited"].value((type_,),
    (a, 1))
    assert by_derived("_label", type_, many) == interpreter.MEANING["_label"].value((type_,), many)
    assert by_derived("_place", type_, many) == interpreter.MEANING["_place"].value((type_,), many)
    assert by_derived("_ordered", type_, many) == interpreter.MEANING["_ordered"].value((type_,), many)
    assert by_derived("_code", type_, a) == interpreter.MEANING["_code"].value((type_,), a)


@pytest.mark.parametrize("type_", [INT, FLOAT])
def test_derived_numbers(type_: Base) -> None:
    assert [by_derived(n, type_, x) for n, x in [("one", 7), ("zero", 7), ("identity", 7)]] == [1, 0, 0]
    assert by_derived("int_to_any", type_, (3, 7)) == 3 and by_derived("float_to_any", type_, (2.5, 7)) == \
        {INT: 3, FLOAT: 2.5}[type_]


def test_derived_zeros() -> None:
    type_ = Pair(POINT, Pair(Seq(INT), CHAR))
    assert by_derived("_zero_of", type_, []) == (Record("point", 0), ([], "\0"))
