"""Hints for wrong names and types: what the user may have wanted, and places that explain."""
from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from nessie.base.source import NessieError, Span
from nessie.base.text.types_text import show_scheme, visible_variables
from nessie.base.types import (
    BOOL,
    FLOAT,
    INT,
    Base,
    Fun,
    Identity,
    Pair,
    Seq,
    Type,
    components,
    match_types,
    nest_right,
)
from nessie.library.primitives import PRIMITIVES
from nessie.syntax import nodes as syntax
from nessie.syntax.walk import EXPRESSIONS
from nessie.typing.advice.hidden import hidden_by_case
from nessie.typing.advice.lengths import lengths_named_as_ints
from nessie.typing.signatures import context_classes, names_in
from nessie.typing.unify import Clash

DIGITS = re.compile(r"\d+")
INTS = re.compile(r"\[\s*-?\d+(\s*,\s*-?\d+)*\s*\]")
SECOND_OPERAND = re.compile(r"\s+([\w.]+|\([^()]*\))")
OF_TWO = {name for name, row in PRIMITIVES.items() if name.isidentifier() and row.kind == "scalar"
          and row.type.partition("->")[0].count(",") == 1}
ESCAPE = re.compile(r"\\(.)", re.S)
CONTROLS = {"n": "newline", "t": "tab"}
FROM_END = re.compile(r"(\w+)\s*\[\s*-\s*(\d+)\s*\]")
CONSTANT = re.compile(r"[( ]*([tf])[) ]*", re.IGNORECASE)
EXTREME = {"max": "greatest", "min": "least"}
IN_BRACKETS = re.compile(r"\s*[\])},]")
OPERATOR_WORDS = ("and", "or", "nand", "nor", "xor")
FAILED_THERE = "this definition has failed"
WITH_EACH = "an apply-to-each does it with every element"
NOT_TO_SWAP = ("v[i]", "[s:e:d]", "^")


def is_operator(function: str) -> bool:
    return not (function[0].isalpha() or function[0] == "_") or function in OPERATOR_WORDS


def written(span: Span | None) -> str:
    """Return the text of a span, if it is short enough to quote in a line."""
    text = span.source.text[span.start:span.end] if span else ""
    return text if len(text) <= 40 and "\n" not in text else ""


def named(span: Span | None) -> str:
    """Return the words for what stands there: its text, if it is short."""
    return bare(written(span)) or "it"


def bare(argument: str) -> str:
    """Return the text of a function's only argument, without the parentheses around it."""
    return argument[1:-1] if argument.startswith("(") else argument


# Names ------------------------------------------------------------------------------------------------


def definition(name: str, span: Span | None) -> tuple[list[tuple[Span, str]], str]:
    """Return the place of a definition of this name elsewhere in the text, which is not known at the span, and a hint
    about it."""
    if span is None:
        return [], ""
    word = re.escape(name)
    found = re.search(rf"(?im)^(?:[ \t]*(function|datatype)\s+(?={word}\b))?({word})\b(?(1)|[ \t]*=(?![=>]))",
                      span.source.text)
    if found is None or found.start(2) <= span.start < found.end(2):
        return [], ""
    place = Span(span.source, *found.span(2))
    if found[1] is None and place.start < span.start and ";" not in span.source.text[place.end:span.start]:
        return [], ""                   # x = x + 1
    if place.start < span.start:
        return [(place, FAILED_THERE)], "mend what is wrong there first"
    if found[1] is None or found[1].lower() != "function":
        return [(place, "defined here, after its use")], "what is used stands after its definition"
    return ([(place, "defined here, after its use")],
            "a function is defined before it is used; of two that call each other, one is declared first: "
            f"{declaration(name, place)}")


def has_failed(name: str, span: Span | None) -> bool:
    """Has a definition of the name, which stands before the span, failed?"""
    return any([label == FAILED_THERE for _, label in definition(name, span)[0]])


def declaration(name: str, place: Span) -> str:
    """Return the forward declaration of a function defined there, with its types if they stand there on one line."""
    found = re.match(r"[ \t]*(\([^()\n]*\))[ \t]*(?::[ \t]*([^=\n]*?->[^=\n]*?)[ \t]*=)?",
                     place.source.text[place.end:])
    parameters, types = (found[1], found[2]) if found else ("(x)", None)
    return f"function {name}{parameters} : {types or 'ARGUMENT -> RESULT'};"


# Arguments --------------------------------------------------------------------------------------------


def argument_hint(function: str, expected: Type, parts: Sequence[tuple[Span | None, Type]], clash: Clash,
                  called: Span | None) -> str:
    """Return a hint at the argument that may have been meant for a function called at this place."""
    actual = [type_ for _, type_ in parts]
    if hint := semicolon_hint(called, parts[0][0]):
        return hint
    if function in ("==", "/=") and actual[:1] == actual[1:]:
        return "== and /= compare int, float and char; eql(a,b) compares values of any type"
    if function in ("<", ">", "<=", ">=") and isinstance(actual[0], Seq) and actual[:1] == actual[1:]:
        return (f"{function} compares ints, floats and chars, no sequences; element by element, it is "
                f"{{a {function} b : a in v; b in w}}")
    if function in ("sort", "rank") and clash.kind == "class":
        return f"{function}_any(v) is for sequences of any type"
    if function.startswith("int_collect") and isinstance(actual[0], Seq) and isinstance(actual[0].element, Pair):
        return "collect(pairs) takes keys of any type"
    if function == "sum" and actual == [Seq(BOOL)]:
        return "count(v) counts the true elements of v"
    if hint := sequence_hint(function, expected, parts) or power_hint(function, parts):
        return hint
    if function == "v[i]" and actual and isinstance(actual[0], Fun):
        return f"to call a function, use parentheses: {written(parts[0][0])}([{written(parts[-1][0])}])"
    if hint := negated_hint(function, parts):
        return hint
    due = len(components(expected))
    if len(actual) != due and (due > 1 or len(actual) > 1):
        return f"{function} takes {due} argument{'s' if due > 1 else ''}, and gets {len(actual)}"
    return (swap_hint(function, expected, parts) or floats_hint(expected, parts) or number_hint(clash.left, clash.right)
            or function_hint(clash.left, clash.right))


def sequence_hint(function: str, expected: Type, parts: Sequence[tuple[Span | None, Type]]) -> str:
    """Return a hint where a sequence stands for its elements, or elements for it, or for a sign that works on bools
    elsewhere."""
    texts = [written(span) for span, _ in parts]
    match function, [type_ for _, type_ in parts]:
        case "v[i]", [Seq(Seq()), Pair(Base("int"), Base("int"))]:
            row, _, column = texts[1].partition(",")
            return f"an element of a nested sequence is {texts[0] or 'm'}[{row.strip()}][{column.strip()}]"
        case "<-", [Seq(), Pair(Base("int"), _)] | [Seq(), Base("int"), _]:
            return f"<- takes a sequence of pairs: {texts[0] or 'v'} <- [{', '.join(texts[1:]) or '(0, x)'}]"
        case "v[i]", [Pair(), Base("int")]:
            return taken_apart(texts[0])
        case "sum" | "product" | "max_val" | "min_val", [Seq(Seq(Base()))]:
            nested = bare(texts[0]) or "v"
            return f"{{{function}(r) : r in {nested}}} takes each sequence, {function}(flatten({nested})) all together"
        case "+" | "-" | "*" | "/", [Seq(one), other] if one == other:
            return f"{WITH_EACH}: {{x {function} {texts[1] or 'y'} : x in {texts[0] or 'v'}}}"
        case "+" | "-" | "*" | "/", [one, Seq(other)] if one == other:
            return f"{WITH_EACH}: {{{texts[0] or 'y'} {function} x : x in {texts[1] or 'v'}}}"
        case "==" | "/=", [Base("char"), Seq(Base("char"))] | [Seq(Base("char")), Base("char")]:
            from nessie.syntax.errors.other_languages import CHARACTER
            return CHARACTER
        case "++", [Seq(Base("char")), Base("int" | "float" | "bool")]:
            return f"@ makes a string: {texts[0] or 's'} ++ @{texts[1] or 'x'}"
        case "++", [Base("int" | "float" | "bool"), Seq(Base("char"))]:
            return f"@ makes a string: @{texts[0] or 'x'} ++ {texts[1] or 's'}"
        case "||", [Base("bool"), _] | [_, Base("bool")]:
            from nessie.syntax.errors.other_languages import SIGNS
            return SIGNS[function]
        case "+", [Seq(one), Seq(other)] if one == other:
            joined = f"{texts[0] or 'v'} ++ {texts[1] or 'w'}"
            return f"++ joins sequences: {joined}; {{a + b : a in v; b in w}} adds elements"
        case "++", [Seq(one), other] if one == other:
            return f"++ joins sequences: {texts[0] or 'v'} ++ [{texts[1] or 'x'}]"
        case "++", [one, Seq(other)] if one == other:
            return f"++ joins sequences: [{texts[0] or 'x'}] ++ {texts[1] or 'v'}"
        case "max" | "min", [Seq()]:
            return f"{function}_val({bare(texts[0]) or 'v'}) is the {EXTREME[function]} element of a sequence"
        case _, [first, *others] if others and isinstance(expected, Seq) and all(other == first for other in others):
            return f"a sequence has brackets: {function}([{', '.join(texts)}])" if all(texts) else ""
    return ""


def taken_apart(pair: str) -> str:
    return f"a pair is taken apart by a pattern: let (a, b) = {pair or 'p'} in a"


def power_hint(function: str, parts: Sequence[tuple[Span | None, Type]]) -> str:
    """Return a hint that the exponent of ^ is an int."""
    if function != "^" or len(parts) != 2 or parts[1][1] != FLOAT:
        return ""
    (base, type_), (exponent, _) = parts
    text = written(base) or "x"
    shown = text if type_ == FLOAT else f"{text}.0" if text.isdigit() else f"float({text})"
    return f"the exponent of ^ is an int: expt({shown}, {written(exponent) or 'y'}) takes floats"


def negated_hint(function: str, parts: Sequence[tuple[Span | None, Type]]) -> str:
    """Return a hint at `not x > 1`, where `not` takes x alone."""
    text = written(parts[0][0])
    if not is_operator(function) or not re.match("(?i)not\\b", text):
        return ""
    return f"not binds tighter than {function}: not({text[3:].strip()} {function} {written(parts[-1][0])})"


def swap_hint(function: str, expected: Type, parts: Sequence[tuple[Span | None, Type]]) -> str:
    """Return a hint at two arguments that would fit in each other's place."""
    if function in NOT_TO_SWAP:
        return ""
    for one, other in combinations(range(len(parts)), 2):
        swapped = list(parts)
        swapped[one], swapped[other] = parts[other], parts[one]
        if match_types(expected, nest_right([type_ for _, type_ in swapped], Pair)) is None:
            continue
        texts = [written(span) for span, _ in swapped]
        if not all(texts):
            return "are two arguments in the wrong order?"
        right = f" {function} ".join(texts) if is_operator(function) else f"{function}({', '.join(texts)})"
        return f"are two arguments in the wrong order? {right}"
    return ""


def floats_hint(expected: Type, parts: Sequence[tuple[Span | None, Type]]) -> str:
    """Return a hint for a sequence of ints where one of floats is due."""
    beside = any(type_ == Seq(FLOAT) for _, type_ in parts)         # the other side of an operator
    for (span, type_), due in zip(parts, components(expected)):
        text = bare(written(span)).strip()
        if type_ == Seq(INT) and (beside or due == Seq(FLOAT)):
            if INTS.fullmatch(text):
                return f"with a point, a number is a float: {DIGITS.sub(lambda found: found[0] + '.0', text)}"
            return f"{{float(x) : x in {text or 'v'}}} makes floats of a sequence of ints"
    return ""


def point_hint(parts: Sequence[tuple[Span | None, Type]]) -> str:
    """Return a hint for an int that is written beside floats, or sequences of floats."""
    if any([Base("float") in leaves(type_) for _, type_ in parts]):
        for span, type_ in parts:
            if span is not None and type_ == INT:
                text = bare(written(span)).strip()
                return (f"with a point, a number is a float: {text}.0" if DIGITS.fullmatch(text.removeprefix("-"))
                        else number_hint(INT, FLOAT))
    return ""


def leaves(type_: Type) -> list[Type]:
    """What the sequences and tuples of the type have inside."""
    match type_:
        case Seq(element):
            return leaves(element)
        case Pair(first, second):
            return [*leaves(first), *leaves(second)]
    return [type_]


def error_hint(choice: syntax.If) -> str:
    """Return a hint that `error` has the type bool."""
    for failing, other in ((choice.then, choice.orelse), (choice.orelse, choice.then)):
        match failing:
            case syntax.Apply(syntax.Name("error")):
                call, value = written(failing.span) or "error(..)", written(other.span) or "x"
                return f"error is of type bool; where another type is due: let _ = {call} in {value}"
    return ""


def number_hint(left: Type, right: Type) -> str:
    match left, right:
        case (Base("int"), Base("float")) | (Base("float"), Base("int")):
            return "float(i) makes a float of an int; trunc, round, floor and ceil make an int of a float"
    return ""


def function_hint(left: Type, right: Type) -> str:
    """Return a hint that two function types that look alike belong to different functions."""
    if isinstance(left, Identity) and isinstance(right, Identity):
        return "every function has a type of its own: two different ones cannot take each other's place"
    return ""


def applied_hint(applied: syntax.Exp, type_: Type, argument: syntax.Exp, argument_type: Type) -> str:
    """Return a hint for an expression after something that is not a function."""
    function = applied.span
    if function is None or argument.span is None or function.source != argument.span.source:
        return ""
    text = written(function)
    if "\n" in function.source.text[function.end:argument.span.start]:
        end = Span(function.source, function.end, function.end)
        if IN_BRACKETS.match(function.source.text, argument.span.end):
            return f"is a comma missing at the end of line {end.line}?"
        return f"a fresh line does not end a form: is a ; missing at the end of line {end.line}?"
    if isinstance(argument, syntax.Name) and isinstance(argument_type, Fun):
        second = SECOND_OPERAND.match(argument.span.source.text, argument.span.end)
        left, right = (text, second[1]) if second and text else ("a", "b")
        takes = ""
        if type_ == FLOAT and components(argument_type.argument)[0] == INT:
            takes, left = ", and takes ints", f"trunc({left})"
        return f"{argument.name} is a function, no operator{takes}: {argument.name}({left}, {right})"
    if "%" in function.source.text[function.end:argument.span.start]:
        return "from one % to the next goes a comment; a modulus is mod(a, b)"
    if isinstance(applied, syntax.Bool):
        return f"{constant(text)}: a function has another name"
    if isinstance(argument, syntax.Number) and written(argument.span).startswith("."):
        if isinstance(type_, Pair):
            return taken_apart(text)
        if text.endswith("."):          # 0..5
            return f"[{text[:-1]}:{written(argument.span)[1:]}] is the ints from the first up to, but without, the last"
    if isinstance(applied, syntax.Number) and written(argument.span)[:1].isdigit():
        return f"is a comma or an operator missing? {text}, {written(argument.span)}"
    if isinstance(type_, Seq) and argument_type == INT:
        return f"an element is {text or 'v'}[{bare(written(argument.span)) or 'i'}]"
    return ""


# The constants t and f --------------------------------------------------------------------------------


def hidden_parameters(parameter: syntax.Pattern, body: Span | None, error: NessieError) -> NessieError:
    """Return the error with the places of parameters that have the name of the constant that the error is about."""
    told = {span.source.text[span.start:span.end].strip("() \t\n").lower()            # an argument is in parentheses
            for span, _ in error.places if body and body.holds(span)}
    for name, span in constant_names(parameter):
        if name in told:
            error.places = (*error.places, (span, f"not this parameter: {constant(name)}"))
            error.hint = f"choose another name for the parameter, such as {name}1"
    return error


def doubts(form: syntax.TopLevel) -> list[NessieError]:
    """Return warnings for text that is correct but hardly meant: a parameter with the name of a constant that the body
    uses, an application to the beginning of the next line, a function of two numbers written between them, an index
    below 0, the end of a line in a string written as in other languages, a length with the name of an int."""
    match form:
        case syntax.FunctionDef(body=body) if body is not None:
            return [*doubts_of(body), *hiding_constants(form.parameter, body), *hidden_by_case(form),
                    *lengths_named_as_ints(form)]
        case syntax.Assign(_, body) | syntax.FileVariable(_, body) | syntax.Evaluate(body):
            return [*doubts_of(body), *hidden_by_case(form)]
    return []


def narrowed(form: syntax.TopLevel, type_: Type) -> list[NessieError]:
    """Warn where the body makes a signature's type variables less general: unification, as in CMU NESL, does so
    silently."""
    if not isinstance(form, syntax.FunctionDef) or form.signature is None or form.signature.span is None:
        return []
    used = names_in(form.signature.type)
    declared = [cls for name, cls in context_classes(form.signature.contexts).items() if name in used]
    if sorted(declared) == sorted(var.cls for var in visible_variables(type_)):
        return []
    return [NessieError(f"{form.name} is for fewer types than are declared", (form.signature.span, ""),
                        hint=f"what it does makes it {show_scheme(type_)}")]


def doubts_of(body: syntax.Exp) -> list[NessieError]:
    return [*applied_across_lines(body), *used_as_operators(body), *below_zero(body), *mere_letters(body),
            *written_to_the_last(body)]


def mere_letters(body: syntax.Exp) -> list[NessieError]:
    """Warn of escapes of other languages: in a string of NESL, a character after a backslash stands for itself."""
    found = []
    for exp in EXPRESSIONS.inside(body):
        if isinstance(exp, syntax.String) and exp.span:
            span = exp.span
            for escape in ESCAPE.finditer(span.source.text[span.start:span.end]):
                if name := CONTROLS.get(escape[1]):
                    place = Span(span.source, span.start + escape.start(), span.start + escape.end())
                    found.append(NessieError(f"in a string {escape[0]} is the letter {escape[1]}", (place, ""),
                                             hint=f'the character is called {name}: "a" ++ [{name}] ++ "b"'))
    return found


def written_to_the_last(body: syntax.Exp) -> list[NessieError]:
    """Warn of `v ++ w <- ps`, which writes to w alone."""
    return [NessieError("<- binds tighter than ++", (exp.right.span, "this is joined to what stands before"),
                        hint=f"(v ++ {written(exp.right.left.span) or 'w'}) <- ... writes to both")
            for exp in EXPRESSIONS.inside(body) if isinstance(exp, syntax.Binary) and exp.op == "++"
            and isinstance(exp.right, syntax.Binary) and exp.right.op == "<-" and exp.right.span
            and exp.right.span.source.text[exp.right.span.start] != "("]


def below_zero(body: syntax.Exp) -> list[NessieError]:
    return [NessieError("an index is never negative", (exp.span, ""), hint=hint)
            for exp in EXPRESSIONS.inside(body) if isinstance(exp, syntax.Index) and exp.span
            and (hint := from_end(exp.span))]


def from_end(index: Span) -> str:
    """Return the NESL for v[-1], which is the last element in other languages."""
    found = FROM_END.fullmatch(index.source.text[index.start:index.end])
    return f"{found[1]}[#{found[1]} - {found[2]}] counts from the end" if found else ""


def applied_across_lines(body: syntax.Exp) -> list[NessieError]:
    return [NessieError("this is applied to what begins the next line", (exp.function.span, ""),
                        (exp.argument.span, "applied to this"), hint=found)
            for exp in EXPRESSIONS.inside(body) if isinstance(exp, syntax.Apply) and exp.function.span
            and exp.argument.span and (found := semicolon_hint(exp.function.span, exp.argument.span))]


def used_as_operators(body: syntax.Exp) -> list[NessieError]:
    """Warn of `x rem 3`, which applies x to rem, and the result to 3."""
    found = []
    for exp in EXPRESSIONS.inside(body):
        match exp:
            case syntax.Apply(syntax.Apply(left, syntax.Name(name) as function), right) if name in OF_TWO:
                if left.span and function.span and right.span:
                    texts = written(left.span) or "a", written(right.span) or "b"
                    found.append(NessieError(f"{name} stands between its arguments, as an operator does",
                                             (function.span, "what stands before is applied to it"),
                                             hint=f"{name} is a function: {name}({', '.join(texts)})"))
    return found


def semicolon_hint(before: Span | None, after: Span | None) -> str:
    """Return a hint where an expression that follows without a sign between begins a line, as forms do."""
    if before is None or after is None or before.source != after.source or after.column > 1:
        return ""
    if after.source.text[after.start] == "(" or "\n" not in before.source.text[before.end:after.start]:
        return ""
    line = Span(before.source, before.end, before.end).line
    if IN_BRACKETS.match(after.source.text, after.end):
        return f"is a comma missing at the end of line {line}?"
    return f"a fresh line does not end a form: is a ; missing at the end of line {line}?"


def hiding_constants(parameter: syntax.Pattern, body: syntax.Exp) -> list[NessieError]:
    return [NessieError(f"the parameter {name} is never seen: {constant(name)}", (span, "this parameter"),
                        *[(use, "the constant") for use in uses[:1]],
                        hint=f"choose another name for the parameter, such as {name}1")
            for name, span in constant_names(parameter) if (uses := constants_in(body, name == "t"))]


def constants_in(body: syntax.Exp, value: bool) -> list[Span]:
    """Return the places where the expression writes t, or f."""
    found = [exp.span for exp in EXPRESSIONS.inside(body) if isinstance(exp, syntax.Bool) and exp.value == value]
    return sorted([span for span in found if span], key=lambda span: span.start)


def constant(name: str) -> str:
    return f"{name} is the constant {'true' if name == 't' else 'false'}"


def constant_names(pattern: syntax.Pattern) -> list[tuple[str, Span]]:
    """Return the parameters written t or f. NESL accepts them, but the constants keep their meaning."""
    found: list[tuple[str, Span]] = []
    waiting = [pattern]
    while waiting:
        match waiting.pop():
            case syntax.NamePattern("_", _, span=Span() as span):
                if name := CONSTANT.fullmatch(written(span)):
                    start = span.start + name.start(1)
                    found.append((name[1].lower(), Span(span.source, start, start + 1)))
            case syntax.PairPattern(first, second):
                waiting += [second, first]
            case syntax.DataPattern(_, argument):
                waiting.append(argument)
    return found
