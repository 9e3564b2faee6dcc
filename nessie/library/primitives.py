"""The table of NESL's primitives, a row each. The rest of the library is written in NESL over these (prelude.nesl).

A row's kind says what monomorphisation makes of it:

    scalar     the primitive `target` of mono, an operator of lambda_cu.ops
    sequence   the primitive `target` of mono
    pair       `target` first or second: a projection
    check      _check(condition, message, value): the value; where the condition fails, a run-time error with the
               message, a string literal, and the value is not computed
    derived    a function for every type, made from the types it is used at by mono.copies.derived
    effect     the primitive `target` of mono: what nessie.running.world does with the world outside, in the order
               written

Names that begin with `_` belong to the library: programs neither see them nor clash with them.
"""
from __future__ import annotations

import math
from typing import TypeAlias

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass


@dataclass(frozen=True)
class Primitive:
    """A primitive. `type` is written as in NESL: variables a, b, .. with their classes after `::`. `mono_type` is the
    type of its target, if that is more general."""
    name: str
    type: str
    kind: str
    target: str
    doc: str
    mono_type: str = ""

    @property
    def checked(self) -> bool:
        """Does it fail on some arguments? Then its documentation says on which."""
        return "Checked" in self.doc


ConstantValue: TypeAlias = "int | float | str | tuple[ConstantValue, ConstantValue]"


@dataclass(frozen=True)
class Constant:
    """A constant. The `value` of a datatype's constant is its constructor's argument; a text has the type `[char]`."""
    name: str
    value: ConstantValue
    type: str
    doc: str


NUMBER, LOGICAL, ORDINAL = " :: (a in number)", " :: (a in logical)", " :: (a in ordinal)"
REAL, OF_TWO = "float -> float", "(float, float) -> float"
RESIZED = "a -> b :: (a in number; b in number)"
EQUALITY = "(a, a) -> bool :: (a in scalar)"


def scalar(name: str, type_: str, doc: str, target: str = "", mono_type: str = "") -> Primitive:
    return Primitive(name, type_, "scalar", target or name, doc, mono_type)


def sequence(name: str, type_: str, doc: str, target: str = "") -> Primitive:
    return Primitive(name, type_, "sequence", target or name, doc)


def derived(name: str, type_: str, doc: str) -> Primitive:
    return Primitive(name, type_, "derived", name, doc)


def effect(name: str, type_: str, doc: str, mono_type: str = "") -> Primitive:
    return Primitive(name, type_, "effect", name, doc, mono_type)


# Words and reals, the ints and floats of 64 bits that the library computes with whatever the program's widths are.
# Behind the source they are int and float, as which an int32 and a float32 can be taken.
OF_WORDS = (
    scalar("_word", "int -> _word", "The int as a word.", "resized", RESIZED),
    scalar("_int", "_word -> int", "The word's lower bits as an int.", "resized", RESIZED),
    scalar("_real", "float -> _real", "The float as a real.", "resized", RESIZED),
    scalar("_float", "_real -> float", "The nearest float.", "resized", RESIZED),
    scalar("_real_of", "int -> _real", "The int as a real.", "float"),
    scalar("_real_of_word", "_word -> _real", "The nearest real.", "float"),
    scalar("_trunc", "_real -> int", "As trunc.", "trunc"),
    scalar("_word_of", "_real -> _word", "As trunc.", "trunc"),
    scalar("_floor", "_real -> int", "As floor.", "floor"),
    scalar("_sqrt", "_real -> _real", "As sqrt.", "sqrt"),
    scalar("_ln", "_real -> _real", "As ln.", "ln"),
    scalar("_shifted", "(_word, int) -> _word", "As rshift.", "rshift"),
    scalar("_remainder", "(_word, _word) -> _word", "As mod.", "mod"),
    scalar("_mul_high", "(_word, _word) -> _word", "The upper 64 bits of the product of words without signs.",
           "mul_high", "(int, int) -> int"),
    scalar("_ones", "_word -> _word", "How many bits of the word are 1.", "ones", "int -> int"),
    scalar("_mix", "_word -> _word", "64 bits that look random, the same for the same word.", "mix", "int -> int"),
)

SCALARS = (
    scalar("+", "(a, a) -> a" + NUMBER, "Sum; int wraps."),
    scalar("-", "(a, a) -> a" + NUMBER, "Difference; int wraps."),
    scalar("*", "(a, a) -> a" + NUMBER, "Product; int wraps."),
    scalar("/", "(a, a) -> a" + NUMBER, "Quotient; int truncates towards zero. Checked: the divisor is not zero."),
    scalar("rem", "(int, int) -> int", "Remainder, with the dividend's sign. Checked: the divisor is not zero."),
    scalar("mod", "(int, int) -> int", "Remainder, with the divisor's sign. Checked: the divisor is not zero."),
    scalar("negate", "a -> a" + NUMBER, "Zero minus the number.", "neg"),
    scalar("abs", "a -> a" + NUMBER, "Absolute value."),
    scalar("max", "(a, a) -> a" + ORDINAL, "The greater of two."),
    scalar("min", "(a, a) -> a" + ORDINAL, "The lesser of two."),
    scalar("==", "(a, a) -> bool" + ORDINAL, "Equal. For other types: eql.", mono_type=EQUALITY),
    scalar("/=", "(a, a) -> bool" + ORDINAL, "Not equal.", mono_type=EQUALITY),
    scalar("<", "(a, a) -> bool" + ORDINAL, "Less."),
    scalar("<=", "(a, a) -> bool" + ORDINAL, "Less or equal."),
    scalar(">", "(a, a) -> bool" + ORDINAL, "Greater."),
    scalar(">=", "(a, a) -> bool" + ORDINAL, "Greater or equal."),
    scalar("and", "(a, a) -> a" + LOGICAL, "Conjunction; bitwise on int. Both sides are evaluated."),
    scalar("or", "(a, a) -> a" + LOGICAL, "Disjunction; bitwise on int. Both sides are evaluated."),
    scalar("xor", "(a, a) -> a" + LOGICAL, "Exclusive or; bitwise on int."),
    scalar("not", "a -> a" + LOGICAL, "Complement; bitwise on int."),
    scalar("lshift", "(int, int) -> int", "Shift left. Checked: the count is in 0..63; with --int 32, 0..31."),
    scalar("rshift", "(int, int) -> int",
           "Shift right, keeping the sign. Checked: the count is in 0..63; with --int 32, 0..31."),
    scalar("float", "int -> float", "The int as a float."),
    scalar("trunc", "float -> int", "The float without its fraction. Checked: the result is an int."),
    scalar("floor", "float -> int", "The greatest int not above. Checked: the result is an int."),
    scalar("ceil", "float -> int", "The least int not below. Checked: the result is an int."),
    scalar("round", "float -> int", "The nearest int; halves away from zero. Checked: the result is an int."),
    scalar("btoi", "bool -> int", "1 for t, 0 for f."),
    scalar("char_code", "char -> int", "The character's code."),
    scalar("code_char", "int -> char", "The character of a code. Checked: the code is one of Unicode."),
    scalar("sqrt", REAL, "Square root. Checked: not negative."),
    scalar("ln", REAL, "Natural logarithm. Checked: not negative."),
    scalar("exp", REAL, "e to the power x."),
    scalar("sin", REAL, "Sine of an angle in radians."),
    scalar("cos", REAL, "Cosine of an angle in radians."),
    scalar("tan", REAL, "Tangent of an angle in radians."),
    scalar("asin", REAL, "Arc sine, in radians."),
    scalar("acos", REAL, "Arc cosine, in radians."),
    scalar("atan", REAL, "Arc tangent, in radians."),
    scalar("sinh", REAL, "Hyperbolic sine."),
    scalar("cosh", REAL, "Hyperbolic cosine."),
    scalar("tanh", REAL, "Hyperbolic tangent."),
    scalar("_isnan", "float -> bool", "Not a number?", "isnan"),
    scalar("_cbrt", REAL, "Cube root.", "cbrt"),
    scalar("_exp2", REAL, "2 to the power x.", "exp2"),
    scalar("_log2", REAL, "Logarithm to the base 2; NaN of negative numbers.", "log2"),
    scalar("_log10", REAL, "Logarithm to the base 10; NaN of negative numbers.", "log10"),
    scalar("_pow", OF_TWO, "x to the power y; NaN of a negative x and a y that is no int.", "pow"),
    scalar("_fmod", OF_TWO, "Remainder, with the dividend's sign; NaN of a divisor 0.", "fmod"),
    scalar("_atan2", OF_TWO, "The angle of the point (x, y); y comes first, and zeros have their signs.", "atan2"),
    scalar("_hypot", OF_TWO, "The length of a vector.", "hypot"),
    scalar("_copysign", OF_TWO, "x with the sign of y.", "copysign"),
)

SEQUENCES = (
    sequence("length", "[a] -> int", "Number of elements; also #v."),
    sequence("elt", "([a], int) -> a", "The element at a position, also v[i]. Checked: 0 <= i < #v."),
    sequence("dist", "(a, int) -> [a]", "n copies of a value. Checked: n >= 0."),
    sequence("iseq", "(int, int, int) -> [int]",
             "iseq(s,d,e) is s, s+d, s+2d .. below e, also [s:e:d]. Checked: s <= e, d >= 1."),
    sequence("sum", "[a] -> a" + NUMBER, "Sum of the elements.", "reduce_+"),
    sequence("product", "[a] -> a" + NUMBER, "Product of the elements.", "reduce_*"),
    sequence("max_val", "[a] -> a" + ORDINAL, "Greatest element.", "reduce_max"),
    sequence("min_val", "[a] -> a" + ORDINAL, "Least element.", "reduce_min"),
    sequence("any", "[a] -> a" + LOGICAL, "Is any element true? Bitwise or on int.", "reduce_or"),
    sequence("all", "[a] -> a" + LOGICAL, "Are all elements true? Bitwise and on int.", "reduce_and"),
    sequence("parity", "[a] -> a" + LOGICAL, "Exclusive or of the elements.", "reduce_xor"),
    sequence("plus_scan", "[a] -> [a]" + NUMBER, "Sums of the elements before each element.", "scan_+"),
    sequence("mult_scan", "[a] -> [a]" + NUMBER, "Products of the elements before each element.", "scan_*"),
    sequence("max_scan", "[a] -> [a]" + ORDINAL, "Greatest of the elements before each element.", "scan_max"),
    sequence("min_scan", "[a] -> [a]" + ORDINAL, "Least of the elements before each element.", "scan_min"),
    sequence("or_scan", "[a] -> [a]" + LOGICAL, "Disjunction of the elements before each element.", "scan_or"),
    sequence("and_scan", "[a] -> [a]" + LOGICAL, "Conjunction of the elements before each element.", "scan_and"),
    sequence("xor_scan", "[a] -> [a]" + LOGICAL, "Exclusive or of the elements before each element.", "scan_xor"),
    sequence("get", "([a], [int]) -> [a]", "The elements at the given positions, also v -> i. Checked: in range."),
    sequence("write", "([a], [(int, a)]) -> [a]",
             "A copy with values put at positions, also d <- ps; the last write stays. Checked: in range."),
    sequence("write_add", "([a], [(int, a)]) -> [a]" + NUMBER,
             "A copy with values added to what is at positions. Checked: in range.", "combine_+"),
    sequence("write_max", "([a], [(int, a)]) -> [a]" + ORDINAL,
             "A copy with the greatest of what is at a position and the values put there. Checked: in range.",
             "combine_max"),
    sequence("write_min", "([a], [(int, a)]) -> [a]" + ORDINAL,
             "A copy with the least of what is at a position and the values put there. Checked: in range.",
             "combine_min"),
    sequence("append", "([a], [a]) -> [a]", "One sequence after the other, also a ++ b."),
    sequence("flatten", "[[a]] -> [a]", "The inner sequences one after another."),
    sequence("partition", "([a], [int]) -> [[a]]",
             "Cuts a sequence into parts of the given lengths. Checked: none negative, their sum is #v."),
    sequence("subseq", "([a], int, int) -> [a]", "Elements s .. e-1. Checked: 0 <= s <= e <= #v."),
    sequence("_compact", "a -> a", "The value itself, perhaps copied (mono.passes.release)."),
    sequence("_order", "[a] -> [int]" + ORDINAL, "Positions of the elements in ascending order; stable, NaN last.",
             "order"),
    sequence("_sort", "[a] -> [a]" + ORDINAL, "The elements in ascending order; stable, NaN last.", "sort"),
    sequence("_order_down", "[a] -> [int]" + ORDINAL, "Positions of the elements in descending order; stable.",
             "order_down"),
    sequence("_firsts", "[a] -> [int]" + ORDINAL, "For each element the position of the first that equals it.",
             "firsts"),
)

SPECIALS = (
    Primitive("first", "(a, b) -> a", "pair", "first", "The first component of a pair."),
    Primitive("rest", "(a, b) -> b", "pair", "second", "What follows the first component."),
    Primitive("_check", "(bool, [char], a) -> a", "check", "check", "The value, if the condition holds."),
    derived("eql", "(a, a) -> bool", "Equal, at any type: element by element."),
    derived("string", "a -> [char]", "A value as text; also @x."),
    derived("identity", "a -> a", "The zero of the type: 0, 0.0, f, the character of code 0, an empty sequence; "
            "a function is its own."),
    derived("_code", "a -> _word", "A word made from the value, the same for equal values."),
    derived("_label", "[a] -> [int]", "Numbers from 0 to #v-1, the same for equal values and only for them."),
    derived("_place", "[a] -> [int]", "For each element how many different ones are less. The first component that "
            "differs decides; no NaN is another."),
    derived("_ordered", "[a] -> [int]", "Positions of the elements in ascending order; stable, NaN last."),
    derived("_string_limited", "(a, int) -> [char]", "As string, but n levels deep and 5 elements wide."),
    derived("_zero_of", "[a] -> a", "The zero of the type of the elements, of which there may be none."),
    derived("_least", "[a] -> a" + ORDINAL, "The least value of the type of the elements, of which there may be none."),
    derived("_greatest", "[a] -> a" + ORDINAL, "The greatest value of the type of the elements."),
    derived("one", "a -> a" + NUMBER, "The 1 of the number's type."),
    derived("zero", "a -> a" + NUMBER, "The 0 of the number's type."),
    derived("rand", "a -> a" + NUMBER, "A random number from 0 up to, but not including, v. Checked: v > 0."),
    derived("_precision", "a -> int" + NUMBER, "The bits of a float's fraction, 53 or 24."),
    derived("_bits", "a -> int" + NUMBER, "The bits of an int, 64 or 32."),
    derived("_steps", "a -> _real" + NUMBER, "2 to that power."),
    derived("_digits", "a -> int" + NUMBER, "The digits of a float as text, 8 or 7."),
    derived("float_num", "a -> float" + NUMBER, "An int or a float as a float."),
    derived("int_to_any", "(int, a) -> a" + NUMBER, "The int, converted to the type of the second argument."),
    derived("float_to_any", "(float, a) -> a" + NUMBER, "The float, converted to the type of the second argument."),
)

# The effects that elements of an apply-to-each may have all at once; others are refused there. (Random numbers are no
# longer effects by then: mono.passes.random_state.)
TOGETHER = ("print_string", "_paint")         # one effect does what those of all elements would do in order
LIFTED_EFFECTS = (*TOGETHER, "error", "_now")
ONE_AT_A_TIME = ("files, streams, other programs and the seed of the random numbers cannot be used inside an "
                 "apply-to-each")
STATUS = "bool, [char]"                 # whether it succeeded, and if not, why
EFFECTS = (
    effect("print_string", "[char] -> bool", "Prints the characters; t."),
    effect("error", "[char] -> bool", "Stops with the message.", mono_type="[char] -> a"),
    effect("_draw", "bool -> _word", "64 random bits.", mono_type="bool -> int"),
    effect("_now", "bool -> _real", "Seconds since some moment.", mono_type="bool -> float"),
    effect("_open", f"([char], int) -> (int, {STATUS})", "The stream of a file: 1 to read, 2 to write, 3 to append."),
    effect("_close", f"int -> ({STATUS})", "Closes a stream."),
    effect("_read_string", f"([char], int, int) -> (([char], int), {STATUS})",
           "Reads to one of the characters, at most n if n >= 0; what ended it: the character, -1 the end, -2 the n."),
    effect("_write_string", f"([char], int) -> ({STATUS})", "Writes the characters to a stream."),
    effect("_read_object", f"(a, int) -> (a, {STATUS})", "Reads a value of this one's type that _write_object wrote."),
    effect("_write_object", f"(a, int) -> ({STATUS})", "Writes a value to a stream."),
    effect("_read_numbers", f"(a, int) -> ([a], {STATUS}){NUMBER}", "Reads numbers of this one's type in parentheses."),
    effect("_spawn", f"([char], int, int, int) -> ((int, int, int), {STATUS})",
           "Starts a program on streams, new ones for -1; its input, output and error streams."),
    effect("_shell", f"([char], [char]) -> ([char], {STATUS})", "What a shell's command makes of the text."),
    effect("get_environment_variable", "[char] -> [char]", "The value of an environment variable, or nothing."),
    effect("_open_window", "([char], int, int, int, int, int) -> int",
           "The number of a new window: title, left, low, width, height; of kind 1 the title names a file."),
    effect("_paint", "[int] -> bool", "Draws shapes, each as its numbers behind how many they are; t."),
    effect("_next_event", "(int, bool) -> (bool, int, int, int, int, int)",
           "Is there an event in the window, or will there be, if t? Its type, place, keys held and key."),
    effect("rand_seed", "int -> bool", "Seeds the random numbers; t."),
    effect("_seed", "bool -> _word", "The seed that random numbers begin with.", mono_type="bool -> int"),
)

PRIMITIVES: dict[str, Primitive] = {row.name: row for row in OF_WORDS + SCALARS + SEQUENCES + SPECIALS + EFFECTS}

# The primitives of mono by their names there.
IN_MONO: dict[str, Primitive] = {row.target: row for row in PRIMITIVES.values() if row.kind not in ("pair", "derived")}

# The constants of drawing, each with its value and documentation.
W_COLORS = (*((f"w_{name.replace(' ', '_')}", value, f"The colour {name}.") for name, value in (
    ("black", 0), ("white", 63), ("red", 3), ("blue", 12), ("green", 48), ("cyan", 60), ("yellow", 51), ("magenta", 15),
    ("pink", 43), ("light green", 58), ("light blue", 44), ("purple", 9), ("gray", 42), ("grey", 42), ("dark gray", 21),
    ("orange", 35))), ("w_xor", 64, "The colour that turns what is below it."))
DRAWING: tuple[tuple[str, ConstantValue, str], ...] = (
    *((f"xps_func_{name}", value, "How drawing changes pixels.") for name, value in (
        ("clear", 0), ("and", 1), ("and_reverse", 2), ("copy", 3), ("and_inverted", 4), ("noop", 5), ("xor", 6),
        ("or", 7), ("set", 15))),
    *((f"xps_color_{name}", (red, (blue, green)), "Red, blue and green, up to 65535.") for name, red, blue, green in (
        ("red", 65535, 0, 0), ("blue", 0, 65535, 0), ("green", 0, 0, 65535), ("cyan", 0, 65535, 65535),
        ("yellow", 65535, 0, 65535), ("purple", 65535, 65535, 0))),
    *((f"xps_event_{name}", value, "A type of events.") for name, value in (
        ("key_press", 2), ("key_release", 3), ("button_press", 4), ("button_release", 5), ("motion_notify", 6))),
    *((f"xps_event_mask_{name}", value, "Types of events.") for name, value in (
        ("no_event", 0), ("key_press", 1), ("key_release", 2), ("button_press", 4), ("button_release", 8),
        ("enter_window", 16), ("leave_window", 32), ("pointer_motion", 64), ("pointer_motion_hint", 128),
        ("button1_motion", 256), ("button2_motion", 512), ("button3_motion", 1024))))

CONSTANTS: dict[str, Constant] = {row.name: row for row in (
    Constant("pi", math.pi, "float", "3.141592653589793."),
    Constant("inf", math.inf, "float", "Infinity; -inf is below all floats."),
    Constant("nan", math.nan, "float", "No number: it equals nothing, itself neither."),
    Constant("max_int", MAX_INT, "int", "The greatest int, 2^63 - 1; with --int 32, 2^31 - 1."),
    Constant("min_int", MIN_INT, "int", "The least int, -2^63; with --int 32, -2^31."),
    Constant("newline", "\n", "char", "The character of code 10."),
    Constant("space", " ", "char", "A blank."),
    Constant("tab", "\t", "char", "The character of code 9."),
    Constant("nullstr", -1, "stream", "No stream."),
    Constant("stdin", 0, "stream", "The standard input."),
    Constant("stdout", 1, "stream", "Where programs print."),
    Constant("stderr", 2, "stream", "Where programs print, too."),
    Constant("display", "", "[char]", "Where windows are shown: nowhere, they become pictures."),
    Constant("nesl_path", "", "[char]", "Stands before names of files: nothing, they lie where Nessie runs."),
    Constant("user", "", "[char]", "Ends names of files in programs of CMU's: nothing."),
    Constant("default_window", ((500, 0), (500, 500)), "(int, int), int, int", "A place and a size for windows."),
    *(Constant(name, value, "int" if isinstance(value, int) else "int, int, int", doc)
      for name, value, doc in (*W_COLORS, *DRAWING)),
)}

# The rows of this table and the constants that a program may redefine for itself, as all that the library defines.
REDEFINABLE = frozenset((
    "sum", "product", "max_val", "min_val", "any", "all", "parity", "subseq", "inf", "nan", "first", "rest", "identity",
    "one", "zero", "display", "nesl_path", "user", *(name for name, _, _ in (*W_COLORS, *DRAWING))))

# The functions of those operators of the syntax that are not primitives of the operator's own name.
BINARY: dict[str, str] = {"->": "get", "<-": "write", "++": "append", "^": "_power", "||": "_pad",
                          "nand": "_nand", "nor": "_nor"}
UNARY: dict[str, str] = {"#": "length", "-": "negate", "@": "string"}
