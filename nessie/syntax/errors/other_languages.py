"""Hints at syntax of other languages that NESL writes differently: signs, words, names of functions. Nobody reads this
module before there is an error.
"""
from __future__ import annotations

import re

from nessie.base.source import Span

CHARACTER = "a character is `a, a string is \"abc\""
BOTH, EITHER, NEGATED = "a and b is true where both are", "a or b is true where one is", "not(a) negates"
POWER = "a ^ n is a to the power of an int, expt(x, y) of floats"
UNEQUAL, EQUAL = "/= is unequal", "== compares; = binds names, in a let or at the top level"
ANEW = "a variable is not changed, but set anew, at the top level: x = x + 1"
APART = "let (a, b) = p in a takes a pair apart"
COMMENT = "a comment stands between two %: % like this %"
COMMENT_BEGINS = re.compile(r"\s*(#\s+[^\W\d]|--\s|//|/\*)")
TYPE_WORDS = ("int", "float", "bool", "char")

# Signs, as they are written. Each is an error in a NESL text, or at least in an expression of bools.
SIGNS = {
    "!=": UNEQUAL, "!==": UNEQUAL, "<>": UNEQUAL, "~=": UNEQUAL, "===": EQUAL, "=<": "<= is at most",
    "!": NEGATED, "~": NEGATED, "&&": BOTH, "&": BOTH, "||": EITHER,
    "'": CHARACTER, "\u2018": CHARACTER, "\u2019": CHARACTER, "\u201c": CHARACTER, "\u201d": CHARACTER,
    "**": POWER, "//": "/ divides, and drops the remainder of ints",
    "\u2260": UNEQUAL, "\u2264": "<= is at most", "\u2265": ">= is at least", "\u2212": "the minus sign is -",
    "\u00d7": "* multiplies", "\u00b7": "* multiplies", "\u2192": "-> takes elements by their indices",
    "<<": "lshift(a, n) shifts", ">>": "rshift(a, n) shifts",
    "+=": ANEW, "-=": ANEW, "*=": ANEW, "++": "++ joins two sequences; to count, n + 1", "--": "n - 1 is one less",
    ".": "nothing is asked of a value by a point: v[i] is an element, #v the length, (x, y) = p takes a pair apart",
    "..": "[0:n] is the ints from 0 up to, but without, n", "...": "[0:n] is the ints from 0 up to, but without, n",
    "?": "if c then a else b", "\\": "a function of x is x => x + 1"
}
LONGEST = max(map(len, SIGNS))

# Words that begin constructs which NESL writes differently.
EACH = "an apply-to-each does something with every element: {x * 2 : x in v}; [0:n] is the ints below n"
LOOP = "a loop is a function that calls itself: function g(n) : int -> int = if n > 9 then n else g(2 * n);"
DEFINED = "a function is defined by: function g(x) = x + 1;"
WITHOUT_NAME = "a function without a name is x => x + 1"
SET = "a variable is set by x = 3; at the top level, and by let x = 3 in x + 1"
RESULT = "the body of a function is an expression, whose value is the result: function g(x) = x + 1;"
BRANCHES = "if c then a else b, where b may be another if"
WORDS = {
    **dict.fromkeys(("for", "foreach", "forall"), EACH), **dict.fromkeys(("while", "repeat", "loop"), LOOP),
    **dict.fromkeys(("def", "fun", "fn", "func", "define", "defun"), DEFINED), "lambda": WITHOUT_NAME, "return": RESULT,
    "rec": "a function that calls itself is defined at the top level: function g(n) : int -> int = ...",
    **dict.fromkeys(("var", "val", "const", "auto"), SET),
    **dict.fromkeys(("elif", "elsif", "elseif", "endif", "case", "switch", "match"), BRANCHES),
    **dict.fromkeys(("import", "include", "require"), 'load "file"; evaluates the forms of another file')}
OF_NESL = {                             # the forms that NESL's own words stand in
    **dict.fromkeys(("if", "then", "else"), BRANCHES), "function": DEFINED, "datatype": "datatype point(float, float);",
    "let": "let x = 3; y = x + 1 in x * y", "in": f"{EACH}; let x = 3 in x * x",
    **dict.fromkeys(("and", "or", "not"), f"{BOTH}; {EITHER}; {NEGATED}"), "load": 'load "file";'}
TYPED = dict.fromkeys(("int", "float", "bool", "char", "string", "double"), SET)     # before a variable's name

# Names of functions and constants.
OF_THE_TOOL = "at the prompt, it is a line that begins with a colon; on the command line, nessie --help lists it"
MEAN = "sum(v) / float(#v) is the mean of floats"
REDUCES = "sum, product, max_val, min_val, count, all and any reduce a sequence; reduce(g, id, v) takes any g"
LENGTH, TO_INT = "#v is the length of v", "trunc(x), round(x), floor(x) and ceil(x) make an int of a float"
ADDS, MULTIPLIES = "+ adds; as a function, it is (a, b) => a + b", "* multiplies; as a function, it is (a, b) => a * b"
NAMES = {
    **WORDS, "true": "did you mean t?", "false": "did you mean f?",
    **dict.fromkeys(("fold", "foldl", "foldr"), REDUCES), **dict.fromkeys(("len", "size"), LENGTH),
    "filter": "{x in v | x > 0} is the elements of v with x > 0",
    **dict.fromkeys(("maximum", "minimum"), "max_val(v), min_val(v) are the greatest and the least element"),
    **dict.fromkeys(("modulo", "modulus"), "mod(a, b) has the sign of b, rem(a, b) that of a"),
    **dict.fromkeys(("substring",), "subseq(v, start, end) is a part of a sequence, of a string too"),
    "range": "[0:n] is the ints from 0 up to, but without, n",
    "add": ADDS, "plus": ADDS, "mul": MULTIPLIES, "div": "/ divides; rem(a, b) is the remainder",
    **dict.fromkeys(("head", "car"), "v[0] is the first element"),
    **dict.fromkeys(("tail", "cdr"), "drop(v, 1) is v without its first element"),
    **dict.fromkeys(("fst", "snd", "second"), APART), "neg": "-x is zero minus x, as is negate(x)",
    "plus_reduce": "sum(v) adds the elements", "max_reduce": "max_val(v) is the greatest element",
    "min_reduce": "min_val(v) is the least element",
    "null": "an empty sequence says what it would hold: [] int", "concat": "v ++ w, or flatten of a nested sequence",
    **dict.fromkeys(("int", "integer"), TO_INT),
    **dict.fromkeys(("str", "tostring", "to_string"), "@x is x as a string"), "pow": POWER,
    "log2": "log(x, 2.0) is the logarithm to the base 2", "log10": "log(x, 10.0) is the logarithm to the base 10",
    **dict.fromkeys(("iota", "arange", "index_space"), "[0:n] is the ints from 0 up to, but without, n"),
    **dict.fromkeys(("string_append", "strcat", "concatenate"), "v ++ w is v followed by w, of strings too"),
    **dict.fromkeys(("infinity", "infinite"), "inf is infinity"),
    **dict.fromkeys(("mean", "average", "avg"), MEAN), "ord": "char_code(c) is the code of a character",
    "chr": "code_char(i) is the character of a code",
    **dict.fromkeys(("explain", "graph", "inspect", "reset"), OF_THE_TOOL),
    **dict.fromkeys(("argmin", "argmax"), "min_index(v), max_index(v) are where the least, the greatest stands"),
    "argsort": "rank(v) is each element's place in ascending order",
    "cumsum": "plus_scan(v) has what is before each element; inclusive_scan((a, b) => a + b, 0, v) adds the element",
    "cumprod": "inclusive_scan((a, b) => a * b, 1, v) multiplies each element and those before",
    "where": "{i : i in [0:#c]; b in c | b} is where c holds; {if b then x else y : b in c; x in v; y in w} chooses",
    **dict.fromkeys(("unique", "distinct", "nub"), "remove_duplicates(v) is the first of each set of equal elements"),
    "bincount": "write_add(dist(0, n), {(i, 1) : i in v}) counts each of 0 .. n-1; histogram(v) the values that occur",
    "groupby": "collect(kvs) has for each key its values; group_by(v, n) makes parts of n elements",
    **dict.fromkeys(("zeros", "ones", "full", "repeat", "replicate"), "dist(x, n) is n times x"),
    **dict.fromkeys(("dot", "inner"), "sum({a * b : a in v; b in w}) is the sum of products"),
    "outer": "{{a * b : b in w} : a in v} is the product of each with each",
    "reshape": "blocks(v, n) is rows of n elements",
    "trace": 'print_debug("x", x) prints a value where it is computed, and is x',
    "profile": "at the prompt, :profile f(1) tells work, depth and time; on the command line, nessie profile does",
    "bugs": "nessie doctor tells what is here; what differs from CMU's NESL stands in docs/language.md"}

BORDER_RULES = {                        # NumPy's, of what is padded
    "edge": "clamp is the border rule by which the last element stands beyond an end",
    "symmetric": "mirror is the border rule by which elements go back, the last one first",
    "reflect": "mirror is the border rule by which elements go back, the last one first; without it first, "
               "(i, n) => if i < 0 then -i else if i >= n then 2 * n - 2 - i else i",
    **dict.fromkeys(("constant", "zero", "zeros"), "pad_with(v, l, r, x) and pad_with2(m, l, r, x) put x around")}


def name_hint(name: str, span: Span | None) -> str:
    """Return the hint for an unknown name, by its place."""
    if span is None:
        return NAMES.get(name, "")
    before, after = span.source.text[:span.start], span.source.text[span.end:]
    if name in TYPE_WORDS and before.endswith("[") and after.startswith("]"):
        return f"[] {name} is an empty sequence"
    if re.search(r"`.$", before):
        return "a character is one sign behind `, a string is \"abc\""
    if in_comment(span):
        return COMMENT
    if re.match(r"\s*->", after):
        return f"a function without a name is {name} => {name} + 1; -> takes elements of a sequence by their indices"
    if re.search(rf"(?i)\{{([^{{}}]*:)?\s*{re.escape(name)}\s+in\s[^{{}}|;]*,[^{{}}|;]*$", before):
        return "a condition stands behind |: {x in v | x > 1}"
    if name in BORDER_RULES and re.search(r"(?i)\bpad\w*\s*\([^;]*$", before):
        return BORDER_RULES[name]
    return NAMES.get(name, "")


def in_comment(span: Span) -> bool:
    """Is the span behind a sign that begins a comment in other languages, on its line or after a `;`?"""
    text = span.source.text
    begin = max(text.rfind("\n", 0, span.start), text.rfind(";", 0, span.start)) + 1
    found = COMMENT_BEGINS.match(text, begin)
    return found is not None and found.start(1) <= span.start


def sign_at(text: str, start: int) -> str:
    """Return the hint for the longest sign of another language that begins there; empty if there is none."""
    ends = range(start + LONGEST, start, -1)
    return next((SIGNS[text[start:end]] for end in ends if text[start:end] in SIGNS), "")
