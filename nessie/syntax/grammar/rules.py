"""The grammar of NESL, for PLY: each function's docstring is its rule.

    exp      an expression, tuples included              a + 1, b
    item     one without a comma outside brackets        a + 1
    app      applications and indexing                   f(x)[i] y
    atom     an argument behind a function that needs no parentheses     x  5  (e)  {x : x in v}

A `[` behind an app indexes it, so `[a, b]` is not an atom.

The table of precedences tells operators apart, and decides how far `if` and `let` reach: their last part is an exp
whose rule has the lowest precedence, so every operator that may follow, the comma included, is shifted into it.
The body of `=>` ends at a comma.

A pattern is parsed as an expression, because only a later token tells that it is one; syntax.patterns converts it.
PLY makes the tables from this module (syntax.grammar.build_tables); syntax.parser runs them.
"""
from __future__ import annotations

from typing import Any

from nessie.base.source import NessieError
from nessie.base.types import nest_right, unnest_right
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import OPERATORS, WORDS
from nessie.syntax.patterns import generator, parameter_pattern, pattern
from nessie.syntax.types import sequences

# ONLY_TYPE comes before a type that stands alone, as on the command line.
tokens = tuple(sorted({*WORDS.values(), *OPERATORS.values(), "NAME", "NUMBER", "CHAR", "STRING", "ONLY_TYPE"}))

precedence = (
    ("nonassoc", "LOWEST"),
    ("right", "COMMA"),
    ("right", "FATARROW", "DEFINE"),
    ("left", "OR"),
    ("left", "AND"),
    ("left", "COMPARE"),
    ("left", "ADD", "MINUS"),
    ("left", "STAR", "MUL"),
    ("left", "POWER"),
    ("left", "SCATTER"),
    ("right", "GATHER"),
    ("right", "PREFIX"),
    ("left", "LPAREN"),             # [] box(int): the parenthesis belongs to the type
)

# Top level --------------------------------------------------------------------------------------


def p_toplevel(p: Any) -> None:
    """toplevel : form SEMI
                | form DOLLAR
                | open_form DOLLAR"""
    p[0] = p[1]


def p_toplevel_type(p: Any) -> None:
    "toplevel : ONLY_TYPE types SEMI"
    p[0] = tuple_type(p[2], p)


def p_function(p: Any) -> None:
    "form : FUNCTION NAME atom documentation EQUALS exp"
    p[0] = syntax.FunctionDef(p[2], parameter_pattern(p[3]), None, p[4], p[6], span=p.span())


def p_function_typed(p: Any) -> None:
    """form : FUNCTION NAME atom COLON closed_signature documentation EQUALS exp
            | FUNCTION NAME atom COLON open_signature documentation EQUALS exp"""
    p[0] = syntax.FunctionDef(p[2], parameter_pattern(p[3]), p[5], p[6], p[8], span=p.span())


def p_function_forward(p: Any) -> None:
    """form : FUNCTION NAME atom COLON closed_signature
       open_form : FUNCTION NAME atom COLON open_signature"""
    p[0] = syntax.FunctionDef(p[2], parameter_pattern(p[3]), p[5], None, None, span=p.span())


def p_documentation(p: Any) -> None:
    """documentation :
                     | STRING"""
    p[0] = p[1] if len(p) > 1 else None


def p_datatype(p: Any) -> None:
    """form : DATATYPE NAME typeexp
            | DATATYPE NAME typeexp DCOLON LPAREN contexts RPAREN
       open_form : DATATYPE NAME typeexp DCOLON contexts"""
    contexts = p[len(p) - 2 if len(p) == 8 else 5] if len(p) > 4 else ()
    refuse_lengths(p[3])
    p[0] = syntax.DatatypeDef(p[2], p[3], tuple(contexts), span=p.span())


def p_assign(p: Any) -> None:
    "form : exp EQUALS exp"
    p[0] = syntax.Assign(pattern(p[1]), p[3], span=p.span())


def p_file_variable(p: Any) -> None:
    "form : exp BAREQUALS exp"
    p[0] = syntax.FileVariable(pattern(p[1]), p[3], span=p.span())


def p_background(p: Any) -> None:
    "form : exp AMPEQUALS exp"
    if not isinstance(p[1], syntax.Name):
        raise NessieError("a background run is kept under one name", (p.span(1, 1), "this is not a name"))
    value, options = split_options(p[3])
    p[0] = syntax.Background(p[1].name, value, options, span=p.span())


def split_options(exp: syntax.Exp) -> tuple[syntax.Exp, tuple[syntax.Default, ...]]:
    """The value of `name &= value, a := x, b := y` and its options."""
    items: list[syntax.Exp] = unnest_right(exp, syntax.Pair)
    options: list[syntax.Default] = []
    while len(items) > 1 and isinstance(option := items[-1], syntax.Default):
        options.insert(0, option)
        items.pop()
    return nest_right(items, lambda first, second: syntax.Pair(first, second, span=first.span)), tuple(options)


def p_evaluate(p: Any) -> None:
    "form : exp"
    if isinstance(p[1], syntax.Default):
        raise NessieError("`:=` gives an argument by name, inside a call", (p.span(), ""),
                          hint="a variable is set by `=`")
    p[0] = syntax.Evaluate(p[1], span=p.span())


# Expressions ------------------------------------------------------------------------------------


def p_exp_pair(p: Any) -> None:
    "exp : item COMMA exp"
    p[0] = syntax.Pair(p[1], p[3], span=p.span())


def p_exp_item(p: Any) -> None:
    "exp : item %prec LOWEST"
    p[0] = p[1]


def p_if(p: Any) -> None:
    "item : IF exp THEN exp ELSE exp"
    p[0] = syntax.If(p[2], p[4], p[6], span=p.span())


def p_let(p: Any) -> None:
    """item : LET bindings IN exp
            | LET bindings SEMI IN exp"""
    p[0] = syntax.Let(tuple(p[2]), p[len(p) - 1], span=p.span())


def p_bindings(p: Any) -> None:
    """bindings : binding
                | bindings SEMI binding"""
    p[0] = appended(p)


def p_binding(p: Any) -> None:
    "binding : exp EQUALS exp"
    p[0] = syntax.Binding(pattern(p[1]), p[3])


def p_lambda(p: Any) -> None:
    "item : item FATARROW item"
    p[0] = syntax.Lambda(pattern(p[1]), p[3], span=p.span())


def p_default(p: Any) -> None:
    "item : item DEFINE item"
    if not isinstance(p[1], syntax.Name):
        raise NessieError("what stands before `:=` must be a name", (p.span(1, 1), "this is not a name"))
    p[0] = syntax.Default(p[1].name, p[3], span=p.span())


def p_binary(p: Any) -> None:
    """item : item OR item
            | item AND item
            | item COMPARE item
            | item ADD item
            | item MINUS item
            | item STAR item
            | item MUL item
            | item POWER item
            | item SCATTER item
            | item GATHER item"""
    p[0] = syntax.Binary(p[2], p[1], p[3], span=p.span())


def p_unary(p: Any) -> None:
    """item : MINUS item %prec PREFIX
            | POUND item %prec PREFIX"""
    p[0] = syntax.Unary(p[1], p[2], span=p.span())


def p_apply_to_unary(p: Any) -> None:
    "item : app POUND item %prec PREFIX"
    p[0] = syntax.Apply(p[1], syntax.Unary(p[2], p[3], span=p.span(2, 3)), span=p.span())


def p_item_app(p: Any) -> None:
    """item : app
       app : atom
           | bracketed"""
    p[0] = p[1]


def p_apply(p: Any) -> None:
    "app : app atom"
    p[0] = syntax.Apply(p[1], p[2], span=p.span())


def p_index(p: Any) -> None:
    "app : app LBRACKET exp RBRACKET"
    p[0] = syntax.Index(p[1], p[3], span=p.span())


# Atoms ------------------------------------------------------------------------------------------


def p_name(p: Any) -> None:
    "atom : NAME"
    p[0] = syntax.Name(p[1], span=p.span())


def p_number(p: Any) -> None:
    "atom : NUMBER"
    p[0] = syntax.Number(p[1], span=p.span())


def p_bool(p: Any) -> None:
    "atom : BOOL"
    p[0] = syntax.Bool(p[1], span=p.span())


def p_char(p: Any) -> None:
    "atom : CHAR"
    p[0] = syntax.Char(p[1], span=p.span())


def p_string(p: Any) -> None:
    "atom : STRING"
    p[0] = syntax.String(p[1], span=p.span())


def p_parentheses(p: Any) -> None:
    "atom : LPAREN exp RPAREN"
    p[0] = p.widened(p[2])


def p_time(p: Any) -> None:
    "atom : TIME LPAREN exp RPAREN"
    p[0] = syntax.Time(p[3], span=p.span())


def p_closure(p: Any) -> None:
    "atom : CLOSURE LPAREN exp RPAREN"
    if not isinstance(p[3], syntax.Pair):
        raise NessieError("closure needs a function and its first argument", (p.span(3, 3), "only one is given"))
    p[0] = syntax.Closure(p[3].first, p[3].second, span=p.span())


def p_sequence(p: Any) -> None:
    "bracketed : LBRACKET items RBRACKET"
    p[0] = syntax.Sequence(tuple(p[2]), span=p.span())


def p_items(p: Any) -> None:
    """items : item
             | items COMMA item"""
    p[0] = appended(p)


def p_empty(p: Any) -> None:
    "bracketed : LBRACKET RBRACKET typeatom"
    refuse_lengths(p[3])
    p[0] = syntax.Empty(p[3], span=p.span())


def p_range(p: Any) -> None:
    """bracketed : LBRACKET item COLON item RBRACKET
                 | LBRACKET item COLON item COLON item RBRACKET"""
    p[0] = syntax.Range(p[2], p[4], p[6] if len(p) > 6 else None, span=p.span())


def p_each(p: Any) -> None:
    "atom : LBRACE serial exp COLON generators guard RBRACE"
    p[0] = syntax.Each(p[3], tuple(map(generator, p[5])), p[6], p[2], span=p.span())


def p_each_short(p: Any) -> None:
    "atom : LBRACE serial generators guard RBRACE"
    p[0] = syntax.Each(None, tuple(map(generator, p[3])), p[4], p[2], span=p.span())


def p_serial(p: Any) -> None:
    """serial :
              | STAR"""
    p[0] = len(p) > 1


def p_generators(p: Any) -> None:
    """generators : generator
                  | generators SEMI generator"""
    p[0] = appended(p)


def p_generator(p: Any) -> None:
    """generator : exp IN exp
                 | exp"""
    p[0] = syntax.Generator(pattern(p[1]), p[3]) if len(p) > 2 else p[1]


def p_guard(p: Any) -> None:
    """guard :
             | BAR exp"""
    p[0] = p[2] if len(p) > 1 else None


# Types ------------------------------------------------------------------------------------------


def p_closed_signature(p: Any) -> None:
    """closed_signature : typeexp
                        | typeexp DCOLON LPAREN contexts RPAREN"""
    p[0] = signature(p, p[4] if len(p) > 2 else ())


def p_open_signature(p: Any) -> None:
    "open_signature : typeexp DCOLON contexts"
    p[0] = signature(p, p[3])


def signature(p: Any, contexts: Any) -> syntax.Signature:
    if not isinstance(p[1], syntax.TypeFun):
        raise NessieError("a function's type has an arrow: argument -> result", (p.span(1, 1), "no arrow here"))
    return syntax.Signature(p[1], tuple(contexts), span=p.span())


def p_contexts(p: Any) -> None:
    """contexts : context
                | contexts SEMI context"""
    p[0] = appended(p)


def p_context(p: Any) -> None:
    "context : NAME IN NAME"
    p[0] = syntax.Context(p[1], p[3], span=p.span())


def p_typeexp(p: Any) -> None:
    """typeexp : typeatom
               | typeatom GATHER typeexp"""
    p[0] = p[1] if len(p) == 2 else syntax.TypeFun(p[1], p[3], span=p.span())


def p_types(p: Any) -> None:
    """types : typeexp
             | types COMMA typeexp"""
    p[0] = appended(p)


def p_type_name(p: Any) -> None:
    """typeatom : NAME %prec LOWEST
                | NAME LPAREN types RPAREN"""
    p[0] = syntax.TypeName(p[1], tuple(p[3]) if len(p) > 2 else (), span=p.span())


def p_type_sequence(p: Any) -> None:
    """typeatom : LBRACKET element RBRACKET
                | LBRACKET element SEMI length RBRACKET"""
    p[0] = syntax.TypeSeq(p[2], p[4] if len(p) > 4 else None, span=p.span())


def p_type_rows(p: Any) -> None:
    "typeatom : LBRACKET NAME COMPARE length FATARROW element RBRACKET"
    if p[3] != "<":
        raise NessieError("positions are below a length: [i < n => [float; i + 1]]", (p.span(3, 3), "not <"))
    p[0] = syntax.TypeSeq(p[6], p[4], p[2], span=p.span())


def p_element(p: Any) -> None:
    """element : typeexp
               | NAME LBRACKET element RBRACKET"""
    if len(p) > 2 and p[1] != "uniform":
        raise NessieError(f"{p[1]} is no form of sequences", (p.span(1, 1), ""),
                          hint="[uniform [float]] are sequences of one length")
    p[0] = syntax.TypeSeq(p[3], uniform=True, span=p.span()) if len(p) > 2 else p[1]


def p_length(p: Any) -> None:
    """length : length ADD length
              | length MINUS length
              | length STAR length
              | length MUL length
              | length POWER length"""
    p[0] = syntax.Binary(p[2], p[1], p[3], span=p.span())


def p_length_negative(p: Any) -> None:
    "length : MINUS length %prec PREFIX"
    p[0] = syntax.Unary(p[1], p[2], span=p.span())


def p_length_atom(p: Any) -> None:
    """length : NAME
              | NUMBER"""
    p[0] = (syntax.Name if isinstance(p[1], str) else syntax.Number)(p[1], span=p.span())


def p_length_call(p: Any) -> None:
    """length : NAME LPAREN length RPAREN
              | NAME LPAREN length COMMA length RPAREN"""
    argument = syntax.Pair(p[3], p[5], span=p.span(3, 5)) if len(p) > 5 else p[3]
    p[0] = syntax.Apply(syntax.Name(p[1], span=p.span(1, 1)), argument, span=p.span())


def p_length_parentheses(p: Any) -> None:
    "length : LPAREN length RPAREN"
    p[0] = p.widened(p[2])


def p_type_tuple(p: Any) -> None:
    "typeatom : LPAREN types RPAREN"
    p[0] = p.widened(tuple_type(p[2], p))


def tuple_type(types: list[syntax.TypeExp], p: Any) -> syntax.TypeExp:
    """Return the tuple type, nested to the right."""
    return nest_right(types, lambda first, second: syntax.TypePair(first, second, span=p.span()))


def refuse_lengths(type_: syntax.TypeExp) -> None:
    """Refuse lengths in a type that is not that of an argument or a result."""
    for found in sequences(type_):
        if found.length is not None or found.uniform:
            raise NessieError("lengths are told of a function's arguments and result",
                              *([(found.span, "not here")] if found.span else []))


def appended(p: Any) -> list[Any]:
    """The list of a rule `list : element` or `list : list SEPARATOR element`."""
    if len(p) == 2:
        return [p[1]]
    p[1].append(p[3])           # lists belong to the one rule that reads them
    items: list[Any] = p[1]
    return items


def p_error(p: Any) -> None:
    """Errors are syntax.errors.messages' part: PLY only makes the tables."""
