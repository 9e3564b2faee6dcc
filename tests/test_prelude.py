"""The library: its types, its meaning, and that what ships is what its source says."""
from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie.base.deep import run_deep
from nessie.base.source import NessieError, Source
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Base, Data, Pair, Seq, Type
from nessie.base.values import Record
from nessie.frontend import interpreter, typed, typed_text
from nessie.frontend.build_library import library_text
from nessie.frontend.derived import MAKERS, derive
from nessie.frontend.infer import infer
from nessie.frontend.library import TYPED, library, prebuilt
from nessie.frontend.parser import parse
from nessie.frontend.primitives import BINARY, IN_MONO, PRIMITIVES, REDEFINABLE, UNARY
from nessie.frontend.typed_check import check
from nessie.frontend.typed_typing import pattern_type
from nessie.frontend.types_text import primitive_scheme, show_scheme
from nessie.lambda_cu import ops
from nessie.show_value import show_value

CASES = [json.loads(line) for line in Path(__file__).with_name("nesl_cases.jsonl").read_text("utf-8").splitlines()]


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
    assert TYPED.read_text("utf-8") == library_text(), "run python -m nessie.frontend.build_library"


def test_the_library_is_well_formed() -> None:
    program = run_deep(lambda: typed_text.parse(TYPED.read_text("utf-8")))
    check(program)
    names = {d.name for d in program.definitions if not isinstance(d, typed.Variable)}
    assert names == set(prebuilt().texts) and not names & set(PRIMITIVES)
    assert all(d.doc for d in program.definitions if isinstance(d, typed.Function))


def test_primitives_lead_to_operators_and_sequence_primitives() -> None:
    for row in PRIMITIVES.values():
        assert row.kind in ("scalar", "sequence", "pair", "check", "derived", "effect") and row.doc
        assert row.kind != "scalar" or row.target in ops.OPS
        assert (row.kind in ("pair", "derived")) == (row.target not in IN_MONO), "targets are names of their own"
        primitive_scheme(row.name, row.type)
    scalars = {row.target for row in PRIMITIVES.values() if row.kind == "scalar"}
    assert scalars == set(ops.OPS), "every operator can be written in NESL"
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
parse_int_vect [char] -> [int]
parse_float [char] -> (float, bool)
digitp char -> bool
make_table ((a, b), int) -> hashtable(a, b) :: (a in any; b in any)
insert_table ([(a, b)], hashtable(a, b)) -> hashtable(a, b) :: (a in any; b in any)
create_table fast_create_table [(a, b)] -> hashtable(a, b) :: (a in any; b in any)
search_table ([a], hashtable(a, b)) -> [(b, bool)] :: (a in any; b in any)
table_entries hashtable(a, b) -> [(a, b)] :: (a in any; b in any)
print_char char -> bool
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
    ("max_index([] int);", 2 ** 63 - 1), ("find(3,[1,2]);", -1), ("search_for_subseqs(\"\",\"ab\");", [0, 1, 2]),
    ("search_for_subseqs(\"abc\",\"ab\");", []), ("name([3,1,3]);", [2, 1, 2]),
    ("name([\"ab\",\"b\",\"ab\"]);", [2, 1, 2]),
    ("unpack([1,2],[f,t,f,t]);", [0, 1, 0, 2]), ("unpack([] [int],[f,f]);", [[], []]),
    ("histogram([2,2,5]);", [(2, 2), (5, 1)]),
    ("intersection([1,2,3],[3,5,1]);", [1, 3]), ("set_difference([1,2,3],[3,5,1]);", [2]),
    ("scan(max,0,[3,1,4,1,5]);", ([0, 3, 3, 4, 4], 5)), ("scan(max, 0, [] int);", ([], 0)),
    ("{scan((a, b) => a ++ b, [] int, v) : v in [[] [int], [[1]], [[1], [2, 3]]]};",
     [([], []), ([[]], [1]), ([[], [1]], [1, 2, 3])]), ("scan((a,b) => a*2+b,0,[7]);", ([0], 7)),
    ("fseq(0.0,0.5,1.0);", [0.0, 0.5, 1.0]), ("split_index([f,t,f]);", ([2, 1], [0, 2, 1])),
    ("join([1,2],[0,2],[3],[1]);", [1, 3, 2]), ("take([1,2,3],-2);", [2, 3]), ("drop([1,2,3],-2);", [1]),
    ("parse_int(\"-9223372036854775808\");", (-2 ** 63, True)), ("parse_int(\"\");", (0, False)),
    ("parse_float(\"123456789012345678901234567890\");", (123456789012345678e12, True)),
    ("parse_float(\"1e400\");", (math.inf, True)), ("parse_float(\"1e-400\");", (0.0, True)),
    ("parse_float(\".5\");", (0.5, True)),
    ("parse_int_vect(\" 12 -3  x\");", [12, -3, 0]), ("hash([1,2],10) == hash([1,2],10);", True),
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


@pytest.mark.parametrize(("source", "message"), [
    ("take([1,2],3);", "Bounds error for function TAKE."), ("drop([1,2],-3);", "Bounds error for function DROP."),
    ("zip([1],[1,2]);", "Length mismatch in function ZIP."), ("2^-1;", "The power must be nonnegative for ^ ."),
    ("permute([1,2,3],[0,1]);", "Bad arguments to function PERMUTE."), ("head_rest([] int);", "Sequence reference"),
    ("interleave([1],[2,3]);", "Length mismatch for function INTERLEAVE."), ("hash(1,0);", "must be positive"),
    ("transpose([[1,2],[3]]);", "Lengths of subsequences are not equal in function TRANSPOSE."),
    ("exp_string(1.0,9);", "In function exp_string, digits_after_point is too large."),
])
def test_checks(source: str, message: str) -> None:
    with pytest.raises(NessieError) as raised:
        run(source)
    assert message in raised.value.message and raised.value.places[0][0].source.name == "test.nesl"


# Derived functions against the interpreter's own meanings ---------------------------------------

POINT = Data("point", (INT,))
ELEMENTS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-3, 3), FLOAT: st.sampled_from([0.0, -0.0, 1.5, -2.25, math.inf]), BOOL: st.booleans(),
    CHAR: st.sampled_from("ab"),
    POINT: st.builds(Record, st.just("point"), st.integers(0, 2))}
TYPE = st.recursive(st.sampled_from(list(ELEMENTS)), lambda t: st.builds(Seq, t) | st.builds(Pair, t, t), max_leaves=4)


def values(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case Seq(element):
            return st.lists(values(element), max_size=4)
        case Pair(first, second):
            return st.tuples(values(first), values(second))
    return ELEMENTS[type_]


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


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_derived_functions(data: st.DataObject) -> None:
    type_ = data.draw(TYPE)
    a, b = data.draw(values(type_)), data.draw(values(type_))
    many = [*data.draw(st.lists(values(type_), max_size=6)), a, b]
    assert by_derived("eql", type_, (a, b)) == interpreter.MEANING["eql"].value((type_,), (a, b))
    assert by_derived("eql", type_, (a, a)) is True
    assert by_derived("string", type_, a) == interpreter.MEANING["string"].value((type_,), a)
    assert by_derived("_string_limited", type_, (a, 1)) == interpreter.MEANING["_string_limited"].value((type_,),
    (a, 1))
    assert by_derived("_label", type_, many) == interpreter.MEANING["_label"].value((type_,), many)
    assert by_derived("hash", type_, (a, 1000)) == interpreter.MEANING["hash"].value((type_,), (a, 1000))


@pytest.mark.parametrize("type_", [INT, FLOAT])
def test_derived_numbers(type_: Base) -> None:
    assert [by_derived(n, type_, x) for n, x in [("one", 7), ("zero", 7), ("identity", 7)]] == [1, 0, 0]
    assert by_derived("int_to_any", type_, (3, 7)) == 3 and by_derived("float_to_any", type_, (2.5, 7)) == \
        {INT: 3, FLOAT: 2.5}[type_]


def test_derived_zeros() -> None:
    type_ = Pair(POINT, Pair(Seq(INT), CHAR))
    assert by_derived("_zero_of", type_, []) == (Record("point", 0), ([], "\0"))
