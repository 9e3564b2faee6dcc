"""A check that fails in a function of the library is told as a mistake in the call: its arguments, and its needs."""
from __future__ import annotations

import random

import pytest
from library_calls import CHOICES, FUNCTIONS

from nessie.base.source import NessieError, Source
from nessie.base.types import Base, Data, Fun, Pair, Seq, Type, components, free_variables, substitute
from nessie.cudagen.cuda.cudasim import compiler
from nessie.interpreter import interpreter
from nessie.library.library import library, prebuilt
from nessie.library.primitives import PRIMITIVES
from nessie.running.targets import Target
from nessie.session.session import Session

TARGETS = ["cpu", "reference", "cudasim"]
# A call, and the values that are told.
CALLS = {
    "blocks": ("blocks([1, 2, 3], 2)", "k is 2, #v is 3"),
    "blocks2": ("blocks2([[1, 2], [3, 4]], 0)", "k is 0, #m is 2, #m[0] is 2"),
    "buckets": ("buckets(2, [(0, `a), (5, `b)])", "n is 2, kvs is [(0, `a), (5, `b)]"),
    "cond_put": ("cond_put([1, 2], [0, 9], [f, t], [3])", "#v is 2, #i is 2, #fl is 2, #d is 1"),
    "div_internal": ("div_internal(1, 0)", "b is 0"),
    "drop": ("drop([1], 2)", "n is 2, #v is 1"),
    "elt_nocheck": ("elt_nocheck([1], 3)", "i is 3, #v is 1"),
    "eput": ("eput([1], [(5, 1)])", "ps is [(5, 1)], #d is 1"),
    "exp_string": ("exp_string(1.5, 9)", "d is 9"),
    "expt": ("expt(-1.0, 2.0)", "x is -1.0"),
    "flag_merge": ("flag_merge([t, t], [1], [2])", "#fl is 2, fl is [t, t], #v1 is 1, #v2 is 1"),
    "flag_partition": ("flag_partition([1, 2], [t])", "#s is 2, #fl is 1"),
    "fseq": ("fseq(0.0, 0.0, 1.0)", "d is 0.0, e is 1.0, s is 0.0"),
    "get_boxsize": ("get_boxsize((1, 1), (inf, inf))", ""),
    "get_nocheck": ("get_nocheck([1], [4])", "i is [4], #v is 1"),
    "group_by": ("group_by([1], 0)", "n is 0"),
    "group_by_separator_flags": ("group_by_separator_flags([1, 2], [t])", "#s is 2, #fl is 1"),
    "hash": ("hash(1, 0)", "n is 0"),
    "head_rest": ("head_rest([] int)", "#v is 0"),
    "index": ("index(-3)", "n is -3"),
    "interleave": ("interleave([1], [2, 3])", "#a is 1, #b is 2"),
    "iseq1": ("iseq1(5, 2)", "s is 5, e is 2"),
    "isqrt": ("isqrt(-4)", "n is -4"),
    "join": ("join([1], [0], [2], [5])", "#v1 is 1, #p1 is 1, #v2 is 1, #p2 is 1, p1 is [0], p2 is [5]"),
    "k_smallest": ("k_smallest([3, 1], 5)", "k is 5, #v is 2"),
    "key_char": ("key_char(-1, 0, 0)", "code is -1"),
    "kth_smallest": ("kth_smallest([1, 2], 7)", "k is 7, #v is 2"),
    "log": ("log(2.0, 1.0)", "x is 2.0, b is 1.0"),
    "median": ("median([] int)", "#v is 0"),
    "mirror": ("mirror(1, 0)", "n is 0"),
    "nest": ("nest([1, 2], [3])", "segdes is [3], #v is 2"),
    "next_char": ("next_char([7], \"a\", \"b\", 0)", "candidates is [7], i is 0, #s is 1"),
    "pad_with": ("pad_with([1], -1, 0, 2)", "l is -1, r is 0, #v is 1"),
    "pad_with2": ("pad_with2([[1]], 0, -2, 2)", "l is 0, r is -2"),
    "permute": ("permute([1, 2, 3], [0, 1])", "#v is 3, #i is 2, i is [0, 1]"),
    "permute_nocheck": ("permute_nocheck([1, 2, 3], [0, 1])", "#v is 3, #i is 2, i is [0, 1]"),
    "put": ("put([1, 2], [0], [1, 2, 3])", "#v is 2, #i is 1, i is [0], #d is 3"),
    "read": ("read([1], [4])", "i is [4], #v is 1"),
    "reciprocal": ("reciprocal(0.0)", "x is 0.0"),
    "rem_internal": ("rem_internal(1, 0)", "b is 0"),
    "rep": ("rep([1, 2], 5, 9)", "i is 9, #v is 2"),
    "rest_tail": ("rest_tail([] int)", "#v is 0"),
    "seq_dist": ("seq_dist(1, -3)", "n is -3"),
    "slice": ("slice([1, 2], 1, 3)", "s is 1, e is 3, #v is 2"),
    "slide": ("slide([1, 2], 0, 1)", "size is 0, step is 1"),
    "slide2": ("slide2([[1]], 1, 0)", "size is 1, step is 0"),
    "split": ("split([1, 2], [t])", "#v is 2, #fl is 1"),
    "take": ("take([1], -2)", "n is -2, #v is 1"),
    "transpose": ("transpose([[1, 2], [3]])", ""),
    "unpack": ("unpack([1], [t, t])", "fl is [t, t], #v is 1"),
    "vsep": ("vsep([1])", "#v is 1"),
    "w_get_color": ("w_get_color(nan, 0.0, 1.0)", "red is nan, blue is 0.0, green is 1.0"),
    "wrap": ("wrap(1, 0)", "n is 0"),
    "zip": ("zip([1], [2, 3])", "#a is 1, #b is 2"),
    "zip3": ("zip3([1], [2], [3, 4])", "#a is 1, #b is 1, #c is 2"),
}
OWN_MESSAGES = [
    "BLOCKS makes equal parts and leaves no element over: use group_by, or another k.",
    "BLOCKS makes parts of at least 1 element.", "Bounds error for function DROP.", "Bounds error for function TAKE.",
    "In function exp_string, digits_after_point is too large.", "GROUP_BY makes parts of at least 1 element.",
    "The second argument for the function HASH must be positive.", "Length mismatch for function INTERLEAVE.",
    "The number of elements that PAD puts at an end must not be negative.", "Length mismatch in function ZIP.",
    "SLIDE needs windows of at least 1 element, at least 1 element apart.",
    "Lengths of subsequences are not equal in function TRANSPOSE."]
OWN = [name for name in FUNCTIONS if name not in PRIMITIVES and prebuilt().function(name)]


def failures(program: str, target: str) -> list[NessieError]:
    if target == "cudasim" and not compiler.found():
        pytest.skip("no compiler for cudasim")
    return [found for found in Session(Target(target)).run(Source("test", program)) if isinstance(found, NessieError)]


def failure(program: str, target: str) -> NessieError:
    [found] = failures(program, target)
    return found


def told(error: NessieError) -> tuple[str, str]:
    """The text under which the carets stand, and the label."""
    assert error.span is not None
    return error.span.source.text[error.span.start:error.span.end], error.places[0][1]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_each_function_tells_its_call_its_arguments_and_its_needs(target: str) -> None:
    program = "\n".join([f"{call};" for call, _ in CALLS.values()])
    for (name, (call, label)), error in zip(CALLS.items(), failures(program, target), strict=True):
        assert told(error)[0] == call
        assert told(error)[1].endswith(label) and (label or not told(error)[1])
        assert error.hint.startswith(f"{name}(") and " needs " in error.hint
        assert error.message == f"Bad arguments to function {name.upper()}." or error.message in OWN_MESSAGES
        assert "the index" not in str(error) and "the length" not in str(error)


def argument_type(name: str) -> Type:
    type_ = library().builtin(name).scheme.type
    assert isinstance(type_, Fun)
    return type_.argument


def takes_functions(name: str) -> bool:
    return any([isinstance(part, Fun) for part in components(argument_type(name))])


def test_each_function_that_says_what_it_needs_has_a_call_here() -> None:
    says = {name for name in OWN if "Checked: " in prebuilt().documentation(name) and not takes_functions(name)}
    assert says == set(CALLS)


def value(type_: Type, drawn: random.Random) -> object:
    match type_:
        case Base("int"):
            return drawn.randint(-3, 5)
        case Base("float"):
            return drawn.choice([-1.5, 0.0, 1.0, 2.5, float("nan"), float("inf"), 1e300])
        case Base("bool"):
            return drawn.random() < 0.5
        case Base("char"):
            return drawn.choice("aB .1\n-e")
        case Pair(first, second):
            return value(first, drawn), value(second, drawn)
    assert isinstance(type_, Seq)
    return interpreter.Made([value(type_.element, drawn) for _ in range(drawn.randint(0, 4))])


@pytest.mark.parametrize("name", [name for name in OWN if not takes_functions(name)])
def test_a_function_that_fails_says_what_it_needs(name: str) -> None:
    """With random arguments of random types."""
    function = prebuilt().function(name)
    assert function is not None
    type_ = argument_type(name)
    variables = list(dict.fromkeys(free_variables(type_)))
    for seed in range(60):
        drawn = random.Random(seed)
        types = {v.name: drawn.choice(CHOICES[v.cls][:4]) for v in variables}
        argument = substitute(type_, types)
        if any(isinstance(part, Data) for part in components(argument)):
            continue
        try:
            interpreter.call(interpreter.World(prebuilt()), name, value(argument, drawn),
                             tuple([types[v.name] for v in function.variables]))
        except NessieError:
            assert "Checked: " in prebuilt().documentation(name)


DEFINITIONS = "function least(v, k) = k_smallest(v, k); function sevens(v) = {rep(r, 1, 7) : r in v};"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form, message, label", [
    ("{kth_smallest(r, 2) : r in [[1, 2, 3], [4]]};", "KTH_SMALLEST", "at element 1: k is 2, #v is 1"),
    ("let g = isqrt in g(-3);", "ISQRT", "n is -3"),
    ("least([1], 2);", "K_SMALLEST", "k is 2, #v is 1"),
    ("sevens([[1, 2]]);", "REP", "at element 0: i is 7, #v is 2"),
    ("{buckets(n, [(3, n)]) : n in [4, 2]};", "BUCKETS", "at element 1: n is 2, kvs is [(3, 2)]"),
    ("buckets(9, {(i, `a) : i in [0:90]});", "BUCKETS", "n is 9, kvs goes from (0, `a) to (89, `a)"),
    ("put([0:40], [1:41], [0:40]);", "PUT", "#v is 40, #i is 40, i goes from 1 to 40, #d is 40"),
    ("permute([4, 5], [0, 9]);", "PERMUTE", "at element 1: position is 9, n is 2"),
    ("permute([0:100000], [1:100001]);", "PERMUTE", "at element 99999")])
def test_calls_in_other_places(target: str, form: str, message: str, label: str) -> None:
    error = failure(DEFINITIONS + form, target)
    assert error.message == f"Bad arguments to function {message}." and told(error)[1] == label


UNEVEN = "BLOCKS makes equal parts and leaves no element over: use group_by, or another k."
SLID = "SLIDE needs windows of at least 1 element, at least 1 element apart."
UNEQUAL = "Lengths of subsequences are not equal: rows must be of one length here."
EMPTY = "PAD has no elements to put around an empty sequence: use pad_with or pad_with2."
BELOW = "The number of elements that PAD puts at an end must not be negative."


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("form, message, label", [
    ("blocks2([[1, 2, 3], [4, 5, 6]], 2);", UNEVEN, "k is 2, #m is 2, #m[0] is 3"),
    ("blocks2([[1, 2], [4, 5, 6]], 2);", UNEQUAL, "k is 2, #m is 2, #m[0] is 2, #m[1] is 3"),
    ("slide2([[1], [2], [4, 5, 6]], 1, 1);", UNEQUAL, "size is 1, step is 1, #m[0] is 1, #m[2] is 3"),
    ("slide2([[1], [2]], 0, 1);", SLID, "size is 0, step is 1"),
    ("pad_with2([[1, 2], [] int], 1, 0, 7);", UNEQUAL, "l is 1, r is 0, #m[0] is 2, #m[1] is 0"),
    ("pad([] int, 1, 2, clamp);", EMPTY, "l is 1, r is 2, #v is 0"),
    ("{pad(v, 1, 2, wrap) : v in [[1], [] int]};", EMPTY, "at element 1: l is 1, r is 2, #v is 0"),
    ("pad([1, 2], -1, 1, mirror);", BELOW, "l is -1, r is 1, #v is 2"),
    ("pad2([[1, 2], [] int], 1, 1, clamp);", EMPTY, "l is 1, r is 1, #m is 2, #m[1] is 0"),
    ("pad2([] [int], 1, 1, clamp);", EMPTY, "l is 1, r is 1, #m is 0")])
def test_padding_blocks_and_windows_tell_of_rows(target: str, form: str, message: str, label: str) -> None:
    error = failure(form, target)
    assert error.message == message and told(error)[1] == label and " needs " in error.hint


def test_a_rule_that_fails_is_not_the_librarys() -> None:
    error = failure("pad([1, 2], 1, 1, (i, n) => i / 0);", "cpu")
    assert told(error) == ("i / 0", "at element 0: -1 / 0") and error.hint == ""
    error = failure("pad([1, 2], 1, 1, (i, n) => blocks([i], 2)[0][0]);", "cpu")
    assert told(error)[0] == "blocks([i], 2)" and error.hint.startswith("blocks(")


@pytest.mark.parametrize("form, message", [
    ("v = [1]; v[3];", "Sequence reference (a[i]) out of bounds."), ("1 / 0;", "Divide by zero."),
    ("map(isqrt, [-3]);", "Sqrt of negative number."),
    ("reduce(rem, 0, [1, 0, 0]);", "Divide by zero in function REM."),
    ("map(x => 1 / x, [0]);", "Divide by zero."),
    ("function median(v) = v[#v / 2]; median([] int);", "Sequence reference (a[i]) out of bounds.")])
def test_what_the_user_wrote_keeps_its_message(form: str, message: str) -> None:
    error = failure(form, "reference")
    assert error.message == message and " needs " not in error.hint
